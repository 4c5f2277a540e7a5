"""A1: how many of the newest decisions are different ones (FRD-009, specification 5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log2
from typing import Any, ClassVar, NamedTuple

from streams.core.detectors.detector import Block, Detector, Eddy, Observation
from streams.core.detectors.standing import DetectorStanding
from streams.core.detectors.uniqueness.decided import decided, pattern_of
from streams.core.detectors.uniqueness.presentation import UniquenessPresentation
from streams.core.detectors.uniqueness.rules import UniquenessRules
from streams.core.detectors.uniqueness.settings import UniquenessSettings
from streams.core.domain.decision import Decision
from streams.core.domain.entropy import shannon_bits
from streams.core.domain.event import EventKind, Finding
from streams.core.domain.level import Level
from streams.core.domain.number import r4
from streams.core.domain.shared_window import append, as_letters, counts, item_of
from streams.core.domain.text.bounded import MOST_JSON_BYTES, bounded

_NORMAL, _WARNING, _LOOP = (level.value for level in Level)
_LEVELS = {level.value: level for level in Level}


class UniquenessState(NamedTuple):
    """What A1 keeps of a session.

    Attributes:
        tuples, order: the window (`streams.core.domain.shared_window`) of the newest decisions, each as one
            text (`streams.core.detectors.uniqueness.decided`).
        severity: level of the last scored record.
        alerted: whether the LOOP the session is in has been alerted.
        since: LOOP records with an agent after the one that was alerted as entered.
    """

    tuples: Sequence[str | None] = ()
    order: str = ""
    severity: str = _NORMAL
    alerted: bool = False
    since: int = 0


@dataclass(frozen=True, slots=True)
class Uniqueness(Detector[UniquenessState, UniquenessSettings]):
    """The share of different (intent, tool_call, status) among the newest `entropy_window_size` records.

    Catches an agent that decides the same thing again and again, whatever arguments and results are.
    Texts are compared exactly; a null tool equals only a null tool. Intents and tool names longer than 1,024
    characters are kept, and shown in `repeated_pattern`, as their beginning and their digest.

    Looks at records with a cognition. A blank agent_id advances window and severity, but is never alerted.

    Source: FRD-009 FR-9.2 to 9.7, specification 5.1.

    >>> DEFAULTS = UniquenessSettings()
    >>> known = {
    ...     "session_id": "s",
    ...     "event_id": "e",
    ...     "meta": {"trace_id": "t", "timestamp": 0},
    ...     "identity": {"agent_id": "a", "agent_type": "coder"},
    ...     "cognition": {"intent": "search"},
    ...     "action": {"status": "failure", "tool_call": "grep"},
    ... }
    >>> detector, state, scores = Uniqueness(), Uniqueness().fresh(), []
    >>> for offset in range(5):
    ...     decision = Decision.of(0, offset, known)
    ...     state, block, _ = detector.observe(state, decision, {}, DEFAULTS)
    ...     scores.append(block["score"])
    >>> scores, state.severity
    ([1.0, 0.5, 0.3333, 0.25, 0.2], 'LOOP')
    """

    name: ClassVar[str] = "uniqueness"
    rules = UniquenessRules()
    presentation = UniquenessPresentation()
    reads: ClassVar[tuple[str, ...]] = ("verdict",)

    def fresh(self) -> UniquenessState:
        """Return an empty window, NORMAL."""
        return UniquenessState()

    def restore(self, stored: Sequence[Any]) -> UniquenessState:
        """Read back a state, also one of an earlier version, which kept lists."""
        tuples, order, *others = stored
        if type(order) is str:
            return UniquenessState(*stored)
        texts = [None if each is None else decided(*each) for each in tuples]
        return UniquenessState(texts, as_letters(order), *others)

    def level(self, state: UniquenessState) -> Level:
        """Return the severity of the last scored record."""
        return _LEVELS[state.severity]

    def observe(
        self, state: UniquenessState, decision: Decision, eddy: Eddy, settings: UniquenessSettings
    ) -> Observation[UniquenessState] | None:
        """Score a record that has a cognition; alert a LOOP."""
        intent, tool = decision.intent, decision.tool_call
        if intent is None:
            return None
        intent, tool = bounded(intent), None if tool is None else bounded(tool)
        newest = decided(intent, tool, decision.status)
        tuples, order = append(state.tuples, state.order, newest, settings.entropy_window_size)
        different = len(tuples) - tuples.count(None)
        if different in {1, len(order)}:
            # All alike or all different: each occurs equally often, and of equals the newest counts.
            figures = _figures((len(order) // different,) * different)
            pattern = {"intent": intent, "tool_call": tool or "", "action_status": decision.status}
        else:
            counted = counts(order)
            figures = _figures(tuple(counted.values()))
            pattern = pattern_of(_most_frequent(tuples, order, counted, figures.most))
        score = figures.score
        if score < settings.entropy_loop_threshold:
            severity = _LOOP
        else:
            severity = _WARNING if score < settings.entropy_warning_threshold else _NORMAL
        block = {
            "score": score,
            "severity": severity,
            "window_size": len(order),
            "unique_count": different,
            "repeated_pattern": pattern,
            "occurrence_count": figures.most,
            "entropy_normalised": figures.entropy_normalised,
            "shannon_bits": figures.shannon_bits,
            "shannon_normalised": figures.shannon_normalised,
        }
        if severity != _LOOP:
            return UniquenessState(tuples, order, severity), block, ()
        if not decision.has_agent:
            return UniquenessState(tuples, order, severity, state.alerted, state.since), block, ()
        since = state.since + 1 if state.alerted else 0
        reason = _reason(since, settings)
        findings = () if reason is None else (_alert(block, eddy, reason),)
        return UniquenessState(tuples, order, severity, True, since), block, findings

    def most_bytes(self, settings: UniquenessSettings) -> int:
        """Return the bound of its windows."""
        return settings.entropy_window_size * (2 * MOST_JSON_BYTES + 30)

    def standing(self, state: UniquenessState, settings: UniquenessSettings) -> DetectorStanding:  # noqa: ARG002
        """Return the score of the window."""
        size = len(state.order)
        different = len(state.tuples) - state.tuples.count(None)
        score = r4(different / size) if size else None
        return DetectorStanding({"score": score, "severity": state.severity, "window_size": size})


class _Figures(NamedTuple):
    score: float
    most: int
    entropy_normalised: float
    shannon_bits: float
    shannon_normalised: float


@lru_cache(maxsize=1024)
def _figures(counted: tuple[int, ...]) -> _Figures:
    """Compute what depends only on how often each tuple occurs, oldest first (specification 5.1)."""
    size, unique = sum(counted), len(counted)
    bits = shannon_bits(counted)
    return _Figures(
        score=r4(unique / size),
        most=max(counted),
        entropy_normalised=r4((unique - 1) / (size - 1)) if size > 1 else 1.0,
        shannon_bits=r4(bits),
        shannon_normalised=r4(bits / log2(size)) if size > 1 else 1.0,
    )


def _most_frequent(tuples: Sequence[str | None], order: str, counted: dict[str, int], most: int) -> str:
    """Return the most frequent decision, of equals the one whose last occurrence is newest."""
    return item_of(tuples, next(each for each in reversed(order) if counted[each] == most)) or ""


def _reason(since: int, settings: UniquenessSettings) -> str | None:
    """Why this LOOP record is alerted, None when it is not (specification 7.1, 7.2)."""
    if since == 0:
        return "entered"
    if settings.alert_every_record:
        return "every_record"
    beat = settings.alert_heartbeat_records
    return "heartbeat" if beat and since % beat == 0 else None


def _alert(block: Block, eddy: Eddy, reason: str) -> Finding:
    verdict = eddy.get("verdict", _NO_VERDICT)
    return Finding(
        EventKind.ENTROPY_ALERT,
        {
            "entropy_score": block["score"],
            "window_size": block["window_size"],
            "repeated_pattern": block["repeated_pattern"],
            "occurrence_count": block["occurrence_count"],
            "verdict_level": verdict["level"],
            "episode_id": verdict["episode_id"],
            "reason": reason,
        },
    )


_NO_VERDICT: Block = {"level": _NORMAL, "episode_id": None}


DETECTOR = Uniqueness()
