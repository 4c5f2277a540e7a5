"""The pure pipeline with everything on, part by part: no broker, no engine, one process.

Each round judges other sessions, whose records come in turns: a run at a time, as a worker does, and record
by record. The same records go through one part after another, each part over a run at once. The rest of
`steps` is its frame, and what its parts take longer in turns than each by itself. The least of several passes
over a run, and of the rounds, counts: what disturbs only ever adds. Garbage is collected as rarely as in a
worker.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import naive
from benchmarks.agent_sessions import AgentSession, sessions
from benchmarks.workload import UnusableWorkloadError
from schemas.codec import Codec
from streams.core.detectors.detector import Detector, Layer
from streams.core.detectors.registry import DETECTORS
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.decision import Decision
from streams.core.domain.outcome import Rejected, Scored
from streams.core.domain.record import Record
from streams.core.domain.session import Session
from streams.core.domain.topic import Topic
from streams.core.pipeline import Step, admit, step, steps
from streams.formats.reading import entries
from streams.worker.batch import TOGETHER
from streams.worker.garbage import collect_rarely
from streams.worker.state.changelog import encode_session

Results = dict[str, Any]

#: Records of each session.
LENGTH = 50

# Passes over all runs: what disturbs the machine for longer than a run, it does not disturb in every pass.
_PASSES = 4

#: The parts of `steps` that are text work, and the values of a record that belong to them.
TEXT = {
    "normalise the result": ("result_text", "result"),
    "canonical form and signature": ("canonical_input", "result_digest", "call", "call_digest", "signature"),
    "words and marks": ("step_marks", "added"),
}

#: Rows of the table in their order; those of the text and of the detectors make up `steps`.
PARTS = (
    "decode",
    "admit",
    *TEXT,
    *(detector.name for detector in DETECTORS),
    "rest of steps",
    "encode the enriched record",
    "encode events",
)


class _Item(NamedTuple):
    key: str
    encoded: bytes
    session: int


class _Cpu:
    """CPU seconds by part and run, in the order of the runs; of several passes over them the least."""

    def __init__(self) -> None:
        self._least: dict[str, list[float]] = {}
        self._at: dict[str, int] = {}

    def again(self) -> None:
        """Begin the next pass over the same runs."""
        self._at = {}

    def time(self, part: str, work: Callable[[], Any]) -> Any:
        started = time.thread_time()
        done = work()
        spent = time.thread_time() - started
        at = self._at.get(part, 0)
        self._at[part] = at + 1
        runs = self._least.setdefault(part, [])
        if at == len(runs):
            runs.append(spent)
        else:
            runs[at] = min(runs[at], spent)
        return done

    def seconds(self) -> dict[str, float]:
        """Return the sum over all runs by part."""
        return {part: sum(runs) for part, runs in self._least.items()}


def measure(*, quick: bool, trajectories: Path | None) -> list[Results]:
    """Measure results of 200 bytes and of 2 kB, and recorded trajectories if there are any."""
    rounds, count = (1, 8) if quick else (2, 16)
    with collecting_rarely():
        cases = [
            _case(f"results of {name}", [sessions(count, LENGTH, size, seed) for seed in range(rounds)])
            for name, size in (("200 B", 200), ("2 kB", 2_000))
        ]
        if trajectories is not None:
            cases.append(_case("recorded trajectories", [_recorded(trajectories)]))
        return cases


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Collect garbage as rarely as a worker, for as long as the block lasts."""
    before = gc.get_threshold()
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _case(name: str, rounds: Sequence[Sequence[AgentSession]]) -> Results:
    lowest: dict[str, float] = {}
    stored = _Stored()
    characters: list[int] = []
    for told in rounds:
        seconds, lengths = _round(told, stored)
        characters += lengths
        for part, spent in seconds.items():
            spent_us = spent / len(lengths) * 1e6
            lowest[part] = min(spent_us, lowest.get(part, spent_us))
    return {
        "case": name,
        "records": len(characters),
        "result_characters": statistics.median(characters),
        "parts_us": {part: lowest[part] for part in PARTS},
        "snapshot_us": lowest["snapshot"],
        "whole_us": lowest["whole"],
        "singly_us": lowest["singly"],
        "naive_us": {part: lowest[part] for part in lowest if part.startswith("naive ")},
        "state_bytes": stored.figures(),
    }


