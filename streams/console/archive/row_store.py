"""What keeps the rows of a reading, which of them belong into memory, and which a search finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Protocol

from streams.console.archive.archive import Archive
from streams.console.read_model import tables, triage
from streams.console.read_model.case import KEPT_FINDINGS
from streams.console.read_model.forgotten import NOTHING_ERASED, Erasure
from streams.console.read_model.ledger import KEPT_ACTIONS, KEPT_LETTERS, KEPT_SHADOWS
from streams.console.read_model.rows import EpisodeRow, Row, SessionRow, WatermarkRow
from streams.console.read_model.tables import RowTable, Value


class RowStore(Protocol):
    """The part of `streams.console.archive.archive.Archive` that a feed, and what asks for samples, need."""

    def save(
        self,
        rows: Iterable[tuple[RowTable, Row]],
        marks: Iterable[WatermarkRow],
        erased: Erasure = NOTHING_ERASED,
    ) -> Future[int]:
        """Delete what is erased, write rows and how far each partition was read, all or nothing."""

    def drop(self, tables: Iterable[RowTable], topics: Iterable[str]) -> Future[int]:
        """Delete all rows of some tables, and how far some topics were read."""

    def remove_old(self, now: int, history_days: int) -> Future[int]:
        """Delete some rows that are older than they are kept; return how many."""

    def rows(self, table: RowTable, rest: str = "", values: Sequence[Value] = ()) -> list[Row]:
        """Return rows of a table."""

    async def select(self, table: RowTable, rest: str = "", values: Sequence[Value] = ()) -> list[Row]:
        """Return rows of a table without keeping the event loop."""

    def rebuild(self, problem: Exception) -> None:
        """Begin with an empty store."""


class NothingKept:
    """Keeps no row: for a reading that shows what is so now, and begins again at each start."""

    def save(
        self,
        rows: Iterable[tuple[RowTable, Row]],
        marks: Iterable[WatermarkRow],
        erased: Erasure = NOTHING_ERASED,
    ) -> Future[int]:
        """Do nothing."""
        del rows, marks, erased
        return _none()

    def drop(self, tables: Iterable[RowTable], topics: Iterable[str]) -> Future[int]:
        """Do nothing."""
        del tables, topics
        return _none()

    def remove_old(self, now: int, history_days: int) -> Future[int]:
        """Do nothing."""
        del now, history_days
        return _none()

    def rows(self, table: RowTable, rest: str = "", values: Sequence[Value] = ()) -> list[Row]:
        """Return no row."""
        del table, rest, values
        return []

    async def select(self, table: RowTable, rest: str = "", values: Sequence[Value] = ()) -> list[Row]:
        """Return no row."""
        return self.rows(table, rest, values)

    def rebuild(self, problem: Exception) -> None:
        """Do nothing."""
        del problem


def _none() -> Future[int]:
    done: Future[int] = Future()
    done.set_result(0)
    return done


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
    yield from archive.rows(tables.SESSION, "WHERE session_id = ?", own)
    episodes = archive.rows(tables.EPISODE, "WHERE session_id = ?", own)
    yield from episodes
    yield from archive.rows(tables.FINDING, _FINDINGS, (session_id, session_id))
    for table in (tables.COMMAND, tables.ACK, tables.GUARD):
        yield from archive.rows(table, "WHERE session_id = ?", own)
    for episode in episodes:
        if isinstance(episode, EpisodeRow):
            yield from archive.rows(tables.TRIAGE, "WHERE episode_id = ?", (episode.episode_id,))
    yield from archive.rows(tables.TRIAGE, "WHERE episode_id = ?", (triage.subject_of(session_id),))


def restored(archive: RowStore, now: int, live_minutes: int, live_max: int) -> Iterator[list[Row]]:
    """Yield, in parts, what a console begins with: sessions that live or need somebody, and the ledger."""
    yield archive.rows(tables.COMMAND, "WHERE session_id IS NULL")
    for table in (
        tables.PROFILE,
        tables.VERSION,
        tables.DIFFERENCE,
        tables.TRIAGE,
        tables.REDRIVEN,
        tables.FORGOTTEN,
    ):
        yield archive.rows(table)
    yield archive.rows(tables.ACTION, f"ORDER BY at DESC LIMIT {KEPT_ACTIONS}")
    yield archive.rows(tables.LETTER, f"ORDER BY ts DESC LIMIT {KEPT_LETTERS}")
    yield archive.rows(tables.SHADOW, f"ORDER BY ts DESC LIMIT {KEPT_SHADOWS}")
    yield archive.rows(
        tables.HEALTH,
        'WHERE (scope, name, bucket) IN (SELECT scope, name, max(bucket) FROM "health" GROUP BY scope, name)',
    )
    since = now - live_minutes * 60_000
    wanted = archive.rows(
        tables.SESSION, f"WHERE {_WANTED} ORDER BY last_ts DESC LIMIT {live_max}", (since, now)
    )
    ids = [row.session_id for row in wanted if isinstance(row, SessionRow)]
    for first in range(0, len(ids), _AT_ONCE):
        part = ids[first : first + _AT_ONCE]
        yield wanted[first : first + _AT_ONCE]
        marks = f"WHERE session_id IN ({', '.join('?' * len(part))})"
        for table in (tables.EPISODE, tables.FINDING, tables.COMMAND, tables.ACK, tables.GUARD):
            yield archive.rows(table, marks, part)


def search(
    words: Sequence[str],
    agents: Sequence[Sequence[str]],
    trace: str,
    before: int,
    most: int,
    *,
    in_goals: bool,
) -> tuple[str, list[Value]]:
    """Return what selects sessions that no list in memory has any more, newest first.

    Args:
        words: Each has to be in the id, the agent, the trace, the task or the goal; beyond ASCII as it is
            written there.
        agents: Patterns of the agent, such as ``coder-*``, of which one of each group has to fit.
        trace: Id of the trace, empty for any.
        before: When they were seen last, ms since 1970, at most.
        most: Number of sessions to return at most.
        in_goals: Whether goals are looked at.
    """
    names = ("session_id", "agent_id", "trace_id", "task_type", *(("goal",) if in_goals else ()))
    has_word = " OR ".join(f'instr(lower("{name}"), ?)' for name in names)
    tests, values = ['"last_ts" < ?'], list[Value]((before,))
    for word in words:
        tests.append(f"({has_word})")
        values += [word.lower()] * len(names)
    for patterns in agents:
        tests.append("(" + " OR ".join(['"agent_id" GLOB ?'] * len(patterns)) + ")")
        values += [each.replace("[!", "[^") for each in patterns]  # as SQLite writes it
    if trace:
        tests.append('"trace_id" = ?')
        values.append(trace)
    return f'WHERE {" AND ".join(tests)} ORDER BY "last_ts" DESC LIMIT {most}', values
