"""A4: is the session in a loop, of which kind, and how sure is that?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from streams.core.detectors.detector import (
    Block,
    Detector,
    DetectorStanding,
    Eddy,
    Fields,
    Fired,
    Observation,
    Presentation,
    Rules,
    score_rule,
)
from streams.core.detectors.loop.settings import LoopSettings
from streams.core.domain.decision import Decision
from streams.core.domain.level import Level
from streams.core.domain.text.digest import COMPARED
from streams.core.domain.text.marks import Marks
from streams.core.domain.witness import (
    NOTHING_SCORED,
    DecisionLog,
    Obstacle,
    Reachability,
    RecordMaker,
    Witness,
    scored_status,
)


class LoopState(NamedTuple):
    """The tail of a session: how far back from the newest step each kind of sameness goes.

    The window (specification 5.4) is not stored. Each detector asks for a run that ends at the newest step,
    and what such a run has in the window is the shorter of the run and the window.

    Attributes:
        size: how many of the newest steps are in the window.
        signature: `Decision.signature` of the newest step. Of this and the other digests, `COMPARED` digits
            are kept.
        equal: length of the run of steps with that signature.
        action, action_before: `Decision.call_digest` of the newest step and of the one before it.
        alternating: length of the run in which these two actions take turns.
        marks: `Decision.step_marks` of the newest step.
        result: `Decision.result_digest` of the newest step.
        stuck: length of the run of steps without progress, 0 when the newest made some.
    """

    size: int = 0
    signature: str = ""
    equal: int = 0
    action: str = ""
    action_before: str = ""
    alternating: int = 0
    marks: str = ""
    result: str | None = None
    stuck: int = 0


def advance(state: LoopState, decision: Decision, window: int) -> LoopState:
    """Return the state with one more step.

    Args:
        state: the state until now.
        decision: the record of the newest step.
        window: setting `loop_window_size`, in records.
    """
    size, signature, equal, action, action_before, alternating, _, result, stuck = state
    newest, signed = decision.call_digest[:COMPARED], decision.signature[:COMPARED]
    shown = decision.result_digest
    if newest == action or size == 0:
        alternating = 1
    elif newest == action_before:
        alternating += 1
    else:
        alternating = 2
    return LoopState(
        size + 1 if size < window else window,
        signed,
        equal + 1 if signed == signature else 1,
        newest,
        action,
        alternating,
        str(decision.step_marks),
        None if shown is None else shown[:COMPARED],
        stuck + 1 if decision.is_without_progress(result) else 0,
    )


def shortened(state: LoopState) -> LoopState:
    """Return the state of an earlier version, which kept all digits of its digests."""
    kept = {name: getattr(state, name)[:COMPARED] for name in ("signature", "action", "action_before")}
    return state._replace(**kept)


# The same words in another order: alike at any threshold, and not the same call.
_REWORDED = ('{"q":"price list"}', '{"q":"list price"}')
_TURNS = ("open", "close")


class LoopRules(Rules[LoopSettings]):
    """A4 for each of the four detectors: can it find something?"""

    __slots__ = ()

    families: ClassVar[tuple[str, ...]] = ("A4",)

    def reachability(self, settings: LoopSettings) -> Iterator[Reachability]:
        """Yield a row for each of the four."""
        window = settings.loop_window_size
        off = not settings.enable_all_strategies
        for detector, needed, name in (
            ("exact_hash", settings.exact_hash_threshold, "exact_hash_threshold"),
            ("semantic", 2, ""),
            ("oscillation", 2 * settings.oscillation_threshold, "2 x oscillation_threshold"),
            ("dead_end", settings.dead_end_threshold, "dead_end_threshold"),
        ):
            disabled = off and detector != "exact_hash"
            shortest = needed if needed <= window and not disabled else None
            why = "enable_all_strategies is false" if disabled else f"{name} > loop_window_size"
            yield Reachability.of(f"A4:{detector}", Level.WARNING, shortest, why, disabled=disabled)

    def witness(
        self, row: Reachability, records: int, settings: LoopSettings, maker: RecordMaker
    ) -> Witness | Obstacle:
        """Repeat a step, reword it, take turns of two, or get nowhere."""
        status = scored_status(settings)
        if status is None:
            return NOTHING_SCORED

        def make(number: int) -> DecisionLog:
            tool, asked, state = "search", _REWORDED[0], None
            match row.part:
                case "semantic":
                    asked = _REWORDED[(number - 1) % 2]
                case "oscillation":
                    tool = _TURNS[(number - 1) % 2]
                case "dead_end":
                    asked, state = f'{{"q":"idea {number}"}}', {"progress_delta": 0.0}
            action = {"status": status, "tool_call": tool, "tool_input": asked}
            return maker.record(number, action, state=state)

        return Witness(records, make)

    def fires(
        self, row: Reachability, decision: Decision, block: Mapping[str, Any], settings: LoopSettings
    ) -> bool:
        """Tell whether the detector of the row found something in the record."""
        return block["all_detections"][row.part] is not None


OSCILLATION_CONFIDENCE = 0.95
DEAD_END_CONFIDENCE = 0.8


def exact_hash(state: LoopState, step: int, settings: LoopSettings) -> dict[str, Any] | None:
    """Detect the same call with the same status and result, again and again without a break.

    >>> DEFAULTS = LoopSettings()
    >>> exact_hash(LoopState(size=10, equal=2), 12, DEFAULTS)
    {'confidence': 1.0, 'steps': [11, 12]}
    """
    threshold = settings.exact_hash_threshold
    if state.equal < threshold or state.size < threshold:
        return None
    return _detection(1.0, min(state.equal, state.size), step)


def semantic(before: Marks, newest: Marks, step: int, settings: LoopSettings) -> dict[str, Any] | None:
    """Detect a step that shares nearly all its words with the one just before.

    >>> DEFAULTS = LoopSettings()
    >>> eight = "alpha beta gamma delta epsilon zeta eta theta".split()
    >>> semantic(Marks.of(eight), Marks.of([*eight, "iota"]), 2, DEFAULTS)
    {'confidence': 0.8889, 'steps': [1, 2]}
    """
    similarity = newest.similarity(before, settings.semantic_threshold)
    return None if similarity is None else _detection(similarity, 2, step)


def oscillation(state: LoopState, step: int, settings: LoopSettings) -> dict[str, Any] | None:
    """Detect two different actions that take turns, whatever their results are.

    `cycles` counts complete pairs.

    >>> DEFAULTS = LoopSettings()
    >>> oscillation(LoopState(size=10, alternating=7), 7, DEFAULTS)
    {'confidence': 0.95, 'steps': [1, 2, 3, 4, 5, 6, 7], 'cycles': 3}
    """
    threshold = settings.oscillation_threshold
    if state.alternating // 2 < threshold or state.size // 2 < threshold:
        return None
    run = min(state.alternating, state.size)
    cycles = run // 2
    return {**_detection(OSCILLATION_CONFIDENCE, run, step), "cycles": cycles}


def dead_end(state: LoopState, step: int, settings: LoopSettings) -> dict[str, Any] | None:
    """Detect a number of steps in a row that made no progress.

    >>> DEFAULTS = LoopSettings()
    >>> dead_end(LoopState(size=10, stuck=7), 9, DEFAULTS)
    {'confidence': 0.8, 'steps': [5, 6, 7, 8, 9]}
    """
    asked = settings.dead_end_threshold
    if state.stuck < asked or state.size < asked:
        return None
    return _detection(DEAD_END_CONFIDENCE, asked, step)


def _detection(confidence: float, run: int, step: int) -> dict[str, Any]:
    """Return what a detector reports: the last ``run`` steps, by number, oldest first."""
    return {"confidence": confidence, "steps": [*range(step - run + 1, step + 1)]}


class LoopPresentation(Presentation):
    """Which ways of looking found a loop, and in which steps. It emits no event."""

    __slots__ = ()

    def fired(self, block: Fields, tool: str) -> Iterator[Fired]:
        """Yield each way that found one."""
        for name, found in block["all_detections"].items():
            if found is not None:
                evidence = f"confidence {found['confidence']:g}, steps {_span(found['steps'])}"
                yield Fired(f"A4:{name}", Level.WARNING.value, evidence)


def _span(steps: Sequence[int]) -> str:
    return f"{steps[0]} to {steps[-1]}" if steps else "unknown"


#: What each detector advises, in the order in which they win a tie.
SUGGESTIONS = {
    "exact_hash": "The same call has been repeated with identical results. Try a different approach.",
    "semantic": "Very similar steps are being repeated. Change the approach, not the wording.",
    "oscillation": "Two steps alternate. Decide on one, or change both.",
    "dead_end": "No progress for several steps. The task may be impossible as stated.",
}
BREAK_ABOVE = 0.9


@dataclass(frozen=True, slots=True)
class Loop(Detector[LoopState, LoopSettings]):
    """Four detectors side by side over the newest `loop_window_size` steps, each asked of the newest one.

    exact_hash: the same call with the same outcome. semantic: nearly the same words as the step before.
    oscillation: two actions taking turns. dead_end: no progress for a while. The most confident one gives
    type, steps and suggestion, of equals the one named first; all are reported. Above a confidence of 0.9
    it recommends to break the loop at once. Without `enable_all_strategies` only exact_hash looks.

    Takes intent, tool, arguments, status and result, and what the record says of progress. Looks at every
    scored record.

    Source: specification 5.4 (document 002).

    >>> DEFAULTS = LoopSettings()
    >>> known = {
    ...     "session_id": "s",
    ...     "event_id": "e",
    ...     "meta": {"trace_id": "t", "timestamp": 0},
    ...     "identity": {"agent_id": "a", "agent_type": "coder"},
    ...     "cognition": {"intent": "Read file config.py"},
    ...     "action": {"status": "success", "tool_output_summary": "File not found"},
    ... }
    >>> detector, state = Loop(), Loop().fresh()
    >>> for step in (1, 2):
    ...     decision = Decision.of(0, step, known)
    ...     state, block, _ = detector.observe(state, decision, {"step": step}, DEFAULTS)
    >>> block["type"], block["confidence"], block["steps"]
    ('exact_hash', 1.0, [1, 2])
    """

    name: ClassVar[str] = "loop"
    rules = LoopRules()
    presentation = LoopPresentation()

    def fresh(self) -> LoopState:
        """Return a tail without steps."""
        return LoopState()

    def restore(self, stored: Sequence[Any]) -> LoopState:
        """Read back a state, also one of an earlier version, which kept more digits."""
        state = LoopState(*stored)
        return state if len(state.signature) <= COMPARED else shortened(state)

    def observe(
        self, state: LoopState, decision: Decision, eddy: Eddy, settings: LoopSettings
    ) -> Observation[LoopState]:
        """Add the step, ask each detector, and believe the most confident."""
        before, step = state.marks, eddy["step"]
        state = advance(state, decision, settings.loop_window_size)
        detections: dict[str, dict[str, Any] | None] = {
            "exact_hash": exact_hash(state, step, settings),
            "semantic": None,
            "oscillation": None,
            "dead_end": None,
        }
        if settings.enable_all_strategies:
            detections["semantic"] = semantic(Marks(before), decision.step_marks, step, settings)
            detections["oscillation"] = oscillation(state, step, settings)
            detections["dead_end"] = dead_end(state, step, settings)
        return state, _fused(detections), ()

    def most_bytes(self, settings: LoopSettings) -> int:
        """Return the bound of its windows."""
        return 0

    def standing(self, state: LoopState, settings: LoopSettings) -> DetectorStanding:
        """Return what the ways of looking that count something have counted."""
        rules = [score_rule("A4:exact_hash", state.equal, settings.exact_hash_threshold)]
        if settings.enable_all_strategies:
            rules += [
                score_rule("A4:oscillation", state.alternating // 2, settings.oscillation_threshold),
                score_rule("A4:dead_end", state.stuck, settings.dead_end_threshold),
            ]
        return DetectorStanding(rules=tuple(rules))


def _fused(detections: dict[str, dict[str, Any] | None]) -> Block:
    """Return the block: what the most confident detector says, of equals the first, and all of them."""
    type_, confidence, steps = None, 0.0, []
    for name, detection in detections.items():
        if detection is not None and detection["confidence"] > confidence:
            type_, confidence, steps = name, detection["confidence"], detection["steps"]
    return {
        "type": type_,
        "confidence": confidence,
        "detected": type_ is not None,
        "steps": [*steps],
        "suggestion": None if type_ is None else SUGGESTIONS[type_],
        "break_recommended": confidence > BREAK_ABOVE,
        "all_detections": detections,
    }


DETECTOR = Loop()
