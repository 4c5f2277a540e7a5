"""What of the archive belongs into memory: at start, and when a session comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from streams.console.archive.archive import Archive
from streams.console.fold import rows, triage
from streams.console.fold.case import KEPT_FINDINGS
from streams.console.fold.ledger import KEPT_ACTIONS, KEPT_LETTERS, KEPT_SHADOWS
from streams.console.fold.rows import EpisodeRow, Row, SessionRow

#: Sessions that are restored together.
_AT_ONCE = 500

_WANTED = (
    '("last_ts" >= ? OR "session_id" IN (SELECT "session_id" FROM "episode" WHERE "open") '
    'OR "session_id" IN (SELECT "session_id" FROM "command" WHERE "expires_at" > ?))'
)


#: The newest findings of a session, and the row of its entropy alerts.
_FINDINGS = (
    'WHERE "session_id" = ? AND ("offsets" IS NOT NULL OR "id" IN '  # noqa: S608 - a number of ours
    f'(SELECT "id" FROM "finding" WHERE "session_id" = ? ORDER BY "ts" DESC LIMIT {KEPT_FINDINGS}))'
)


def recall(archive: Archive) -> Callable[[str], list[Row]]:
    """Return what gives the rows of a session back that the read model has forgotten."""
    return lambda session_id: list(_of_session(archive, session_id))


def _of_session(archive: Archive, session_id: str) -> Iterator[Row]:
    own = (session_id,)
    yield from archive.rows(rows.SESSION, "WHERE session_id = ?", own)
    episodes = archive.rows(rows.EPISODE, "WHERE session_id = ?", own)
    yield from episodes
    yield from archive.rows(rows.FINDING, _FINDINGS, (session_id, session_id))
    for table in (rows.COMMAND, rows.ACK, rows.GUARD):
        yield from archive.rows(table, "WHERE session_id = ?", own)
    for episode in episodes:
        if isinstance(episode, EpisodeRow):
            yield from archive.rows(rows.TRIAGE, "WHERE episode_id = ?", (episode.episode_id,))
    yield from archive.rows(rows.TRIAGE, "WHERE episode_id = ?", (triage.subject_of(session_id),))


def restored(archive: Archive, now: int, live_minutes: int, live_max: int) -> Iterator[list[Row]]:
    """Yield, in parts, what a console begins with: sessions that live or need somebody, and the ledger."""
    yield archive.rows(rows.COMMAND, "WHERE session_id IS NULL")
    for table in (rows.PROFILE, rows.VERSION, rows.DIFFERENCE, rows.TRIAGE, rows.REDRIVEN):
        yield archive.rows(table)
    yield archive.rows(rows.ACTION, f"ORDER BY at DESC LIMIT {KEPT_ACTIONS}")
    yield archive.rows(rows.LETTER, f"ORDER BY ts DESC LIMIT {KEPT_LETTERS}")
    yield archive.rows(rows.SHADOW, f"ORDER BY ts DESC LIMIT {KEPT_SHADOWS}")
    yield archive.rows(
        rows.HEALTH,
        'WHERE (scope, name, bucket) IN (SELECT scope, name, max(bucket) FROM "health" GROUP BY scope, name)',
    )
    since = now - live_minutes * 60_000
    wanted = archive.rows(
        rows.SESSION, f"WHERE {_WANTED} ORDER BY last_ts DESC LIMIT {live_max}", (since, now)
    )
    ids = [row.session_id for row in wanted if isinstance(row, SessionRow)]
    for first in range(0, len(ids), _AT_ONCE):
        part = ids[first : first + _AT_ONCE]
        yield wanted[first : first + _AT_ONCE]
        marks = f"WHERE session_id IN ({', '.join('?' * len(part))})"
        for table in (rows.EPISODE, rows.FINDING, rows.COMMAND, rows.ACK, rows.GUARD):
            yield archive.rows(table, marks, part)
