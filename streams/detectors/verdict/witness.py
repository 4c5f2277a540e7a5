"""Witnesses of the rules of the verdict (specification 6.5, 6.5b, and R6)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from streams.detectors.verdict.settings import VerdictSettings
from streams.detectors.verdict.stuck_witness import stuck_witness
from streams.domain.level import Level
from streams.domain.reachability import Reachability
from streams.domain.tool_class import ToolClass
from streams.domain.tool_policy import PolicyMode
from streams.domain.witness import ANY_CLASS, DecisionLog, Obstacle, RecordMaker, Witness

Make = Callable[[int], DecisionLog]

_FAILURE = "failure"
_NOT_FAILING = ("success", "skipped", "pending")
_ERROR = "test_login failed"
_RESULT = "three rows about pricing"
_WORDS = ("basic", "price", "list")
_ALL_EXEMPT_OR_POLLING = "no tool name was found that tool_policies neither exempts nor takes as polling"

_LIMITED = frozenset({None, PolicyMode.limits})
_POLLED = _LIMITED | {PolicyMode.polling}
# Tools whose results say nothing of progress are no evidence for R4.
_ASKING = ANY_CLASS - {ToolClass.write, ToolClass.command}


def witness(
    row: Reachability, records: int, settings: VerdictSettings, maker: RecordMaker
) -> Witness | Obstacle:
    """Return the shortest sequence that makes a rule fire."""
    match row.rule.partition(":"):
        case "R1", _, "":
            return _identical(records, settings, maker, _NOT_FAILING)
        case "R1", _, _:
            return _identical(records, settings, maker, (_FAILURE,))
        case "R2", _, period:
            return _cycle(records, settings, maker, int(period.removeprefix("period")))
        case "R3", _, _:
            return _same_error(records, settings, maker)
        case "R4", _, _:
            return _same_result(records, settings, maker)
        case "R5", _, _:
            return _near_duplicate(records, settings, maker)
        case "R7", _, _:
            return stuck_witness(Level(row.level), settings, maker)
        case "R8", _, _:
            return _stalled(records, settings, maker)
        case _:
            return _nothing_new(records, settings, maker)


def _identical(
    records: int, settings: VerdictSettings, maker: RecordMaker, wanted: Collection[str]
) -> Witness | Obstacle:
    status = _judged_status(settings, wanted)
    if isinstance(status, Obstacle):
        return status
    failed = {"error": _ERROR} if status == _FAILURE else {}
    # A step without a tool has no policy: what it does is what it intends.
    tool = maker.tool_name(policies={None})
    if tool is None:
        thought = {"status": status, **failed}
        return Witness(records, lambda number: maker.record(number, thought, intent="think it over"))
    action = {"status": status, "tool_call": tool, "tool_input": '{"q":"price list"}', **failed}
    return Witness(records, lambda number: maker.record(number, action))


def _cycle(records: int, settings: VerdictSettings, maker: RecordMaker, period: int) -> Witness | Obstacle:
    status = _judged_status(settings, (*_NOT_FAILING, _FAILURE))
    if isinstance(status, Obstacle):
        return status
    tool = maker.tool_name(policies=_LIMITED)

    def make(number: int) -> DecisionLog:
        turn = "abcde"[(number - 1) % period]
        if tool is None:
            return maker.record(number, {"status": status}, intent=f"consider {turn}")
        action = {"status": status, "tool_call": tool, "tool_input": f'{{"q":"{turn}"}}'}
        return maker.record(number, action)

    return Witness(records, make)


def _same_error(records: int, settings: VerdictSettings, maker: RecordMaker) -> Witness | Obstacle:
    if _FAILURE not in settings.verdict_statuses:
        return Obstacle("verdict_statuses lacks failure")
    tool = maker.tool_name(policies=_POLLED)
    if tool is None:
        return Obstacle("no tool name was found that tool_policies does not exempt", certain=False)
    # The setting `same_error_similarity` may ask for words in common.
    return Witness(records, _rewords(maker, {"status": _FAILURE, "tool_call": tool, "error": _ERROR}))


def _same_result(records: int, settings: VerdictSettings, maker: RecordMaker) -> Witness | Obstacle:
    status = _judged_status(settings, _NOT_FAILING)
    if isinstance(status, Obstacle):
        return status
    tool = maker.tool_name(policies=_LIMITED)
    if tool is None:
        return Obstacle(_ALL_EXEMPT_OR_POLLING, certain=False)
    action = {"status": status, "tool_call": tool, "tool_output_summary": _RESULT}
    asking = maker.tool_name(_ASKING, _LIMITED)
    if asking is not None:
        action["tool_call"] = asking
    else:
        action["kind"] = "service"  # only tools of kind `tool` have a class

    def make(number: int) -> DecisionLog:
        return maker.record(number, {**action, "tool_input": f'{{"q":"idea {number}"}}'})

    return Witness(records, make)


def _near_duplicate(records: int, settings: VerdictSettings, maker: RecordMaker) -> Witness | Obstacle:
    status = _judged_status(settings, (*_NOT_FAILING, _FAILURE))
    if isinstance(status, Obstacle):
        return status
    tool = maker.tool_name(policies=_LIMITED)
    if tool is None:
        return Obstacle(_ALL_EXEMPT_OR_POLLING, certain=False)
    told = "error" if status == _FAILURE else "tool_output_summary"
    return Witness(records, _rewords(maker, {"status": status, "tool_call": tool, told: _RESULT}))


def _rewords(maker: RecordMaker, action: Mapping[str, str]) -> Make:
    """Do the same with the same words in another order: alike at any threshold, and not the same call."""

    def make(number: int) -> DecisionLog:
        turn = number % len(_WORDS)
        words = " ".join(_WORDS[turn:] + _WORDS[:turn])
        return maker.record(number, {**action, "tool_input": f'{{"q":"{words}"}}'})

    return make


def _nothing_new(records: int, settings: VerdictSettings, maker: RecordMaker) -> Witness | Obstacle:
    status = _judged_status(settings, (*_NOT_FAILING, _FAILURE))
    if isinstance(status, Obstacle):
        return status
    tool = maker.tool_name(policies=_LIMITED)
    if tool is None:
        thought = {"status": status}
        return Witness(records, lambda number: maker.record(number, thought, intent="think it over"))
    action = {"status": status, "tool_call": tool, "tool_input": '{"q":"price list"}'}
    return Witness(records, lambda number: maker.record(number, action))


def _stalled(records: int, settings: VerdictSettings, maker: RecordMaker) -> Witness | Obstacle:
    status = _judged_status(settings, (*_NOT_FAILING, _FAILURE))
    if isinstance(status, Obstacle):
        return status
    # A step without a tool has no policy and no class.
    return Witness(records, lambda number: maker.record(number, {"status": status}, intent="think it over"))


def _judged_status(settings: VerdictSettings, wanted: Collection[str]) -> str | Obstacle:
    status = next((status for status in wanted if status in settings.verdict_statuses), None)
    return status or Obstacle(f"verdict_statuses has none of {', '.join(wanted)}")
