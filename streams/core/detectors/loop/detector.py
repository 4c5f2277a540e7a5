"""A4: is the session in a loop, of which kind, and how sure is that?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from streams.core.detectors.detector import Block, Detector, Eddy, Observation
from streams.core.detectors.loop.presentation import LoopPresentation
from streams.core.detectors.loop.resolutions import dead_end, exact_hash, oscillation, semantic
from streams.core.detectors.loop.rules import LoopRules
from streams.core.detectors.loop.settings import LoopSettings
from streams.core.detectors.loop.state import LoopState, advance, shortened
from streams.core.detectors.standing import DetectorStanding, score_rule
from streams.core.domain.decision import Decision
from streams.core.domain.text.digest import COMPARED
from streams.core.domain.text.marks import Marks

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

    def most_bytes(self, settings: LoopSettings) -> int:  # noqa: ARG002 - its window is a few counters
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
