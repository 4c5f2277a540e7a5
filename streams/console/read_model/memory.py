"""The rows in memory: merged one by one, handed out when they changed, taken back from the archive."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from streams.console.read_model import control, settings, triage
from streams.console.read_model.case import Case
from streams.console.read_model.control import watched_until
from streams.console.read_model.forgotten import Erasure, later_rows
from streams.console.read_model.ledger import Ledger
from streams.console.read_model.place import Fields
from streams.console.read_model.rows import (
    AckRow,
    CommandRow,
    DifferenceRow,
    EpisodeRow,
    FindingRow,
    ForgottenRow,
    GuardRow,
    Row,
    SessionRow,
    TriageRow,
)
from streams.console.read_model.tables import (
    ACK,
    COMMAND,
    DIFFERENCE,
    EPISODE,
    FINDING,
    GUARD,
    SESSION,
    TABLES,
    RowTable,
)
from streams.core.domain.erasure import session_digest

_LARGEST: Final = 2**63

_COLUMNS: Final = {table.row: tuple(table.columns()) for table in TABLES}


def check(row: Row) -> None:
    """Raise a TypeError if a value is of another type than its column, or a number larger than one holds."""
    values: tuple[object, ...] = row
    for column, value in zip(_COLUMNS[type(row)], values, strict=True):
        kind = type(value)
        if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
            raise TypeError(f"{column.name} is too large")
        is_missing = value is None and column.nullable
        if kind is not column.type and not is_missing and not (kind is int and column.type is float):
            raise TypeError(f"{column.name} is no {column.type.__name__}")


Recall = Callable[[str], Iterable[Row]]
"""Returns the archived rows of a session that is not in memory, and of its triage."""

_OF_SESSION: Final = frozenset(table.name for table in (EPISODE, FINDING, COMMAND, ACK, GUARD))


def nothing(session_id: str) -> Iterable[Row]:  # noqa: ARG001  # a `Recall`
    """Return no rows: there is no archive."""
    return ()


def hold_key(row: CommandRow) -> str:
    """Return what a hold is of: ``all``, or ``agent/<id>``."""
    return "all" if row.scope == "all" else f"agent/{row.agent_id}"


#: Commands of which it is remembered whom they reach.
_MOST_COMMANDS: Final = 10_000


class CommandLog:
    """Whom the newest commands reach: who follows many sessions need not look at each again and again.

    >>> log = CommandLog()
    >>> seen = log.count
    >>> log.add("s-17")
    >>> log.since(seen), log.since(log.count)
    ({'s-17'}, set())
    """

    def __init__(self) -> None:
        self.count = 0
        self._newest: deque[str | None] = deque(maxlen=_MOST_COMMANDS)

    def add(self, session_id: str | None) -> None:
        """Take note of a command to a session, or of a hold."""
        self.count += 1
        self._newest.append(session_id)

    def since(self, count: int) -> Collection[str] | None:
        """Return the sessions that got a command since there were so many, None if it may be any session."""
        fresh = self.count - count
        if fresh > len(self._newest):
            return None
        sessions = set(islice(reversed(self._newest), fresh))
        return None if None in sessions else {each for each in sessions if each is not None}


class Memory:
    """Everything the console knows, as rows.

    Attributes:
        cases: the sessions in memory.
        holds: the commands of each hold, by ``all`` or ``agent/<id>``.
        ledger: what belongs to no single session.
        differences: how often each field differed under each shadow version.
        changed: keys of the rows that changed since `drain`, by table; a key of what belongs to a session
            has the session before it.
        command_log: whom the newest commands reach.
        newest_ts: Kafka's time of the newest record of a session, None before any.
    """

    def __init__(self, recall: Recall) -> None:
        self.cases: dict[str, Case] = {}
        self.holds: dict[str, dict[str, CommandRow]] = {}
        self.ledger = Ledger()
        self.differences: dict[tuple[int, str], settings.DifferenceCount] = {}
        self.changed: dict[RowTable, set[Any]] = {}
        self.newest_ts: int | None = None
        self.command_log = CommandLog()
        #: Who was forgotten by an order, as long as the archive may have rows about them.
        self._erasing: dict[str, int] = {}
        #: Orders that were taken in, and how many there were when the archive asked last.
        self._orders = self._asked = 0
        self._recall = recall
        self._session_of: dict[str, str] = {}
        self._seen_sessions = self.changed[SESSION] = set()
        self._touched: set[str] = set()
        self._held_until: dict[str, int] = {}

    def case(self, session_id: str) -> Case:
        """Return a session, from the archive if it is not in memory."""
        case = self.cases.get(session_id)
        if case is None:
            if type(session_id) is not str:
                raise TypeError("session_id is no text")
            case = self.cases[session_id] = Case(session_id)
            self.restore(self._archived(session_id))
        return case

    def _archived(self, session_id: str) -> Iterable[Row]:
        if self._erasing and session_digest(session_id) in self._erasing:
            return ()
        return self._recall(session_id)

    def find(self, session_id: str) -> Case | None:
        """Return a session that is in memory or in the archive, None if it is in neither."""
        if session_id not in self.cases and not self._archived(session_id):
            return None
        return self.case(session_id)

    def episode(self, episode_id: str) -> EpisodeRow | None:
        """Return an episode of a session in memory, None if there is none of that id."""
        case = self.cases.get(self._session_of.get(episode_id, ""))
        row = None if case is None else case.episodes.get(episode_id)
        return row if row is None or case is None else case.current(row)

    def put(self, row: Row) -> None:
        """Merge a row that belongs to no single session."""
        check(row)
        if (change := self.ledger.put(row)) is not None:
            table, key = change
            self.changed.setdefault(table, set()).add(key)
            if isinstance(row, TriageRow):
                self._touch_subject(row.episode_id)

    def put_in(self, case: Case, row: Row) -> None:
        """Merge a row that belongs to a session."""
        check(row)
        if (change := case.put(row)) is not None:
            table, key = change
            session_id = case.session.session_id
            self.changed.setdefault(table, set()).add((session_id, key))
            self._touched.add(session_id)
            if isinstance(row, EpisodeRow):
                self._session_of[row.episode_id] = session_id
            if isinstance(row, CommandRow):
                self._seen_sessions.add(session_id)
                self.command_log.add(session_id)

    def put_hold(self, row: CommandRow) -> None:
        """Merge a command of a hold."""
        check(row)
        self._hold(row)
        self.changed.setdefault(COMMAND, set()).add((None, row.command_id))

    def count(self, fields: Fields) -> None:
        """Count what differs by a record of shadow-differences."""
        for name in settings.differing(fields):
            if type(name) is not str:
                raise TypeError("a field that differs has no name")
            key = fields["shadow_version"], name
            count = self.differences.get(key)
            if count is None:
                count = self.differences[key] = settings.DifferenceCount(*key)
            count.add(fields)
            self.changed.setdefault(DIFFERENCE, set()).add(key)

    def seen(self, case: Case, timestamp: int) -> None:
        """Take in that a session had a record at this time of Kafka's."""
        session = case.session
        session.seen(timestamp)
        if self.newest_ts is None or timestamp > self.newest_ts:
            self.newest_ts = timestamp
        self._seen_sessions.add(session.session_id)
        self._touched.add(session.session_id)

    def _hold(self, row: CommandRow) -> None:
        key = hold_key(row)
        held = self.holds.setdefault(key, {})
        known = held.get(row.command_id)
        held[row.command_id] = row if known is None else control.first_of(known, row)
        self._held_until[key] = watched_until(held.values())
        self.command_log.add(None)
        self._touched.update(self.cases)

    def _touch_subject(self, subject: str) -> None:
        prefix = triage.subject_of("")
        session_id = subject[len(prefix) :] if subject.startswith(prefix) else self._session_of.get(subject)
        if session_id is not None:
            self._touched.add(session_id)

    def drain(self) -> list[tuple[RowTable, Row]]:
        """Return the rows that changed since the last time, with their tables."""
        return list(self.draining())

    def draining(self) -> Iterator[tuple[RowTable, Row]]:
        """Return what `drain` does, each row as of when it is asked for; forget nothing before the end."""
        taken = {table: tuple(keys) for table, keys in self.changed.items()}
        for keys in self.changed.values():
            keys.clear()
        return self._drained(taken)

    def _drained(self, taken: Mapping[RowTable, tuple[Any, ...]]) -> Iterator[tuple[RowTable, Row]]:
        for table, keys in taken.items():
            for key in keys:
                if (row := self._row(table, key)) is not None:
                    yield table, row

    def clear(self) -> None:
        """Forget everything, as if nothing had been folded yet."""
        self.cases.clear()
        self.holds.clear()
        self.ledger = Ledger()
        self.differences.clear()
        for keys in (*self.changed.values(), self._touched):
            keys.clear()
        self._session_of.clear()
        self._held_until.clear()
        self.newest_ts = None

    def _row(self, table: RowTable, key: Any) -> Row | None:  # as in `changed`
        if table is SESSION:
            return self.cases[key].session.row() if key in self.cases else None
        if table is DIFFERENCE:
            return self.differences[key].row()
        if table.name in _OF_SESSION:
            session_id, name = key
            if session_id is None:
                return next((held[name] for held in self.holds.values() if name in held), None)
            return self.cases[session_id].row(table, name) if session_id in self.cases else None
        return self.ledger.row(table, key)

    def restore(self, rows: Iterable[Row]) -> None:
        """Take rows back that `drain` returned once; a session's own row may come after those about it."""
        for row in rows:
            self._restore(row)

    def _restore(self, row: Row) -> None:
        match row:
            case CommandRow(session_id=None):
                self._hold(row)
            case SessionRow() | EpisodeRow() | FindingRow() | CommandRow() | AckRow() | GuardRow():
                session_id = row.session_id or ""
                case = self.cases.get(session_id)
                if case is None:
                    case = self.cases[session_id] = Case(session_id)
                case.put(row)
                self._touched.add(session_id)
                if isinstance(row, CommandRow):
                    self.command_log.add(session_id)
                if isinstance(row, EpisodeRow):
                    self._session_of[row.episode_id] = session_id
                if isinstance(row, SessionRow) and row.last_ts is not None:
                    self.newest_ts = max(self.newest_ts or 0, row.last_ts)
            case DifferenceRow():
                key = row.shadow_version, row.field
                self.differences[key] = settings.DifferenceCount(*key, row.offsets)
            case _:
                self.ledger.put(row)
                if isinstance(row, TriageRow):
                    self._touch_subject(row.episode_id)

    def rows(self) -> Iterator[Row]:
        """Yield every row in memory."""
        for case in self.cases.values():
            yield from case.rows()
        for held in self.holds.values():
            yield from held.values()
        yield from (count.row() for count in self.differences.values())
        yield from self.ledger.rows()

    def _pending(self) -> set[str]:
        """Return the sessions of which something changed since `drain`."""
        waiting = set(self._seen_sessions)
        for table, keys in self.changed.items():
            if table.name in _OF_SESSION:
                waiting.update(session_id for session_id, _ in keys if session_id is not None)
        return waiting

    def erase(self, row: ForgottenRow, session_ids: Iterable[str]) -> None:
        """Forget a session for good, but for what came behind the order.

        Who writes the archive asks what is `erasing`, and says when it is `erased` there.

        Args:
            row: What is known of the order.
            session_ids: The session; nothing where only its digest is known, and nothing in memory has that.
        """
        if self.ledger.forgotten.knows(row):
            return
        self.put(row)
        for session_id in session_ids:
            self._erase_rows(session_id, row)
        self._erasing[row.digest] = max(row.at, self._erasing.get(row.digest, row.at))
        self._orders += 1

    def erasing(self) -> Erasure:
        """Return what is to be deleted from the archive."""
        self._asked = self._orders
        return Erasure(dict(self._erasing), frozenset(self.ledger.leaving))

    def erased(self, what: Erasure) -> None:
        """Take note that it is; where another order has come meanwhile, it is done once more."""
        if self._asked == self._orders:
            for digest in what.digests:
                self._erasing.pop(digest, None)
        self.ledger.leaving -= what.subjects

    def _erase_rows(self, session_id: str, row: ForgottenRow) -> None:
        case = self.cases.get(session_id)
        if case is not None:
            self._drop(session_id)
        elif archived := [each for each in self._archived(session_id) if not isinstance(each, TriageRow)]:
            case = Case(session_id)
            for held in archived:
                case.put(held)
        self.ledger.erase(session_id)
        self._touched.add(session_id)
        if case is None:
            return
        later = list(later_rows(case, row.digest, self.ledger.forgotten))
        stays = {each.episode_id for each in later if isinstance(each, EpisodeRow)}
        self.ledger.erase_decisions(case.episodes.keys() - stays)
        last_ts = case.session.last_ts
        if later or (last_ts is not None and not self.ledger.forgotten.covers(row.digest, None, last_ts)):
            begun = self.cases[session_id] = Case(session_id)
            if last_ts is not None:
                self.seen(begun, last_ts)
            for each in later:
                self.put_in(begun, each)

    def _drop(self, session_id: str) -> None:
        for subject in (*self.cases.pop(session_id).episodes, triage.subject_of(session_id)):
            self._session_of.pop(subject, None)
            self.ledger.triage.pop(subject, None)
