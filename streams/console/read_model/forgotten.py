"""Which records are of a session that was forgotten since: they stay on their topics for their time.

Whoever reads the topics from the beginning finds them again, so who was forgotten has to be remembered, by a
digest. Two records say so. The audit of the command has no place of the order, and stays for 90 days. The
tombstone on topology has the place, and goes when the topic is compacted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from streams.console.read_model import tables
from streams.console.read_model.case import Case
from streams.console.read_model.place import Fields
from streams.console.read_model.rows import ForgottenRow, Row
from streams.console.read_model.triage import request_asked, subject_of
from streams.control.audit import AuditKind
from streams.core.domain.erasure import order_in, place_in, session_digest
from streams.core.domain.run import StoredRecord
from streams.core.domain.topic import Topic

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

#: How far the clocks of a producer and of the brokers may be apart.
_SKEW_MS: Final = 3_600_000

#: Where no order stands, for what the audit alone says.
NO_PLACE: Final = (-1, -1)

#: Tables with a column for the session. Decisions name an episode, so they are deleted before episodes are.
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


_NAMING: Final = (
    (tables.SESSION, "session_id"),
    (tables.LETTER, "session_id"),
    (tables.SHADOW, "session_id"),
    (tables.ACTION, "target"),
    (tables.TRIAGE, "episode_id"),
)


def naming() -> str:
    """Return the statement that finds what rows are about: sessions, among other things (`named_session`)."""
    return " UNION ".join(
        f'SELECT "{column}" FROM "{table.name}" WHERE "{column}" IS NOT NULL'  # noqa: S608 - names of ours
        for table, column in _NAMING
    )


def named_session(target: str) -> str:
    """Return the session that a target is, if it is one."""
    return target.removeprefix(subject_of(""))


_DECIDED: Final = ((tables.TRIAGE, "episode_id"), (tables.ACTION, "target"))


def decision_deletions(subject: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the statements, with their values, that delete the decisions about an episode."""
    for table, column in _DECIDED:
        yield f'DELETE FROM "{table.name}" WHERE "{column}" = ?', (subject,)  # noqa: S608 - names of ours


def deletions(session_id: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the statements, with their values, that delete every row about a session."""
    named = (session_id, session_id, subject_of(session_id))
    for table, column in _DECIDED:
        yield f'DELETE FROM "{table.name}" WHERE "{column}" IN ({_SUBJECTS})', named  # noqa: S608 - names of ours
    for table in _OF_SESSION:
        yield f'DELETE FROM "{table.name}" WHERE "session_id" = ?', (session_id,)  # noqa: S608 - names of ours


class Erasure(NamedTuple):
    """What the archive has to lose: who was forgotten, by digest and with the order's time, and subjects."""

    digests: Mapping[str, int] = {}
    subjects: frozenset[str] = frozenset()


NOTHING_ERASED: Final = Erasure()


def forgotten_by(tombstone: StoredRecord) -> ForgottenRow | None:
    """Return who was forgotten by a tombstone on topology; None where no order led to it.

    Raises:
        UnicodeDecodeError: its key is no text.
    """
    place = place_in(tombstone.headers)
    if not tombstone.key or place is None or order_in(tombstone.headers) is None:
        return None
    return ForgottenRow(session_digest(tombstone.key.decode()), *place, tombstone.timestamp)


def announced(action: StoredRecord, fields: Fields) -> list[ForgottenRow]:
    """Return who is to be forgotten by a record of the audit."""
    if fields["kind"] != AuditKind.FORGET:
        return []
    digests = request_asked(fields.get("request")).get("sessions")
    named = digests if isinstance(digests, list) else []
    # The record with the result comes later and is about the same moment.
    at = min(action.timestamp, fields["at"])
    return [ForgottenRow(str(each), *NO_PLACE, at) for each in named]


class Forgotten:
    """Who was forgotten, and up to where: one row for each partition with an order, and one for the audit."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, int], ForgottenRow] = {}
        self._at: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self.rows)

    def knows(self, row: ForgottenRow) -> bool:
        """Tell whether a row says nothing new."""
        known = self.rows.get((row.digest, row.partition))
        return known is not None and (known.at, known.offset) >= (row.at, row.offset)

    def add(self, row: ForgottenRow) -> None:
        """Take in another one."""
        self.rows[row.digest, row.partition] = row
        self._at[row.digest] = max(row.at, self._at.get(row.digest, row.at))

    def covers(self, digest: str, place: tuple[int, int] | None, at: int) -> bool:
        """Tell whether an order covers what stands at a place of decision-logs, or came at a time (ms).

        The place decides, unless the audit knows of a later order. A clock decides where there is no place.
        """
        last = self._at.get(digest)
        if last is None:
            return False
        placed = None if place is None else self.rows.get((digest, place[0]))
        if place is None or placed is None:
            return at <= last
        # Not of a topic that was created again since.
        is_before = place[1] <= placed.offset and at <= placed.at + _SKEW_MS
        announced = self.rows.get((digest, NO_PLACE[0]))
        return is_before or (announced is not None and placed.at < announced.at >= at)


def later_rows(case: Case, digest: str, forgotten: Forgotten) -> Iterator[Row]:
    """Yield the rows of a session that no order covers: topics are read in any order."""
    for episode in case.episodes.values():
        if not forgotten.covers(digest, (episode.partition, episode.first_offset), episode.opened_ts):
            yield episode
    for finding in case.findings.values():
        # That of the entropy alerts holds the first of them, too.
        place = finding.partition, finding.offset
        if finding.offsets is None and not forgotten.covers(digest, place, finding.ts):
            yield finding
    yield from (each for each in case.commands.values() if not forgotten.covers(digest, None, each.ts))
    yield from (each for each in case.acks.values() if not forgotten.covers(digest, None, each.at))
    yield from (each for each in case.guards.values() if not forgotten.covers(digest, None, each.seen))


def is_forgotten(forgotten: Forgotten, topic: Topic, source: StoredRecord, fields: Fields | None) -> bool:
    """Tell whether a record is of a session that was forgotten after it."""
    session_id = _session_of(topic, source, fields)
    if session_id is None:
        return False
    place = None if fields is None else _source_of(topic, fields)
    return forgotten.covers(session_digest(session_id), place, source.timestamp)


def _source_of(topic: Topic, fields: Fields) -> tuple[int, int] | None:
    """Return where the record stands on decision-logs that an output follows from."""
    if topic is Topic.ENRICHED:
        _, partition, offset, _ = fields["eddy"]["id"].rsplit("/", 3)
        return int(partition), int(offset)
    if topic in _PLACED and type(fields.get("partition")) is type(fields.get("offset")) is int:
        return fields["partition"], fields["offset"]
    return None


def _session_of(topic: Topic, source: StoredRecord, fields: Fields | None) -> str | None:
    if topic in _BY_KEY:
        return None if source.key is None else source.key.decode("utf-8", "surrogateescape")
    name = "target" if topic is Topic.CONSOLE_ACTIONS else "session_id"
    named = None if fields is None else fields.get(name)
    return named_session(named) if isinstance(named, str) else None
