"""What can be wrong with the job by what its workers say: each with what it means and what to do. Pure.

They are the rows of "Alerts" in docs/operations.md, for who has no Prometheus yet.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple

from streams.console.watch.history import MINUTE_MS, WorkerHistory

_RECENT: Final = 3 * MINUTE_MS
_TEN_MINUTES: Final = 10 * MINUTE_MS
_HOUR: Final = 60 * MINUTE_MS
_DAY: Final = 24 * _HOUR
_FAR_ABOVE: Final = 3
_SOME: Final = 10
_LONG_SECONDS: Final = 60
_SILENT_SECONDS: Final = 30


class ConditionState(StrEnum):
    """How a condition stands."""

    GOOD = "good"
    BAD = "bad"
    UNKNOWN = "unknown"
    """The workers have not said enough yet."""


class ConditionReport(NamedTuple):
    """A condition, as it stands.

    Attributes:
        name: What is looked at.
        state: Whether it holds, fires or is unknown.
        says: Figures that the state follows from.
        means: What it means if it is bad.
        do: What to do then.
    """

    name: str
    state: ConditionState
    says: str
    means: str
    do: str


class Condition(NamedTuple):
    """What is looked at; `look` returns whether it is bad, None if that is not known, and the figures."""

    name: str
    means: str
    do: str
    look: Callable[[WorkerHistory, int], tuple[bool | None, str]]


def told(history: WorkerHistory, now: int) -> list[ConditionReport]:
    """Return every condition as it stands, in the order of `CONDITIONS`."""
    return [_told(each, history, now) for each in CONDITIONS]


def _told(condition: Condition, history: WorkerHistory, now: int) -> ConditionReport:
    bad, says = condition.look(history, now)
    state = ConditionState.UNKNOWN if bad is None else ConditionState.BAD if bad else ConditionState.GOOD
    return ConditionReport(condition.name, state, says, condition.means, condition.do)


_NOT_YET: Final = "Not known yet: it takes two looks, a minute apart."


def _grown(
    figure: str, window: int, words: str, more_than: float = 0
) -> Callable[..., tuple[bool | None, str]]:
    def look(history: WorkerHistory, now: int) -> tuple[bool | None, str]:
        grown = history.growth(figure, now - window, now)
        if grown is None:
            return None, _NOT_YET
        return grown > more_than, f"{grown:,.0f} {words}"

    return look


def _brokers(history: WorkerHistory, now: int) -> tuple[bool | None, str]:
    answering = history.newest("brokers", now - _RECENT)
    known = max(history.newest("brokers_known", now - _RECENT).values(), default=0)
    silence = max(history.newest("silence", now - _RECENT).values(), default=0)
    if not answering:
        return None, "No worker has said it in three minutes."
    fewest = min(answering.values())
    bad = fewest < known or silence > _SILENT_SECONDS
    return bad, f"{fewest:.0f} of {known:.0f} answer; the longest silence is {silence:.0f} s"


def _lag(history: WorkerHistory, now: int) -> tuple[bool | None, str]:
    totals = {at: lag for at, lag in sorted(history.totals("lag").items()) if at >= now - _TEN_MINUTES}
    half = now - _TEN_MINUTES // 2
    newer, older = ([lag for at, lag in totals.items() if (at > half) is late] for late in (True, False))
    if not newer or not older:
        return None, "Not known yet: it takes ten minutes."
    return min(newer) > max(older), f"{newer[-1]:,.0f} records behind, {older[0]:,.0f} before"


def _dead_letters(history: WorkerHistory, now: int) -> tuple[bool | None, str]:
    recent = history.growth("dead_letters", now - _TEN_MINUTES, now)
    if recent is None:
        return None, _NOT_YET
    before = history.growth("dead_letters", now - 2 * _DAY, now - _TEN_MINUTES) or 0.0
    records = history.growth("records", now - 2 * _DAY, now - _TEN_MINUTES) or 0.0
    now_read = history.growth("records", now - _TEN_MINUTES, now) or 0.0
    usual = before / records * now_read if records else 0.0
    bad = recent >= _SOME and recent > _FAR_ABOVE * usual
    return bad, f"{recent:,.0f} in ten minutes; by the two days before, {usual:,.1f} are usual"


def _longest(figure: str, words: str) -> Callable[[WorkerHistory, int], tuple[bool | None, str]]:
    def look(history: WorkerHistory, now: int) -> tuple[bool | None, str]:
        found = history.newest(figure, now - _RECENT)
        if not found:
            return None, "No worker has said it in three minutes."
        most = max(found.values(), key=abs)
        return abs(most) > _LONG_SECONDS, f"{most:,.0f} s {words}"

    return look


CONDITIONS: Final = (
    Condition(
        "Brokers",
        "Brokers do not answer the workers; what they lead is not processed.",
        "Check the brokers and the network. Workers continue by themselves.",
        _brokers,
    ),
    Condition(
        "Lag",
        "Workers or brokers are too slow, or one session has most of the records.",
        "If the lag is that of one partition, look at its session. Else add workers, up to the partitions.",
        _lag,
    ),
    Condition(
        "Lost records",
        "Retention deleted records before Eddy read them; they are not scored.",
        "Raise retention.ms of decision-logs, and add workers.",
        _grown("lost", _HOUR, "in the last hour"),
    ),
    Condition(
        "Dead letters",
        "Producers send records that break the contract.",
        "Look at the dead letters by their reason.",
        _dead_letters,
    ),
    Condition(
        "Late records",
        "Records come after the state of their session was removed, unless old data is replayed.",
        "Raise state_grace_ms.",
        _grown("late", _HOUR, "in the last hour"),
    ),
    Condition(
        "Standby errors",
        "Standbys fail: a takeover would restore everything.",
        "Read the log of the worker.",
        _grown("standby_errors", _TEN_MINUTES, "in ten minutes"),
    ),
    Condition(
        "Standby lag",
        "A takeover would have to restore that much first.",
        "Read the log of the worker.",
        _longest("standby_lag", "behind the changelog"),
    ),
    Condition(
        "Clock",
        "The clock of a machine, or of a broker, is wrong. Workers use the time of the brokers.",
        "Check NTP.",
        _longest("ahead", "ahead of the brokers"),
    ),
    Condition(
        "Redated records",
        "A topic refuses Kafka timestamps; outputs got others.",
        "Read the line in the log of the worker.",
        _grown("redated", _HOUR, "in the last hour"),
    ),
    Condition(
        "Damaged state",
        "Databases were damaged. Each was restored, and nothing is lost.",
        "Check the disk and the memory of that machine.",
        _grown("set_aside", _DAY, "in a day", more_than=1),
    ),
)
