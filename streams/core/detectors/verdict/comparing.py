"""What one step is beside the judged records before it (specification 6.5b)."""

from __future__ import annotations

from typing import NamedTuple

from streams.core.detectors.verdict.act import Act
from streams.core.detectors.verdict.answer import (
    Failure,
    confirms,
    failure_of,
    found_nothing,
    is_denial,
    tells_to_wait,
)
from streams.core.detectors.verdict.news import News
from streams.core.detectors.verdict.past import Past
from streams.core.detectors.verdict.settings import VerdictSettings
from streams.core.detectors.verdict.state import VerdictState
from streams.core.detectors.verdict.step import POINTS, StepKind, VerdictStep
from streams.core.domain.decision import Decision
from streams.core.domain.text.digest import bounded, bounded_hash
from streams.core.domain.tool_class import PolicyMode, ToolPolicy


def is_pause(ms: int, settings: VerdictSettings, *, failing: bool) -> bool:
    """Tell whether so long a time between two neighbours means that the agent paused.

    Args:
        ms: from one record to the next; going back in time is no pause.
        settings: `poll_gap_ms`, or `failure_gap_ms` for a failure; 0: nothing is a pause.
        failing: whether a record of the block concerned failed.

    >>> defaults = VerdictSettings()
    >>> is_pause(60_000, defaults, failing=False), is_pause(59_999, defaults, failing=False)
    (True, False)
    >>> is_pause(60_000, defaults, failing=True), is_pause(600_000, defaults, failing=True)
    (False, True)
    """
    gap = settings.failure_gap_ms if failing else settings.poll_gap_ms
    return 0 < gap <= ms


_RETRIED_WITHIN = 3
_REMEMBERED_FAILURES = 8
_FEWEST_WORDS = 3
_RICH = 8
_SAID_FROM = 4
_FEW = 4
#: Steps of their kind that idle commands and questions without an answer are free for.
IDLE_FREE = 3
NOTHING_FREE = 8

_STEPS = {kind: VerdictStep(kind.value, points, None) for kind, points in POINTS.items()}


class SeenStep(NamedTuple):
    """A record as the verdict sees it.

    Attributes:
        decision: the record as it was admitted.
        act: what the step does, such as ASKS or ACTS.
        news: what its answer adds to its call.
        mark: of what its tool told, empty if nothing.
        heard: whether its tool told the same news before.
        failure: why it failed, None if it did not.
        pause: ms since the record before it, 0 for the first.
        moved: whether its producer says that it moved something.
        writes: whether its tool is of write class: the same again writes the same.
    """

    decision: Decision
    act: Act
    news: News
    mark: str
    heard: bool
    failure: Failure | None
    pause: int
    moved: bool
    writes: bool

    @property
    def failing(self) -> bool:
        """Whether it failed."""
        return self.decision.status == "failure"

    @property
    def is_acknowledged(self) -> bool:
        """Whether it is an action whose answer says no more than that it worked."""
        if self.act is not Act.ACTS or self.failing:
            return False
        return not self.decision.result or confirms(self.news.words)

    @property
    def may_come_again(self) -> bool:
        """Whether it is acknowledged, and the same again may do something else, such as the next page."""
        return self.is_acknowledged and not self.writes


def failure_in(decision: Decision, settings: VerdictSettings) -> Failure | None:
    """Return why a record failed; also of one that did not, if it was denied in so many words."""
    text = decision.result_text or ""
    if decision.status == "failure":
        return failure_of(text, settings.refusal_phrases) if text else Failure.OTHER
    return failure_of(text, settings.refusal_phrases) if is_denial(text) else None


