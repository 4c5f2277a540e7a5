"""Witnesses of the rules of the verdict (specification 6.5, 6.5b, 6.5c)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import ceil
from typing import Final

from streams.core.detectors.verdict.settings import VerdictSettings, policy_of
from streams.core.detectors.verdict.step import POINTS, StepKind
from streams.core.detectors.verdict.waiting import FEWEST
from streams.core.domain.level import Level
from streams.core.domain.tool_class import PolicyMode, ToolClass
from streams.core.domain.witness import DecisionLog, Obstacle, Reachability, RecordMaker, Witness

Make = Callable[[int], DecisionLog]

_FAILURE = "failure"
_NOT_FAILING = ("success", "skipped", "pending")
_STATUSES = (*_NOT_FAILING, _FAILURE)
_ERROR = "test_login failed"
_RESULT = "three rows about pricing"
_MINUTE_MS = 60_000

_LIMITED = frozenset({None, PolicyMode.limits})
_AGAIN: Final = POINTS[StepKind.AGAIN]
_QUARTER: Final = POINTS[StepKind.ACKNOWLEDGED_BACK]
_NEW: Final = POINTS[StepKind.NEW_ERROR_ACTING]
_OLD: Final = POINTS[StepKind.OLD_ERROR]


def next_score(limit: float) -> float:
    """Return the lowest score that is not below a limit.

    >>> next_score(3.0), next_score(3.1)
    (3.0, 3.25)
    """
    return ceil(limit / _QUARTER) * _QUARTER


def again_until(limit: float) -> int:
    """Return how many times a call has to come again, with its result, until the score reaches a limit.

    >>> again_until(3.0), again_until(5.0)
    (2, 3)
    """
    return ceil(limit / _AGAIN)


def looks_until(minutes: int, settings: VerdictSettings) -> int:
    """Return the fewest looks between which a session lives on, until so many minutes have passed.

    >>> looks_until(10, VerdictSettings()), looks_until(10, VerdictSettings(session_ttl_ms=60_000))
    (3, 11)
    """
    if not settings.session_ttl_ms:
        return FEWEST
    return max(FEWEST, ceil(minutes * _MINUTE_MS / settings.session_ttl_ms) + 1)


def witness(
    row: Reachability, records: int, settings: VerdictSettings, maker: RecordMaker
) -> Witness | Obstacle:
    """Return the shortest sequence that makes a rule fire."""
    match row.rule.partition(":"):
        case "R1", _, "":
            return _identical(records, settings, maker, _NOT_FAILING)
        case "R1", _, _:
            return _identical(records, settings, maker, (_FAILURE,))
        case "R2", _, "longer":
            return _cycle(records, settings, maker, "abcdef")
        case "R2", _, period:
            return _cycle(records, settings, maker, "abcde"[: int(period.removeprefix("period"))])
        case "R7", _, _:
            return _stuck(Level(row.level), settings, maker)
        case _:
            return _waiting(Level(row.level), records, settings, maker)


def _identical(
    records: int, settings: VerdictSettings, maker: RecordMaker, wanted: Collection[str]
) -> Witness | Obstacle:
    status = _judged_status(settings, wanted)
    if isinstance(status, Obstacle):
        return status
    return Witness(records, _same(status, maker))


def _same(status: str, maker: RecordMaker) -> Make:
    """Do one thing again and again."""
    answer = {"error": _ERROR} if status == _FAILURE else {"tool_output_summary": _RESULT}
    # A step without a tool has no policy: what it does is what it intends.
    tool = maker.tool_name(policies={None})
    if tool is None:
        return lambda number: maker.record(number, {"status": status, **answer}, intent="think it over")
    action = {"status": status, "tool_call": tool, "tool_input": '{"q":"price list"}', **answer}
    return lambda number: maker.record(number, action)


def _cycle(records: int, settings: VerdictSettings, maker: RecordMaker, turns: str) -> Witness | Obstacle:
    status = _judged_status(settings, _STATUSES)
    if isinstance(status, Obstacle):
        return status
    tool = maker.tool_name(policies=_LIMITED)

    def make(number: int) -> DecisionLog:
        turn = turns[(number - 1) % len(turns)]
        if tool is None:
            return maker.record(number, {"status": status}, intent=f"consider {turn}")
        action = {"status": status, "tool_call": tool, "tool_input": f'{{"q":"{turn}"}}'}
        return maker.record(number, action)

    return Witness(records, make)


def _stuck(level: Level, settings: VerdictSettings, maker: RecordMaker) -> Witness | Obstacle:
    """Do one thing again and again; where that would go past a narrow band, act in small steps.

    Then there are more records than specification 4.3 counts.
    """
    status = _judged_status(settings, _STATUSES)
    if isinstance(status, Obstacle):
        return status
    limit = settings.stuck_warn if level is Level.WARNING else settings.stuck_loop
    times = again_until(limit)
    if level is Level.LOOP or times * _AGAIN < settings.stuck_loop:
        return Witness(1 + times, _same(status, maker))
    tool = maker.tool_name({ToolClass.write}, _LIMITED)
    if tool is None:
        return Obstacle("no action was found, and nothing else adds so little", certain=False)
    if status == _FAILURE:
        return _failing(next_score(limit), tool, maker)

    def make(number: int) -> DecisionLog:
        action = {"status": status, "tool_call": tool, "tool_input": f'{{"q":"{number % 2}"}}'}
        return maker.record(number, action)

    # The first of each of the two is new.
    return Witness(2 + round(next_score(limit) / _QUARTER), make)


def _failing(score: float, tool: str, maker: RecordMaker) -> Witness | Obstacle:
    """Fail in new ways, half a point each, and once as before if a quarter is asked for."""
    old = score % _NEW > 0
    if old and score < _OLD:
        return Obstacle("no failure adds so little", certain=False)

    def make(number: int) -> DecisionLog:
        error = "error1" if old and number == 2 else f"error{number}"
        action = {"status": _FAILURE, "tool_call": tool, "tool_input": f'{{"q":"{number}"}}', "error": error}
        return maker.record(number, action)

    return Witness(1 + old + round((score - _OLD * old) / _NEW), make)


def _waiting(level: Level, records: int, settings: VerdictSettings, maker: RecordMaker) -> Witness | Obstacle:
    status = _judged_status(settings, _STATUSES)
    if isinstance(status, Obstacle):
        return status
    policy = policy_of("wait", settings)
    polled = maker.tool_name(policies={PolicyMode.polling})
    tool = "wait" if policy is None or policy.mode is not PolicyMode.exempt else polled
    if tool is None:
        return Obstacle("tool_policies exempts the tool that waits", certain=False)
    minutes = settings.waiting_warn_minutes if level is Level.WARNING else settings.waiting_loop_minutes
    # Evenly, in whole ms: no step is longer than a session lives.
    whole, steps = minutes * _MINUTE_MS, records - 1
    action = {"status": status, "tool_call": tool}
    return Witness(
        records, lambda number: maker.record(number, action, at_ms=ceil(whole * (number - 1) / steps))
    )


def _judged_status(settings: VerdictSettings, wanted: Collection[str]) -> str | Obstacle:
    status = next((status for status in wanted if status in settings.verdict_statuses), None)
    return status or Obstacle(f"verdict_statuses has none of {', '.join(wanted)}")
