"""The stuck score by its definition (specification 6.5b).

Each row of the table asks the records of the window one by one, each time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.unit.detectors.verdict.naive_seen import Seen, trivial

POINTS = {
    "first": 0,
    "apart": 0,
    "again": 2,
    "again_other": 0,
    "retry": 2,
    "back_trivial": 0.5,
    "back_changed": 0.5,
    "back": 1,
    "rerun": -0.5,
    "old_error": 1,
    "echo": 0,
    "old_result": 0.5,
    "silent": 0,
    "new_error": -0.5,
    "new": -1,
}


def same_result(one: Seen, other: Seen) -> bool:
    return one.failed == other.failed and one.result == other.result


def same_call(one: Seen, other: Seen) -> bool:
    return one.call == other.call


def same(one: Seen, other: Seen) -> bool:
    return same_call(one, other) and same_result(one, other)


def kind_of(  # noqa: C901, PLR0912 - the rows of the table
    record: Seen, window: Sequence[Seen]
) -> tuple[str, int | None]:
    """The kind of a record and the offset it refers to, from the records before it, oldest first."""

    def newest(fits: Callable[[Seen, Seen], bool]) -> Seen | None:
        return next((each for each in reversed(window) if fits(record, each)), None)

    if not window:
        return "first", None
    previous = window[-1]
    if record.polling or record.spaced(previous, [record]):
        return "apart", None
    if same(record, previous):
        return "again", previous.decision.offset
    if same_call(record, previous):
        return "again_other", previous.decision.offset
    known = newest(same)
    if known is not None:
        back = known.decision.offset
        after = window[[id(each) for each in window].index(id(known)) + 1 :]
        if record.spaced(known, [record]):
            return "apart", back
        if len(after) in (1, 2) and record.tool is not None and previous.tool == record.tool:
            return "retry", back
        if not record.failed and (record.result is None or trivial(record.result)):
            return "back_trivial", back
        if any(each.wrote for each in after):
            return "back_changed", back
        return "back", back
    called = newest(same_call)
    if called is not None:
        return "rerun", called.decision.offset
    if record.result and record.tool is not None:
        told = newest(lambda one, other: one.tool == other.tool and same_result(one, other))
        if told is not None:
            return result_seen(record), told.decision.offset
    if not record.result:
        return "silent", None
    return ("new_error" if record.failed else "new"), None


def result_seen(record: Seen) -> str:
    if record.failed:
        return "old_error"
    return "echo" if trivial(record.result) or record.changes_things() else "old_result"


@dataclass
class NaiveScore:
    """The score, kept as a list of everything since it was last 0."""

    score: float = 0
    since: list[tuple[Seen, str, float]] = field(default_factory=list)
    newest: dict[str, Any] = field(default_factory=dict)

    def add(self, record: Seen, window: Sequence[Seen]) -> None:
        kind, refers_to = kind_of(record, window)
        points = POINTS[kind]
        if kind == "again" and record.policy is not None and record.policy.mode == "limits":
            points = 0
        self.score = min(8, max(0, self.score + points))
        self.since = [*self.since, (record, kind, points)] if self.score else []
        self.newest = {"score": self.score, "kind": kind, "points": points, "refers_to": refers_to}

    @property
    def raising(self) -> list[Seen]:
        return [record for record, _, points in self.since if points > 0]

    @property
    def kinds(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for _, kind, _ in self.since:
            found[kind] = found.get(kind, 0) + 1
        return found
