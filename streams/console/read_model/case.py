"""Everything the console knows of one session, together: it is restored, watched and forgotten as one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Final, TypeVar

from streams.console.read_model.control import first_of, merged_guards, newest_level, watched_until
from streams.console.read_model.episode import current, merged, merged_findings
from streams.console.read_model.place import NOWHERE, place
from streams.console.read_model.rows import (
    AckRow,
    CommandRow,
    EpisodeRow,
    FindingRow,
    GuardRow,
    Row,
    SessionRow,
)
from streams.console.read_model.session import SessionState
from streams.console.read_model.tables import ACK, COMMAND, EPISODE, FINDING, GUARD, SESSION, RowTable

#: Findings of a session that stay in memory: the newest. The archive has all.
KEPT_FINDINGS: Final = 200

FOREVER: Final = 2**62

_WATCHED_DRIFT: Final = frozenset({"CHECKPOINT_RESET", "ASK_USER"})

_Key = TypeVar("_Key", bound=Hashable)
_Any = TypeVar("_Any")


def merge_into(rows: dict[_Key, _Any], key: _Key, row: _Any, merge: Callable[[_Any, _Any], _Any]) -> bool:
    """Merge a row into those that are known; return whether that changed anything."""
    known = rows.get(key)
    after = row if known is None else merge(known, row)
    if after == known:
        return False
    rows[key] = after
    return True


#: Never added to.
_NONE: Final[dict[str, Any]] = {}


class Case:
    """One session with its episodes, findings, commands, acks and guards."""

    __slots__ = ("acks", "commands", "episodes", "findings", "guards", "session", "watch_until")

    def __init__(self, session_id: str) -> None:
        self.session = SessionState(session_id)
        # Most sessions have none of these, and there may be 200,000: they share what is empty.
        self.episodes: dict[str, EpisodeRow] = _NONE
        self.findings: dict[str, FindingRow] = _NONE
        self.commands: dict[str, CommandRow] = _NONE
        self.acks: dict[str, AckRow] = _NONE
        self.guards: dict[str, GuardRow] = _NONE
        self.watch_until = NOWHERE

    def put(self, row: Row) -> tuple[RowTable, str] | None:
        """Merge a row; return its table and its key there, None if nothing changed."""
        match row:
            case EpisodeRow():
                return (EPISODE, row.episode_id) if self._episode(row) else None
            case FindingRow():
                changed = merge_into(self._own("findings"), row.id, row, merged_findings)
                return (FINDING, row.id) if changed else None
            case CommandRow():
                return (COMMAND, row.command_id) if self._command(row) else None
            case AckRow():
                return (ACK, row.id) if merge_into(self._own("acks"), row.id, row, first_of) else None
            case GuardRow():
                changed = merge_into(self._own("guards"), row.guard_id, row, merged_guards)
                return (GUARD, row.guard_id) if changed else None
            case SessionRow():
                self.session = SessionState.of(row)
                self.watch()
                return SESSION, row.session_id
            case _:
                raise TypeError(f"{type(row).__name__} is not about one session")

    def _own(self, name: str) -> dict[str, Any]:
        """Return the rows with this name, to be added to."""
        rows: dict[str, Any] = getattr(self, name)
        if rows is _NONE:
            rows = {}
            setattr(self, name, rows)
        return rows

    def _episode(self, row: EpisodeRow) -> bool:
        changed = merge_into(self._own("episodes"), row.episode_id, row, merged)
        if changed:
            self.watch()
        return changed

    def _command(self, row: CommandRow) -> bool:
        changed = merge_into(self._own("commands"), row.command_id, row, first_of)
        if changed:
            level = newest_level(self.commands.values())
            self.session.control = "" if level is None else level.action
            self.watch()
        return changed

    def watch(self) -> None:
        """Work out until when each record of the session is read whole."""
        session = self.session
        is_open = any(episode.open for episode in self.episodes.values())
        # One that waits for a person stands in the inbox until its end, which only a record tells.
        waits = (session.denied or session.hitl) and not session.ended
        if is_open or waits or session.drift_level in _WATCHED_DRIFT:
            self.watch_until = FOREVER
        else:
            self.watch_until = watched_until(self.commands.values())

    def row(self, table: RowTable, key: str) -> Row | None:
        """Return the row with this key, None if it is not held."""
        found: Mapping[str, Row]
        match table.name:
            case EPISODE.name:
                found = self.episodes
            case FINDING.name:
                found = self.findings
            case COMMAND.name:
                found = self.commands
            case ACK.name:
                found = self.acks
            case GUARD.name:
                found = self.guards
            case _:
                return self.session.row()
        return found.get(key)

    def rows(self) -> Iterator[Row]:
        """Yield every row of the session."""
        yield self.session.row()
        yield from self.episodes.values()
        yield from self.findings.values()
        yield from self.commands.values()
        yield from self.acks.values()
        yield from self.guards.values()

    def trim(self) -> None:
        """Forget all but the newest findings; the row of the entropy alerts stays."""
        if len(self.findings) <= KEPT_FINDINGS:
            return
        order = sorted(
            (row for row in self.findings.values() if row.offsets is None),
            key=lambda row: place(row.partition, row.offset),
        )
        for row in order[: len(self.findings) - KEPT_FINDINGS]:
            del self.findings[row.id]

    def newest_episode(self, *, is_open: bool) -> EpisodeRow | None:
        """Return the episode that was told of last, of those that are open or of those that are over.

        An open one is as of the newest record that was read, so that all who ask say the same.
        """
        found = max(
            (each for each in self.episodes.values() if bool(each.open) is is_open),
            key=lambda row: (place(row.partition, row.seen_offset), row.episode_id),
            default=None,
        )
        return None if found is None else self.current(found)

    def current(self, row: EpisodeRow) -> EpisodeRow:
        """Return an episode of the session as of its newest record."""
        return current(row, self.session.episode, self.session.episode_place)