class _Stored:
    """Bytes of sessions after `LENGTH` records, or at their end; by kind of session."""

    def __init__(self) -> None:
        self._sizes: dict[str, list[int]] = {}

    def add(self, session: Session, *, looping: bool) -> None:
        size = len(encode_session(session))
        self._sizes.setdefault("looping" if looping else "healthy", []).append(size)

    def figures(self) -> Results:
        return {
            kind: {
                "median": statistics.median(sizes),
                "p99": sorted(sizes)[min(len(sizes) - 1, int(len(sizes) * 0.99))],
            }
            for kind, sizes in sorted(self._sizes.items())
        }


def _round(told: Sequence[AgentSession], stored: _Stored) -> tuple[dict[str, float], list[int]]:
    """Judge some sessions, their records in turns; return seconds by part and the lengths of the results."""
    codecs = _codecs()
    write = Codec.bundled().encoder(f"{Topic.DECISION_LOGS}-value").encode
    items = [
        _Item(value["session_id"], write(value), number)
        for turn in range(max(len(session.records) for session in told))
        for number, session in enumerate(told)
        if turn < len(session.records)
        for value in (session.records[turn],)
    ]
    cpu = _Cpu()
    runs = [(start, items[start : start + TOGETHER]) for start in range(0, len(items), TOGETHER)]
    for _ in range(_PASSES):
        cpu.again()
        held: dict[str, Session] = {}
        for start, run in runs:
            cpu.time("whole", lambda start=start, run=run, held=held: _whole(start, run, held, codecs))
        singly: dict[str, Session] = {}
        for start, run in runs:
            cpu.time("singly", lambda start=start, run=run, held=singly: _singly(start, run, held, codecs))
        by_parts = _ByParts(cpu, codecs)
        lengths = [length for start, run in runs for length in by_parts.run(start, run)]
    for session in told:
        stored.add(held[session.records[0]["session_id"]], looping=session.looping)
    seconds = cpu.seconds()
    inside = [seconds[part] for part in (*TEXT, *(detector.name for detector in DETECTORS))]
    seconds["rest of steps"] = max(0.0, seconds["steps"] - sum(inside))
    return seconds, lengths


class _Codecs(NamedTuple):
    decode: Callable[[bytes], dict[str, Any]]
    encoders: dict[str, Callable[[dict[str, Any]], bytes]]


def _codecs() -> _Codecs:
    codec = Codec.bundled()
    decode = codec.decoder(f"{Topic.DECISION_LOGS}-value").decode
    return _Codecs(decode, {topic: codec.encoder(f"{topic}-value").encode for topic in _TOPICS})


def _whole(start: int, items: Sequence[_Item], held: dict[str, Session], codecs: _Codecs) -> None:
    """Do everything for a run of records, the first of which has this offset."""
    decisions = [
        _admitted(item.key, offset, codecs.decode(item.encoded)) for offset, item in enumerate(items, start)
    ]
    for done in steps(held.get, decisions, DEFAULTS):
        _put(done, held, codecs)


def _singly(start: int, items: Sequence[_Item], held: dict[str, Session], codecs: _Codecs) -> None:
    """Do everything for one record after another, the first of which has this offset."""
    for offset, item in enumerate(items, start):
        decision = _admitted(item.key, offset, codecs.decode(item.encoded))
        _put(step(held.get(item.key), decision, DEFAULTS), held, codecs)


def _put(done: Step, held: dict[str, Session], codecs: _Codecs) -> None:
    outcome = done.outcome
    assert isinstance(outcome, Scored)
    held[outcome.decision.session_id] = done.session
    codecs.encoders[Topic.ENRICHED](outcome.enriched)
    for event in outcome.events:
        if event.topic is not None:
            codecs.encoders[event.topic](event.fields)


_TOPICS = (
    Topic.ENRICHED,
    Topic.ENTROPY_ALERTS,
    Topic.SESSION_ALERTS,
    Topic.TOPOLOGY,
    Topic.SESSION_BUDGETS,
    Topic.SESSION_RESPONSES,
)