def step_of(
    state: VerdictState, seen: SeenStep, past: Past, policy: ToolPolicy | None, settings: VerdictSettings
) -> VerdictStep:
    """Return what a record is beside those before it; the first row of specification 6.5b that applies.

    Args:
        state: the verdict's state before the record.
        seen: the record as the verdict sees it.
        past: the records before it.
        policy: what the operator says about its tool.
        settings: the settings in force.
    """
    decision, failing = seen.decision, seen.failing
    if policy is not None and policy.mode is PolicyMode.polling:
        return _STEPS[StepKind.WAITING]
    if seen.act is Act.WAITS or (not failing and tells_to_wait(decision.result_text or "", seen.act)):
        return _STEPS[StepKind.WAITING]
    if past.is_empty:
        return _STEPS[StepKind.FIRST]
    if failing and seen.failure is Failure.CANCELLED:
        return _STEPS[StepKind.CANCELLED]
    if seen.act is Act.SAYS:
        return _said(state, seen, past, settings)
    if past.repeated_at >= 0:
        return _repeated(state, seen, past, policy, settings)
    if past.called_at >= 0:
        kind = _called_before(state, seen, past, settings)
        return _STEPS[kind]._replace(refers_to=past.offset_of(past.called_at, state.newest_offset))
    if failing or (seen.failure is not None and not seen.moved):
        return _failed(state, seen, past)
    return _by_answer(state, seen, past)


def has_progressed(state: VerdictState, decision: Decision) -> bool:
    """Tell whether the producer says that a step moved something."""
    if (decision.progress_delta or 0) > 0 or decision.added_to_memory:
        return True
    if decision.content_hash is None or state.content_hash is None:
        return False
    return bounded_hash(decision.content_hash) != state.content_hash


def _said(state: VerdictState, seen: SeenStep, past: Past, settings: VerdictSettings) -> VerdictStep:
    paused = is_pause(past.longest_pause(past.start, seen.pause), settings, failing=seen.failing)
    if past.repeated_at == past.start and not paused:
        return _STEPS[StepKind.AGAIN]._replace(refers_to=state.newest_offset)
    if _tool_before(state, past) is not None:
        return _STEPS[StepKind.SILENT]
    if paused:
        return _STEPS[StepKind.APART]
    known = past.repeated_at >= 0 or seen.news.is_known
    return _STEPS[StepKind.SAID if known and seen.news.size >= _SAID_FROM else StepKind.SILENT]


def _repeated(
    state: VerdictState, seen: SeenStep, past: Past, policy: ToolPolicy | None, settings: VerdictSettings
) -> VerdictStep:
    at, decision = past.repeated_at, seen.decision
    back = past.number_back(at)
    twin = state.judged + 1 - back
    step = _STEPS[_return(state, seen, past, twin, settings)]._replace(
        refers_to=past.offset_of(at, state.newest_offset)
    )
    allowed = policy is not None and policy.mode is PolicyMode.limits and step.kind == StepKind.AGAIN.value
    return step._replace(points=0.0) if allowed and decision.tool else step


def _return(
    state: VerdictState, seen: SeenStep, past: Past, twin: int, settings: VerdictSettings
) -> StepKind:
    """Return the kind of a step with call and result of the judged record of this number."""
    at, decision, failing = past.repeated_at, seen.decision, seen.failing
    previous = at == past.start
    if seen.moved:
        return StepKind.MOVED
    if is_pause(past.longest_pause(at, seen.pause), settings, failing=failing):
        return StepKind.APART
    if not failing and state.last_wait > twin:
        return StepKind.APART
    if seen.is_acknowledged and not (previous and seen.writes):
        return StepKind.ACKNOWLEDGED_AGAIN if previous else StepKind.ACKNOWLEDGED_BACK
    if previous:
        return StepKind.AGAIN
    if state.last_act > twin:
        return StepKind.BACK_CHANGED
    soon = past.before_its_round(at) <= _RETRIED_WITHIN
    if soon and decision.tool and _tool_before(state, past) == bounded(decision.tool):
        return StepKind.RETRY
    return StepKind.BACK_TRIVIAL if not failing and seen.news.size < _FEWEST_WORDS else StepKind.BACK


