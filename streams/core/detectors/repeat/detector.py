"""A2: the same tool, or the same kind of step, again and again without a break (specification 5.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar, NamedTuple, TypeAlias

from streams.core.detectors.detector import (
    Detector,
    DetectorStanding,
    Eddy,
    Fields,
    Meaning,
    Observation,
    Presentation,
    Rules,
    score_rule,
)
from streams.core.detectors.repeat.settings import RepeatDedup, RepeatSettings
from streams.core.domain.decision import Decision
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level
from streams.core.domain.outcome import Finding
from streams.core.domain.shared_window import append, as_letters, item_of
from streams.core.domain.text.digest import MOST_JSON_BYTES, bounded, digest
from streams.core.domain.text.printable import printable
from streams.core.domain.witness import (
    NOTHING_SCORED,
    Obstacle,
    Reachability,
    RecordMaker,
    Witness,
    scored_status,
)

_NEVER = 999


class RepeatRules(Rules[RepeatSettings]):
    """A2 for each kind that has a threshold: can a run of equal calls be long enough?"""

    __slots__ = ()

    families: ClassVar[tuple[str, ...]] = ("A2",)

    def reachability(self, settings: RepeatSettings) -> Iterator[Reachability]:
        """Yield a row for each kind that has a threshold."""
        for kind, threshold in settings.repeat_thresholds.items():
            shortest = threshold if threshold <= settings.repeat_ring_size else None
            why = f"repeat_thresholds.{kind} > repeat_ring_size"
            yield Reachability.of(f"A2:{kind}", Level.WARNING, shortest, why, disabled=threshold == _NEVER)

    def witness(
        self, row: Reachability, records: int, settings: RepeatSettings, maker: RecordMaker
    ) -> Witness | Obstacle:
        """Do a step of the kind again and again; ``default`` is any kind without a threshold of its own."""
        status = scored_status(settings)
        if status is None:
            return NOTHING_SCORED
        kind = row.part
        if not kind:
            return Obstacle("a record whose kind is empty counts as tool or llm")
        if kind == "default":
            kind = next(name for n in count(1) if (name := f"kind_{n}") not in settings.repeat_thresholds)
        action = {"status": status, "kind": kind}
        if kind == "tool":
            action["tool_call"] = "search"
        return Witness(records, lambda number: maker.record(number, action))

    def fires(
        self, row: Reachability, decision: Decision, block: Mapping[str, Any], settings: RepeatSettings
    ) -> bool:
        """Tell whether the record is one of the kind, and diverged."""
        kind = decision.kind if decision.kind in settings.repeat_thresholds else "default"
        return bool(block["fired"]) and row.part == kind


class RepeatPresentation(Presentation):
    """What was called, and how many times in a row."""

    __slots__ = ()

    events: ClassVar[tuple[EventKind, ...]] = (EventKind.DIVERGENCE_SUSPECTED,)

    def meaning(self, fields: Fields) -> Meaning:
        """Return that the rule of its kind fired.

        It goes by the name of a tool alone. Nearly every session calls one tool three times in a row, so
        that marks no session.
        """
        rule = f"A2:{fields['signature'][0]}"
        return Meaning(alert=fields["event_type"], fired=(rule, Level.WARNING.value), names_session=False)

    def sentence(self, fields: Fields) -> str:
        """Return the length of the run.

        >>> RepeatPresentation().sentence({"signature": ["tool", "Read"], "repeat_count": 3})
        'Read was called 3 times in a row'
        """
        kind, name = fields["signature"]
        return f"{printable(name or kind, 40)} was called {fields['repeat_count']} times in a row"

    def summary(self, block: Fields) -> str:
        """Return the run and its limit."""
        return f"run of {block['run_length']}, fires at {block['threshold']}"


_MOST_EMITTED = 256
_LONGEST_MARK = 64


Signature: TypeAlias = str | Sequence[str]
# Most signatures are of this kind.
_TOOL = "tool"


class RepeatState(NamedTuple):
    """What A2 keeps of a session. A signature is [kind, tool or ""], of a tool its name; long texts bounded.

    Attributes:
        signatures, ring: the window (`streams.core.domain.shared_window`) of the newest signatures.
        run_length: how many records the newest signature has been repeating for.
        emitted: marks (`_mark`) of the signatures that were told, oldest first; the newest 256.
    """

    signatures: Sequence[Signature | None] = ()
    ring: str = ""
    run_length: int = 0
    emitted: Sequence[Signature] = ()


@dataclass(frozen=True, slots=True)
class Repeat(Detector[RepeatState, RepeatSettings]):
    """The run of equal (kind, tool) at the end of the newest `repeat_ring_size` records.

    Catches an agent that calls one tool, or only thinks, without end. Arguments, status and result do not
    matter. A run that reaches `repeat_thresholds` of its kind is told once per signature and session, or once
    more after the signature has left the ring when `repeat_dedup` is ``rearm``. Kinds and tool names longer
    than 1,024 characters are kept and shown as their beginning and their digest.

    Looks at every scored record, with or without a cognition.

    Source: specification 5.2 (document 000).

    >>> DEFAULTS = RepeatSettings()
    >>> known = {
    ...     "session_id": "s",
    ...     "event_id": "e",
    ...     "meta": {"trace_id": "t", "timestamp": 0},
    ...     "identity": {"agent_id": "a", "agent_type": "coder"},
    ...     "action": {"status": "success", "tool_call": "call_api"},
    ... }
    >>> detector, state, fired = Repeat(), Repeat().fresh(), []
    >>> for offset in range(5):
    ...     decision = Decision.of(0, offset, known)
    ...     state, block, _ = detector.observe(state, decision, {}, DEFAULTS)
    ...     fired.append(block["fired"])
    >>> fired
    [False, False, True, False, False]
    """

    name: ClassVar[str] = "repeat"
    rules = RepeatRules()
    presentation = RepeatPresentation()

    def fresh(self) -> RepeatState:
        """Return an empty ring, nothing emitted."""
        return RepeatState()

    def restore(self, stored: Sequence[Any]) -> RepeatState:
        """Read back a state, also one of an earlier version, which kept lists."""
        signatures, ring, run_length, emitted = stored
        if type(ring) is str:
            return RepeatState(*stored)
        short = [None if each is None else _signature(*each) for each in signatures]
        kept = [each if len(each) == 1 else _signature(*each) for each in emitted]
        return RepeatState(short, as_letters(ring), run_length, kept)

    def observe(
        self,
        state: RepeatState,
        decision: Decision,
        eddy: Eddy,
        settings: RepeatSettings,
    ) -> Observation[RepeatState]:
        """Count the record in; tell a run that reached its threshold."""
        signatures, ring, run_length, emitted = state
        kind, pair = decision.kind, [bounded(decision.kind), bounded(decision.tool_call or "")]
        signature = _signature(*pair)
        newest = ring[-1:]
        signatures, ring = append(signatures, ring, signature, settings.repeat_ring_size)
        # The ring holds two calls at least, so the letter before is still that of the call before.
        run_length = run_length + 1 if ring[-1] == newest else 1
        if emitted and settings.repeat_dedup is RepeatDedup.rearm:
            ringing = [_mark(each) for each in signatures if each is not None]
            emitted = [kept for kept in emitted if kept in ringing]

        # The ring ends with the run, so the run is what its tail has in common, as far as the ring goes.
        repeat_count = min(run_length, len(ring))
        thresholds = settings.repeat_thresholds
        threshold = thresholds[kind] if kind in thresholds else thresholds["default"]
        fired = repeat_count >= threshold and _mark(signature) not in emitted
        if fired:
            emitted = [*emitted, _mark(signature)][-_MOST_EMITTED:]
        block = {
            "signature": pair,
            "repeat_count": repeat_count,
            "run_length": run_length,
            "threshold": threshold,
            "fired": fired,
            "divergence_emitted_count": len(emitted),
        }
        findings = (_divergence(signature, repeat_count, decision.session_id),) if fired else ()
        return RepeatState(signatures, ring, run_length, emitted), block, findings

    def most_bytes(self, settings: RepeatSettings) -> int:
        """Return the bound of its windows."""
        return settings.repeat_ring_size * (2 * MOST_JSON_BYTES + 20)

    def standing(self, state: RepeatState, settings: RepeatSettings) -> DetectorStanding:
        """Return the run of the newest signature and its limit."""
        scores = {"run_length": state.run_length, "divergence_emitted_count": len(state.emitted)}
        if not state.ring:
            return DetectorStanding(scores)
        kind, tool = _pair(item_of(state.signatures, state.ring[-1]) or ("", ""))
        thresholds = settings.repeat_thresholds
        limit = thresholds.get(kind, thresholds["default"])
        return DetectorStanding(scores, (score_rule(f"A2:{kind}", state.run_length, limit, tool or None),))


def _signature(kind: str, tool: str) -> Signature:
    return tool if kind == _TOOL and tool else [kind, tool]


def _pair(signature: Signature) -> Sequence[str]:
    """Return kind and tool."""
    return (_TOOL, signature) if isinstance(signature, str) else signature


def _mark(signature: Signature) -> Signature:
    """Return what stands for a signature among those told: itself, or its digest when it is long."""
    kind, tool = _pair(signature)
    if len(kind) + len(tool) <= _LONGEST_MARK:
        return signature
    return [digest(f"{kind}\0{tool}") or ""]


def _divergence(signature: Signature, repeat_count: int, session_id: str) -> Finding:
    return Finding(
        EventKind.DIVERGENCE_SUSPECTED,
        {
            "severity": "warn",
            "signature": [*_pair(signature)],
            "repeat_count": repeat_count,
            "chain_id": session_id,
        },
    )


DETECTOR = Repeat()
