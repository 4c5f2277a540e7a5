"""Which records are of a session that was forgotten since: they stay on their topics for their time.

Whoever reads the topics from the beginning meets them again, so who was forgotten has to be remembered. It is
by a digest: the id of a session may be a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Final

from streams.console.read_model import tables
from streams.console.read_model.place import Fields
from streams.console.read_model.rows import ForgottenRow
from streams.console.read_model.triage import subject_of
from streams.core.domain.erasure import order_in, place_in
from streams.core.domain.run import StoredRecord
from streams.core.domain.topic import Topic

_BYTES: Final = 16

#: Topics whose records name where the record that they follow from stands on decision-logs.
_PLACED: Final = frozenset(
    {
        Topic.ENTROPY_ALERTS,
        Topic.SESSION_ALERTS,
        Topic.SESSION_BUDGETS,
        Topic.SESSION_RESPONSES,
        Topic.SHADOW_DIFFERENCES,
        Topic.TOPOLOGY,
    }
)
_BY_KEY: Final = frozenset({Topic.ENRICHED, Topic.DEAD_LETTERS})

#: Tables with a column for the session. Its triage is by episode, and goes before them.
_OF_SESSION: Final = (
    tables.SESSION,
    tables.EPISODE,
    tables.FINDING,
    tables.COMMAND,
    tables.ACK,
    tables.GUARD,
    tables.LETTER,
    tables.SHADOW,
)
_SUBJECTS: Final = 'SELECT "episode_id" FROM "episode" WHERE "session_id" = ? UNION SELECT ? UNION SELECT ?'


def deletions(session_id: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the statements, with their values, that delete every row about a session."""
    named = (session_id, session_id, subject_of(session_id))
    for table, column in ((tables.TRIAGE, "episode_id"), (tables.ACTION, "target")):
        yield f'DELETE FROM "{table.name}" WHERE "{column}" IN ({_SUBJECTS})', named  # noqa: S608 - names of ours
    for table in _OF_SESSION:
        yield f'DELETE FROM "{table.name}" WHERE "session_id" = ?', (session_id,)  # noqa: S608 - names of ours


def digest_of(session_id: str) -> str:
    """Return what a forgotten session is remembered by.

    >>> digest_of("s-17")
    'abf51bc6c18b506f698d88b5cee6161e'
    """
    return blake2b(session_id.encode("utf-8", "surrogatepass"), digest_size=_BYTES).hexdigest()


def forgotten_by(tombstone: StoredRecord) -> tuple[str, ForgottenRow] | None:
    """Return the session that a tombstone on topology says was forgotten; None where it says nothing.

    Raises:
        UnicodeDecodeError: its key is no text.
    """
    place = place_in(tombstone.headers)
    if tombstone.key is None or place is None or order_in(tombstone.headers) is None:
        return None
    session_id = tombstone.key.decode()
    return session_id, ForgottenRow(digest_of(session_id), *place, tombstone.timestamp)


def is_forgotten(
    forgotten: Mapping[str, ForgottenRow], topic: Topic, source: StoredRecord, fields: Fields | None
) -> bool:
    """Tell whether a record is of a session that was forgotten after it."""
    session_id = _session_of(topic, source, fields)
    row = None if session_id is None else forgotten.get(digest_of(session_id))
    if row is None:
        return False
    if fields is not None and topic in _PLACED and fields.get("partition") == row.partition:
        offset = fields.get("offset")
        return isinstance(offset, int) and offset <= row.offset
    return source.timestamp <= row.at


def _session_of(topic: Topic, source: StoredRecord, fields: Fields | None) -> str | None:
    if topic in _BY_KEY:
        return None if source.key is None else source.key.decode("utf-8", "surrogateescape")
    named = (
        None if fields is None else fields.get("target" if topic is Topic.CONSOLE_ACTIONS else "session_id")
    )
    return named.removeprefix(subject_of("")) if isinstance(named, str) else None