def _tool_before(state: VerdictState, past: Past) -> str | None:
    """Return the tool of the step before, which is that of the first record of its round; bounded."""
    steps_back = 2 if past.start else 1
    return state.tools[-steps_back] if len(state.tools) >= steps_back else None


def _called_before(state: VerdictState, seen: SeenStep, past: Past, settings: VerdictSettings) -> StepKind:
    """Return the kind of a call that was made before, with other results."""
    at, news = past.called_at, seen.news
    if seen.act is Act.ASKS and news.size >= _RICH and (news.is_known or news.is_nearly_known):
        paused = is_pause(past.longest_pause(at, seen.pause), settings, failing=seen.failing)
        acted = state.last_act > state.judged + 1 - past.number_back(at)
        if not paused and not acted and not seen.moved:
            return StepKind.COUNTED
    return StepKind.AGAIN_OTHER if at == past.start else StepKind.RERUN


def _failed(state: VerdictState, seen: SeenStep, past: Past) -> VerdictStep:
    """Return what a call is that none of the records made, and that failed or was denied."""
    if not seen.decision.result:
        return _STEPS[StepKind.SILENT]
    failure = seen.failure or Failure.OTHER
    if seen.heard or seen.news.is_known or seen.news.is_nearly_known:
        return _as_before(
            state, StepKind.ABSENT_AGAIN if failure is Failure.ABSENT else StepKind.OLD_ERROR, past
        )
    last = state.failures.get(failure.value)
    if last is not None and state.judged + 1 - last <= _REMEMBERED_FAILURES:
        return _STEPS[StepKind.ABSENT_AGAIN if failure is Failure.ABSENT else StepKind.REFUSED_AGAIN]
    return _STEPS[StepKind.NEW_ERROR_ACTING if seen.act is Act.ACTS else StepKind.NEW_ERROR]


def _by_answer(state: VerdictState, seen: SeenStep, past: Past) -> VerdictStep:
    """Return what a call is that none of the records made, by what came of it."""
    news, text = seen.news, seen.decision.result_text or ""
    if seen.moved:
        return _STEPS[StepKind.NEW]
    nothing = not news.size or found_nothing(text)
    if nothing or news.size < _FEWEST_WORDS:
        return _STEPS[StepKind.FEW if news.fresh and not nothing else _little(state, seen)]
    if seen.is_acknowledged:
        known = news.is_known or news.is_nearly_known
        return _STEPS[StepKind.ACTED if known else StepKind.FEW]
    if seen.heard:
        return _as_before(state, StepKind.OLD_RESULT, past)
    if news.is_known or news.is_nearly_known:
        rich = news.size >= _RICH and not news.is_long
        return _STEPS[StepKind.OLD_WORDS if rich and not news.fresh else StepKind.LIKE]
    fresh = len(news.fresh)
    return _STEPS[StepKind.NEW if fresh >= _FEW or fresh == len(news.sample) else StepKind.FEW]


def _little(state: VerdictState, seen: SeenStep) -> StepKind:
    """Return what a step is that tells nothing new of its own."""
    if seen.act is Act.IDLES and state.idle >= IDLE_FREE:
        return StepKind.IDLE
    if asks_in_vain(seen) and state.known_words and state.in_vain >= NOTHING_FREE:
        return StepKind.NOTHING_FOUND
    if seen.is_acknowledged:
        return StepKind.ACTED
    return StepKind.ECHO if seen.decision.result else StepKind.SILENT


def asks_in_vain(seen: SeenStep) -> bool:
    """Tell whether a question was answered, if only by nothing; what was not captured is not judged."""
    return seen.act is Act.ASKS and seen.decision.result is not None and not seen.news.numbers


def _as_before(state: VerdictState, kind: StepKind, past: Past) -> VerdictStep:
    at = past.heard_at()
    return (
        _STEPS[kind] if at < 0 else _STEPS[kind]._replace(refers_to=past.offset_of(at, state.newest_offset))
    )
