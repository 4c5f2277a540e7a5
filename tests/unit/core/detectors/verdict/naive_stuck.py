"""The stuck score by its definition (specification 6.5b).

Each row of the table asks the records since a person spoke one by one, each time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from streams.core.detectors.verdict.act import Act
from streams.core.detectors.verdict.answer import found_nothing
from tests.unit.core.detectors.verdict.naive_seen import Seen

POINTS = {
    "waiting": 0,
    "first": 0,
    "cancelled": 0,
    "again": 2,
    "silent": 0,
    "apart": 0,
    "said": 1,
    "moved": 0,
    "acknowledged_again": 0.5,
    "acknowledged_back": 0.25,
    "back_changed": 0.5,
    "retry": 2,
    "back_trivial": 0.5,
    "back": 1.5,
    "counted": 1,
    "again_other": 0,
    "rerun": -0.5,
    "absent_again": 0.5,
    "old_error": 1.25,
    "refused_again": 1,
    "new_error_acting": 0.5,
    "new_error": 0,
    "new": -1,
    "few": -0.5,
    "idle": 1,
    "nothing_found": 0.5,
    "acted": -0.25,
    "echo": 0,
    "old_result": 0.5,
    "old_words": 0.5,
    "like": 0,
}


def same_result(one: Seen, other: Seen) -> bool:
    return one.failed == other.failed and one.result == other.result


def same_call(one: Seen, other: Seen) -> bool:
    return one.call == other.call


def same(one: Seen, other: Seen) -> bool:
    return same_call(one, other) and same_result(one, other)


class Row(NamedTuple):
    """A record, all judged before it since a person spoke, and those of them it is compared with."""

    record: Seen
    before: Sequence[Seen]
    compared: Sequence[Seen]

    @property
    def previous(self) -> Seen:
        return self.compared[-1]

    @property
    def tool_of_the_step_before(self) -> str | None:
        """That of the first record of the round before."""
        at = self.before.index(self.previous)
        while at and self.before[at].joined:
            at -= 1
        return self.before[at].tool

    def newest(self, fits: Callable[[Seen, Seen], bool]) -> Seen | None:
        return next((each for each in reversed(self.compared) if fits(self.record, each)), None)

    def after(self, earlier: Seen) -> Sequence[Seen]:
        return self.before[self.before.index(earlier) + 1 :]

    def back(self, earlier: Seen) -> int:
        return len(self.compared) - self.compared.index(earlier)

    def paused_since(self, earlier: Seen) -> bool:
        longest = max(each.gap for each in (*self.after(earlier), self.record))
        return self.record.pauses(longest, [self.record])

    def acted_since(self, earlier: Seen) -> bool:
        again = ("acknowledged_again", "acknowledged_back")
        return any(
            each.act is Act.ACTS and each.status == "success" and each.kind not in again
            for each in self.after(earlier)
        )


def step_of(row: Row) -> tuple[str, Seen | None]:
    """The kind of a record, and the record it refers to."""
    record = row.record
    if record.waits:
        return "waiting", None
    if not row.compared:
        return "first", None
    if record.failed and record.failure == "cancelled":
        return "cancelled", None
    if record.tool is None:
        return said(row)
    twin = row.newest(same)
    if twin is not None:
        return returned(row, twin), twin
    called = row.newest(same_call)
    if called is not None:
        return called_before(row, called), called
    if record.failed or (record.failure is not None and not record.moved):
        return failed(row)
    return told(row)


def said(row: Row) -> tuple[str, Seen | None]:
    record, previous = row.record, row.previous
    if same(record, previous) and not row.paused_since(previous):
        return "again", previous
    if row.tool_of_the_step_before is not None:
        return "silent", None
    if row.paused_since(previous):
        return "apart", None
    known = record.is_known or row.newest(same) is not None
    return ("said" if known and len(record.news) >= 4 else "silent"), None


def returned(row: Row, twin: Seen) -> str:
    record = row.record
    if record.moved:
        return "moved"
    if row.paused_since(twin):
        return "apart"
    if not record.failed and any(each.kind == "waiting" for each in row.after(twin)):
        return "apart"
    if record.is_acknowledged and twin is not row.previous:
        return "acknowledged_back"
    if record.is_acknowledged and not record.writes:
        return "acknowledged_again"
    if twin is row.previous:
        return "again"
    if row.acted_since(twin):
        return "back_changed"
    if row.back(twin) in (2, 3) and row.tool_of_the_step_before == record.tool:
        return "retry"
    return "back_trivial" if not record.failed and len(record.news) < 3 else "back"


def called_before(row: Row, called: Seen) -> str:
    record = row.record
    enough = len(record.news) >= 8 and (record.is_known or record.is_nearly_known)
    if record.act is Act.ASKS and enough and not record.moved:  # noqa: SIM102 - as the row of the table
        if not row.paused_since(called) and not row.acted_since(called):
            return "counted"
    return "again_other" if called is row.previous else "rerun"


def failed(row: Row) -> tuple[str, Seen | None]:
    record = row.record
    if not record.result:
        return "silent", None
    absent = record.failure == "absent"
    if record.is_heard or record.is_known or record.is_nearly_known:
        return ("absent_again" if absent else "old_error"), told_by_the_tool(row)
    if record.failure not in ("other", "cancelled") and record.failure in [
        each.failure for each in row.before[-8:]
    ]:
        return ("absent_again" if absent else "refused_again"), None
    return ("new_error_acting" if record.act is Act.ACTS else "new_error"), None


def told(row: Row) -> tuple[str, Seen | None]:
    record = row.record
    if record.moved:
        return "new", None
    nothing = not record.news or found_nothing(record.text or "")
    known = record.is_known or record.is_nearly_known
    if nothing or len(record.news) < 3:
        return ("few" if not nothing and record.fresh else little(row)), None
    if record.is_acknowledged:
        return ("acted" if known else "few"), None
    if record.is_heard:
        return "old_result", told_by_the_tool(row)
    if record.is_known and 8 <= len(record.news) <= 32:
        return "old_words", None
    if known:
        return "like", None
    all_fresh = len(record.fresh) == len(record.compared)
    return ("new" if len(record.fresh) >= 4 or all_fresh else "few"), None


def little(row: Row) -> str:
    record = row.record
    if record.act is Act.IDLES and idle_before(row) >= 3:
        return "idle"
    if asks_and_captured(record) and any(each.fresh for each in row.before) and in_vain_before(row) >= 8:
        return "nothing_found"
    if record.is_acknowledged:
        return "acted"
    return "echo" if record.result else "silent"


def idle_before(row: Row) -> int:
    count = 0
    for each in reversed(row.before):
        if each.kind in ("new", "few"):
            break
        count += each.act is Act.IDLES
    return count


def in_vain_before(row: Row) -> int:
    count = 0
    for each in reversed(row.before):
        if each.act is Act.ACTS or each.kind in ("new", "few", "rerun"):
            break
        count += asks_and_captured(each) and each.kind in ("silent", "echo", "nothing_found")
    return count


def asks_and_captured(record: Seen) -> bool:
    return record.act is Act.ASKS and record.result is not None and not record.numbers


def told_by_the_tool(row: Row) -> Seen | None:
    return row.newest(lambda one, other: one.tool == other.tool and same_result(one, other))


class Step(NamedTuple):
    """The first record of a round, or one without a round, and what the round counts as."""

    first: Seen
    kind: str
    points: float


@dataclass
class NaiveScore:
    """The score, counted anew from all steps since a person spoke."""

    steps: list[Step] = field(default_factory=list)

    def add(self, record: Seen, before: Sequence[Seen], compared: Sequence[Seen]) -> None:
        record.hear(before)
        record.kind, earlier = step_of(Row(record, before, compared))
        record.points = POINTS[record.kind]
        limits = record.policy is not None and record.policy.mode == "limits"
        if record.kind == "again" and limits:
            record.points = 0
        record.refers_to = None if earlier is None else earlier.decision.offset
        if not record.joined:
            self.steps.append(Step(record, record.kind, record.points))
        elif record.points < self.steps[-1].points:
            self.steps[-1] = Step(self.steps[-1].first, record.kind, record.points)

    @property
    def score(self) -> float:
        return self._since()[0]

    @property
    def raising(self) -> list[Seen]:
        return [step.first for step in self._since()[1] if step.points > 0]

    @property
    def kinds(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for step in self._since()[1]:
            found[step.kind] = found.get(step.kind, 0) + 1
        return found

    def _since(self) -> tuple[float, list[Step]]:
        """The score, and the steps since the one that raised it from 0."""
        score: float = 0
        since: list[Step] = []
        for step in self.steps:
            score = min(8, max(0, score + step.points))
            since = [*since, step] if score else []
        return score, since
