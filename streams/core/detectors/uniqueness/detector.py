"""A1: how many of the newest decisions are different ones (FRD-009, specification 5.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log2
from typing import Any, ClassVar, NamedTuple

from streams.core.detectors.detector import (
    Block,
    Detector,
    DetectorStanding,
    Eddy,
    Fields,
    Fired,
    Meaning,
    Observation,
    Presentation,
    Rules,
)
from streams.core.detectors.uniqueness.settings import UniquenessSettings
from streams.core.domain.decision import Decision
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level
from streams.core.domain.number import r4, shannon_bits
from streams.core.domain.outcome import Finding
from streams.core.domain.shared_window import append, as_letters, counts, item_of
from streams.core.domain.status import LETTERS, STATUSES
from streams.core.domain.text.digest import MOST_JSON_BYTES, bounded
from streams.core.domain.text.printable import printable
from streams.core.domain.witness import (
    NOTHING_SCORED,
    DecisionLog,
    Obstacle,
    Reachability,
    RecordMaker,
    Witness,
    scored_status,
)


class UniquenessRules(Rules[UniquenessSettings]):
    """A1 for LOOP and for WARNING: can the uniqueness ratio fall low enough?"""

    __slots__ = ()

    families: ClassVar[tuple[str, ...]] = ("A1",)

    def reachability(self, settings: UniquenessSettings) -> Iterator[Reachability]:
        """Yield a row for LOOP and for WARNING."""
        loop, warning = settings.entropy_loop_threshold, settings.entropy_warning_threshold
        sizes = range(1, settings.entropy_window_size + 1)
        shortest = next((n for n in sizes if r4(1 / n) < loop), None)
        yield Reachability.of(
            "A1", Level.LOOP, shortest, "entropy_window_size too small for entropy_loop_threshold"
        )
        shortest = next((n for n in sizes if _least_ratio(n, loop) < warning), None)
        between = "between entropy_loop_threshold and entropy_warning_threshold in entropy_window_size"
        yield Reachability.of("A1", Level.WARNING, shortest, f"no ratio lies {between}")

    def witness(
        self, row: Reachability, records: int, settings: UniquenessSettings, maker: RecordMaker
    ) -> Witness | Obstacle:
        """Decide as many different things as the level takes, the last of them again and again."""
        status = scored_status(settings)
        if status is None:
            return NOTHING_SCORED
        loop, warning = settings.entropy_loop_threshold, settings.entropy_warning_threshold
        different = 1
        if row.level == Level.WARNING:
            different = next(u for u in range(1, records + 1) if loop <= r4(u / records) < warning)

        def make(number: int) -> DecisionLog:
            idea = f"try idea {min(number, different)}"
            return maker.record(number, {"status": status, "tool_call": "search"}, intent=idea)

        return Witness(records, make)

    def fires(
        self, row: Reachability, decision: Decision, block: Mapping[str, Any], settings: UniquenessSettings
    ) -> bool:
        """Tell whether the record stands at this level."""
        return bool(block["severity"] == row.level)


def _least_ratio(size: int, floor: float) -> float:
    """Return the least r4(u / size), u = 1 .. size, that is not below ``floor``; 2.0 when none is."""
    start = max(1, math.floor((floor - 1e-4) * size))
    return next((ratio for u in range(start, size + 1) if (ratio := r4(u / size)) >= floor), 2.0)


class UniquenessPresentation(Presentation):
    """The most frequent decision of the window, and how often it occurs."""

    __slots__ = ()

    events: ClassVar[tuple[EventKind, ...]] = (EventKind.ENTROPY_ALERT,)

    def meaning(self, fields: Fields) -> Meaning:
        """Return that an alert is news unless `alert_every_record` is the only reason for it."""
        return Meaning(alert=fields["event_type"], news=fields["reason"] != "every_record")

    def sentence(self, fields: Fields) -> str:
        """Return how many steps are the same, and which."""
        pattern = fields["repeated_pattern"]
        intent = printable(pattern["intent"], 60) or "no intent"
        tool = printable(pattern["tool_call"], 40) or "no tool"
        return (
            f"{fields['occurrence_count']} of the last {fields['window_size']} steps are the same: "
            f"“{intent}”, {tool}, {pattern['action_status']}"
        )

    def fired(self, block: Fields, tool: str) -> Iterator[Fired]:
        """Yield A1 for each record below a threshold: it alerts only some of them."""
        if block["severity"] != Level.NORMAL:
            yield Fired("A1", block["severity"], self.sentence(block))

    def summary(self, block: Fields) -> str:
        """Return score and severity."""
        return f"{block['score']:g} {block['severity']}"

    def objection(self, block: Fields) -> str:
        """Return that decisions repeat."""
        if block["severity"] == Level.NORMAL:
            return ""
        score, severity = block["score"], block["severity"]
        return f"its decisions repeat (uniqueness {score:g}, {severity}): calls or results differ"


def decided(intent: str, tool: str | None, status: str) -> str:
    """Return the text: the letter of the status, the length of the tool unless it is null, tool and intent.

    Args:
        intent: bounded, as the tool is.
        tool: None is another tool than the empty one.
        status: the status, or its letter already.

    >>> decided("list files", "ls", "success"), decided("", "", "failure"), decided("think", None, "success")
    ('s2:lslist files', 'f0:', 's:think')
    """
    letter = LETTERS.get(status, status)
    return f"{letter}:{intent}" if tool is None else f"{letter}{len(tool)}:{tool}{intent}"


def pattern_of(text: str) -> dict[str, str]:
    """Return what was decided, with the names of a report; no tool is reported as the empty one.

    >>> pattern_of("s2:lslist files")
    {'intent': 'list files', 'tool_call': 'ls', 'action_status': 'success'}
    """
    at = text.index(":")
    tool = at + 1 + int(text[1:at] or 0)
    return {"intent": text[tool:], "tool_call": text[at + 1 : tool], "action_status": STATUSES[text[0]]}


_NORMAL, _WARNING, _LOOP = (level.value for level in Level)
_LEVELS = {level.value: level for level in Level}


class UniquenessState(NamedTuple):
    """What A1 keeps of a session.

    Attributes:
        tuples, order: the window (`streams.core.domain.shared_window`) of the newest decisions, each as one
            text (`streams.core.detectors.uniqueness.detector`).
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

    def standing(self, state: UniquenessState, settings: UniquenessSettings) -> DetectorStanding:
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