def _admitted(key: str, offset: int, value: dict[str, Any]) -> Decision:
    decision = admit(Record(0, offset, key, value["meta"]["timestamp"], value), DEFAULTS)
    if isinstance(decision, Rejected):
        raise UnusableWorkloadError(decision.problems)
    return decision


class _ByParts:
    """The parts one after another, each over a whole run of records as a worker meets them."""

    def __init__(self, cpu: _Cpu, codecs: _Codecs) -> None:
        self._cpu = cpu
        self._decode, self._encoders = codecs
        self._held: dict[str, Session] = {}
        self._states: dict[str, dict[str, Any]] = {detector.name: {} for detector in DETECTORS}

    def run(self, start: int, items: Sequence[_Item]) -> list[int]:
        """Judge a run whose first record has this offset; return the lengths of its results."""
        cpu, encoders = self._cpu, self._encoders
        keys, offsets = [item.key for item in items], range(start, start + len(items))
        values = cpu.time("decode", lambda: [self._decode(item.encoded) for item in items])
        decisions = cpu.time("admit", lambda: [*map(_admitted, keys, offsets, values)])
        outcomes = cpu.time("steps", lambda: self._steps(decisions))
        self._inside(outcomes, [*map(_admitted, keys, offsets, values)])
        cpu.time("snapshot", lambda: [encode_session(self._held[key]) for key in keys])
        encode = encoders[Topic.ENRICHED]
        records = [outcome.enriched for outcome in outcomes]
        cpu.time("encode the enriched record", lambda: [encode(record) for record in records])
        events = [event for outcome in outcomes for event in outcome.events if event.topic is not None]
        cpu.time("encode events", lambda: [encoders[event.topic](event.fields) for event in events])

        texts = [outcome.decision.result_text or "" for outcome in outcomes]
        cpu.time("naive patterns", lambda: [naive.normalised(text) for text in texts])
        cpu.time("naive tokens", lambda: [naive.words(text) for text in texts])
        cpu.time("naive encode", lambda: [naive.encoded(record) for record in records])
        return [*map(len, texts)]

    def _steps(self, decisions: Sequence[Decision]) -> list[Scored]:
        outcomes = []
        for session, outcome in steps(self._held.get, decisions, DEFAULTS):
            assert isinstance(outcome, Scored)
            self._held[outcome.decision.session_id] = session
            outcomes.append(outcome)
        return outcomes

    def _inside(self, outcomes: Sequence[Scored], decisions: Sequence[Decision]) -> None:
        """Time the text work that the outcomes needed, then each detector with the text work done."""
        pairs = [*zip(decisions, outcomes, strict=True)]
        for part, names in TEXT.items():
            asked = [
                (name, [decision for decision, outcome in pairs if name in outcome.decision.__dict__])
                for name in names
            ]
            self._cpu.time(part, lambda asked=asked: [_read(name, some) for name, some in asked])
        for detector in DETECTORS:
            judges = detector.layer is Layer.JUDGES
            shown = [
                (decision, outcome.enriched["eddy"])
                for decision, outcome in pairs
                if judges or outcome.enriched["eddy"]["step"] is not None
            ]
            self._cpu.time(
                detector.name, lambda detector=detector, shown=shown: self._observe(detector, shown)
            )

    def _observe(
        self, detector: Detector[Any, Any], shown: Sequence[tuple[Decision, dict[str, Any]]]
    ) -> None:
        states = self._states[detector.name]
        for decision, eddy in shown:
            state = states.get(decision.session_id)
            if state is None:
                state = detector.begin(DEFAULTS)
            seen = detector.observe(state, decision, eddy, DEFAULTS)
            states[decision.session_id] = state if seen is None else seen[0]


def _read(name: str, decisions: Iterable[Decision]) -> None:
    for decision in decisions:
        getattr(decision, name)


def _recorded(path: Path) -> list[AgentSession]:
    """Return the sessions of recorded trajectories, up to `LENGTH` records of each."""
    found: dict[str, list[dict[str, Any]]] = {}
    files = sorted(path.glob("*.events.jsonl.gz")) if path.is_dir() else [path]
    for entry in entries(map(str, files), "trajectory"):
        if entry.value is not None and entry.key is not None:
            found.setdefault(entry.key, []).append(entry.value)
    return [AgentSession(looping=False, records=records[:LENGTH]) for records in found.values()]
