"""Witnesses of R7: the fewest steps that bring the stuck score between its limits (specification 6.5b)."""

from __future__ import annotations

from math import ceil

from streams.detectors.verdict.settings import VerdictSettings
from streams.detectors.verdict.step import POINTS, StepKind
from streams.domain.level import Level
from streams.domain.witness import DecisionLog, Obstacle, RecordMaker, Witness

_AGAIN = POINTS[StepKind.AGAIN]
_FAILURE = "failure"
_STATUSES = ("success", "skipped", "pending", _FAILURE)


def next_score(limit: float) -> float:
    """Return the lowest score that is not below a limit.

    >>> next_score(3.0), next_score(3.1)
    (3.0, 3.5)
    """
    return ceil(limit * 2) / 2


def again_until(limit: float) -> int:
    """Return how many times a call has to come again, with its result, until the score reaches a limit.

    >>> again_until(3.0), again_until(5.0)
    (2, 3)
    """
    return ceil(limit / _AGAIN)


def stuck_witness(level: Level, settings: VerdictSettings, maker: RecordMaker) -> Witness | Obstacle:
    """Return one call again and again; with other steps before it where that would go past a narrow band.

    Then there are more records than specification 4.3 counts.
    """
    status = next((status for status in _STATUSES if status in settings.verdict_statuses), None)
    if status is None:
        return Obstacle("verdict_statuses is empty: no record is judged")
    limit = settings.stuck_warn if level is Level.WARNING else settings.stuck_loop
    times = again_until(limit)
    if level is Level.LOOP or times * _AGAIN < settings.stuck_loop:
        return _again(times, status, maker)
    thoughts = _band(next_score(limit), failing=status == _FAILURE)
    if not thoughts:
        return Obstacle("verdict_statuses has failure alone, and no failure raises the score by a half")

    def make(number: int) -> DecisionLog:
        # A caller may ask for more records than it takes.
        thought = thoughts[min(number, len(thoughts)) - 1]
        return maker.record(number, {"status": status, **_outcome(thought, status)}, intent=f"try {thought}")

    return Witness(len(thoughts), make)


def _again(times: int, status: str, maker: RecordMaker) -> Witness:
    # A policy may allow repeats. A step without a tool has none: what it does is what it intends.
    tool = maker.tool_name(policies={None})
    failed = {"error": "test_login failed"} if status == _FAILURE else {}
    if tool is None:
        thought = {"status": status, **failed}
        return Witness(1 + times, lambda number: maker.record(number, thought, intent="think it over"))
    action = {"status": status, "tool_call": tool, "tool_input": '{"q":"price list"}', **failed}
    return Witness(1 + times, lambda number: maker.record(number, action))


def _band(score: float, *, failing: bool) -> str:
    """Return thoughts, one letter each, after which the score is a given one for the first time.

    Going back to the thought ``a``, which came to nothing, adds a half; to another one adds one. If all fail,
    only new errors make halves.
    """
    times, rest = divmod(score, _AGAIN)
    again = int(times)
    if not failing:
        before = {0.5: "aba", 1.0: "bab", 1.5: "abab"}[rest]
    else:
        before = {0.5: "babc" if again else "", 1.0: "bab", 1.5: "babcb"}[rest]
    return before + before[-1:] * again


def _outcome(thought: str, status: str) -> dict[str, str]:
    if status == _FAILURE:
        return {"error": f"idea {thought} failed"}
    return {} if thought == "a" else {"tool_output_summary": f"three rows about {thought}"}
