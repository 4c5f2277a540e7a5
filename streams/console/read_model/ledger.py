"""What the console keeps that belongs to no single session: triage, audit, letters, health, settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, TypeVar

from streams.console.read_model import health, letters, triage
from streams.console.read_model.case import merge_into
from streams.console.read_model.forgotten import Forgotten, named_session
from streams.console.read_model.rows import (
    ActionRow,
    ForgottenRow,
    HealthRow,
    LetterRow,
    ProfileRow,
    RedrivenRow,
    Row,
    ShadowRow,
    TriageRow,
    VersionRow,
)
from streams.console.read_model.tables import (
    ACTION,
    FORGOTTEN,
    HEALTH,
    LETTER,
    PROFILE,
    REDRIVEN,
    SHADOW,
    TABLES,
    TRIAGE,
    VERSION,
    RowTable,
)

KEPT_ACTIONS: Final = 5_000
KEPT_LETTERS: Final = 10_000
KEPT_SHADOWS: Final = 1_000

Key = tuple[Any, ...]

_Row = TypeVar("_Row")

_TABLE_OF: Final = {table.row: table for table in TABLES}


def table_of(row: Row) -> RowTable:
    """Return the table of a row."""
    return _TABLE_OF[type(row)]


def _either(one: Any, other: Any) -> Any:  # rows with one key are the same
    return max(one, other, key=repr)


_MERGES: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    TRIAGE.name: triage.merged_triage,
    ACTION.name: triage.merged_actions,
    LETTER.name: _either,
    REDRIVEN.name: letters.merged_redriven,
    HEALTH.name: health.merged_health,
    PROFILE.name: health.merged_profiles,
    SHADOW.name: _either,
    VERSION.name: _either,
    FORGOTTEN.name: lambda one, other: max(one, other, key=lambda row: (row.at, row.offset)),
}


class Ledger:
    """The rows, by table and primary key; `triage` and `redriven` by what they are looked up with."""

    def __init__(self) -> None:
        self.triage: dict[str, TriageRow] = {}
        self.actions: dict[Key, ActionRow] = {}
        self.letters: dict[Key, LetterRow] = {}
        self.redriven: dict[str, RedrivenRow] = {}
        self.health: dict[Key, HealthRow] = {}
        self.profiles: dict[Key, ProfileRow] = {}
        self.shadows: dict[Key, ShadowRow] = {}
        self.versions: dict[Key, VersionRow] = {}
        self.forgotten = Forgotten()
        #: Episodes of forgotten sessions that this process has heard of.
        self.gone: set[str] = set()
        #: Those of them about which the archive may have decisions.
        self.leaving: set[str] = set()
        self._tables: Final[Mapping[str, dict[Any, Any]]] = {
            TRIAGE.name: self.triage,
            ACTION.name: self.actions,
            LETTER.name: self.letters,
            REDRIVEN.name: self.redriven,
            HEALTH.name: self.health,
            PROFILE.name: self.profiles,
            SHADOW.name: self.shadows,
            VERSION.name: self.versions,
            FORGOTTEN.name: self.forgotten.rows,
        }

    def put(self, row: Row) -> tuple[RowTable, Any] | None:
        """Merge a row; return its table and key, None if nothing changed."""
        table = table_of(row)
        key: Any = table.key_of(row)
        if table is TRIAGE or table is REDRIVEN:
            [key] = key
        changed = merge_into(self._tables[table.name], key, row, _MERGES[table.name])
        if changed and isinstance(row, ForgottenRow):
            self.forgotten.add(self.forgotten.rows[key])
        return (table, key) if changed else None

    def row(self, table: RowTable, key: Any) -> Row | None:  # as `put` returned it
        """Return a row, None if it is not held."""
        found: Row | None = self._tables[table.name].get(key)
        return found

    def rows(self) -> Iterator[Row]:
        """Yield every row."""
        for rows in self._tables.values():
            yield from rows.values()

    def erase_decisions(self, episodes: Collection[str]) -> None:
        """Drop decisions about episodes, and take no other in."""
        fresh = set(episodes) - self.gone
        if not fresh:
            return
        for episode_id in fresh:
            self.triage.pop(episode_id, None)
        self.gone |= fresh
        self.leaving |= fresh
        _drop(self.actions, lambda row: row.target in fresh)

    def erase(self, session_id: str) -> None:
        """Drop what names a session."""
        subject = triage.subject_of(session_id)
        self.triage.pop(subject, None)
        _drop(self.actions, lambda row: row.target in (session_id, subject))
        _drop(self.letters, lambda row: row.session_id == session_id)
        _drop(self.shadows, lambda row: row.session_id == session_id)

    def sessions(self) -> set[str]:
        """Return what rows here are about: sessions, among other things."""
        found = {row.session_id for row in self.letters.values() if row.session_id is not None}
        found |= {row.session_id for row in self.shadows.values()}
        return found | {named_session(row.target) for row in self.actions.values()}

    def newest_health(self) -> dict[tuple[str, str], HealthRow]:
        """Return how each agent and tool fares: the newest sample, by scope and name."""
        newest: dict[tuple[str, str], HealthRow] = {}
        for row in self.health.values():
            known = newest.get((row.scope, row.name))
            if known is None or row.bucket > known.bucket:
                newest[row.scope, row.name] = row
        return newest

    def fate(self, letter: LetterRow) -> str:
        """Return what became of a dead letter, in words; empty if it was not sent again."""
        return letters.fate_of(self.redriven.get(letter.source or ""))

    def trim(self, changed: Mapping[RowTable, set[Any]]) -> None:
        """Forget what is not among the newest; the archive has it. What is in ``changed`` stays."""
        _trim(self.actions, KEPT_ACTIONS, lambda row: row.at, changed.get(ACTION))
        _trim(self.letters, KEPT_LETTERS, lambda row: row.ts, changed.get(LETTER))
        _trim(self.shadows, KEPT_SHADOWS, lambda row: row.ts, changed.get(SHADOW))
        newest = {HEALTH.key_of(row) for row in self.newest_health().values()}
        for key in self.health.keys() - newest - changed.get(HEALTH, set()):
            del self.health[key]


def _drop(rows: dict[Key, _Row], is_gone: Callable[[_Row], bool]) -> None:
    for key in [key for key, row in rows.items() if is_gone(row)]:
        del rows[key]


def _trim(rows: dict[Key, Any], most: int, order: Callable[[Any], int], changed: set[Any] | None) -> None:
    if len(rows) > most:
        by_age = sorted(rows, key=lambda key: (order(rows[key]), key))
        for key in by_age[: len(rows) - most]:
            if not changed or key not in changed:
                del rows[key]
