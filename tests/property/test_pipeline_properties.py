"""What the pipeline promises of any stream: replay, restart, redelivery, interleaving change nothing."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

import orjson
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from streams.core.detectors.verdict.detector import Unseen
from streams.core.detectors.verdict.state import RECENT
from streams.core.detectors.verdict.step import StepKind
from streams.core.domain.outcome import Duplicate, Rejected, Scored
from streams.core.domain.session import Session
from tests.stream import Outcome, Stream
from tests.streams_strategy import Change, Entry, Send, partitions


def apply(stream: Stream, entry: Entry) -> Outcome | None:
    match entry:
        case Change(settings):
            stream.set(**settings)
            return None
        case Send(value, partition, offset):
            return stream.send(value, partition=partition, offset=offset)


def play(entries: Iterable[Entry]) -> Iterator[Outcome]:
    stream = Stream()
    for entry in entries:
        outcome = apply(stream, entry)
        if outcome is not None:
            yield outcome


def written(outcome: Outcome) -> bytes:
    """Everything that leaves the pipeline for a record, as bytes."""
    match outcome:
        case Scored(_, enriched, events, node_state, violations):
            return orjson.dumps([enriched, [list(event) for event in events], node_state, violations])
        case Duplicate():
            return b"duplicate"
        case Rejected(problems):
            return orjson.dumps(problems)


def stored(stream: Stream) -> dict[str, bytes]:
    return {session_id: orjson.dumps(session.snapshot()) for session_id, session in stream.sessions.items()}


@given(partitions())
def test_a_replay_gives_the_same_bytes(entries: list[Entry]) -> None:
    first = [written(outcome) for outcome in play(entries)]
    assert [written(outcome) for outcome in play(deepcopy(entries))] == first


@given(partitions(), st.data())
def test_a_restart_between_any_two_records_changes_nothing(entries: list[Entry], data: st.DataObject) -> None:
    cuts = data.draw(st.sets(st.integers(0, len(entries))))
    whole, cut = Stream(), Stream()
    for at, entry in enumerate(entries):
        if at in cuts:
            for session_id, snapshot in stored(cut).items():
                cut.sessions[session_id] = Session.restore(orjson.loads(snapshot))
        one, other = apply(whole, entry), apply(cut, entry)
        assert (one and written(one)) == (other and written(other))
        assert stored(whole) == stored(cut)


@given(partitions())
def test_each_record_twice_changes_nothing(entries: list[Entry]) -> None:
    once, twice = Stream(), Stream()
    for entry in entries:
        first = apply(once, entry)
        assert (again := apply(twice, entry)) == first or (
            first and again and written(again) == written(first)
        )
        if isinstance(entry, Send):
            before = stored(twice)
            redelivered = apply(twice, entry)
            assert isinstance(redelivered, Rejected if isinstance(first, Rejected) else Duplicate)
            assert stored(twice) == before
    assert stored(once) == stored(twice)


@given(partitions(moving=False), st.data())
def test_a_redelivered_run_is_all_duplicates(entries: list[Entry], data: st.DataObject) -> None:
    stream = Stream()
    for entry in entries:
        apply(stream, entry)
    before = stored(stream)
    start = data.draw(st.integers(0, len(entries)))
    again = [apply(stream, entry) for entry in entries[start:] if isinstance(entry, Send)]
    assert not any(isinstance(outcome, Scored) for outcome in again)
    assert stored(stream) == before


@given(partitions(sessions=3))
def test_sessions_do_not_hear_of_one_another(entries: list[Entry]) -> None:
    together = Stream()
    outcomes = [(entry, apply(together, entry)) for entry in entries]
    for session_id in ("s1", "s2", "s3"):
        alone = Stream()
        for entry, outcome in outcomes:
            if isinstance(entry, Change) or entry.value.get("session_id") == session_id:
                own = apply(alone, entry)
                assert (own and written(own)) == (outcome and written(outcome))
        assert alone.sessions.get(session_id) == together.sessions.get(session_id)


@given(partitions())
def test_no_record_and_no_session_is_changed_in_place(entries: list[Entry]) -> None:
    stream = Stream()
    for entry in entries:
        value = deepcopy(entry.value) if isinstance(entry, Send) else None
        sessions = dict(stream.sessions)
        before = stored(stream)
        apply(stream, entry)
        if isinstance(entry, Send):
            assert repr(entry.value) == repr(value)
        assert {name: orjson.dumps(session.snapshot()) for name, session in sessions.items()} == before


@given(partitions())
def test_every_id_is_unique_and_every_event_stands_in_its_record(entries: list[Entry]) -> None:
    ids: list[str] = []
    for outcome in play(entries):
        if isinstance(outcome, Scored):
            eddy = outcome.enriched["eddy"]
            assert [told.fields for told in outcome.events] == eddy["events"]
            ids += [eddy["id"], *(told["id"] for told in eddy["events"])]
            for told in eddy["events"]:
                assert told["id"].startswith(eddy["id"].removesuffix("enriched") + told["event_type"])
    assert len(ids) == len(set(ids))


TO_BE_SEEN = {
    "a move to another partition",
    "a rejected record",
    "a missing agent",
    "not scored",
    "an internal event",
    "an end from trouble",
    "a recovered or expired session",
    "a completed task",
    "node_state",
    *("an alert: entered", "an alert: every_record", "an alert: heartbeat"),
    "divergence_suspected",
    *("read_loop", "edit_revert", "test_fail_loop", "alert", "escalation"),
    *("loop: exact_hash", "loop: semantic", "loop: oscillation", "loop: dead_end"),
    *("budget", "an exhausted budget", "an extension approved", "an extension denied"),
    *("response", "drift: CONTINUE", "drift: INJECT_REMINDER", "drift: SUMMARIZE_REPLAN"),
    "drift: CHECKPOINT_RESET",
    "a run of a group",
    *(f"{rule} {level}" for rule in ("R1", "R2", "R7", "R9") for level in ("WARNING", "LOOP")),
    "a long cycle",
    *(f"step: {kind}" for kind in StepKind),
    *(f"not judged: {why}" for why in Unseen),
    *("opened", "escalated", "still_open", "recovered: quiet", "recovered: terminal", "recovered: expired"),
}


def seen_in(entries: list[Entry]) -> set[str]:
    """Name what a stream leads to."""
    seen = set()
    if len({entry.partition for entry in entries if isinstance(entry, Send)}) > 1:
        seen.add("a move to another partition")
    for outcome in play(entries):
        match outcome:
            case Rejected():
                seen.add("a rejected record")
            case Scored(enriched=enriched, events=events, node_state=node_state, violations=violations):
                seen |= set(reported(enriched["eddy"]))
                seen |= {name for event in events for name in names_of(event.fields, node_state)}
                seen |= {"a missing agent"} if violations else set()
                seen |= {"an internal event"} if any(event.topic is None for event in events) else set()
    return seen


def reported(eddy: dict[str, Any]) -> Iterator[str]:
    """Name what the blocks of a record say."""
    loop, budget, metrics = (eddy[name] for name in ("loop", "budget", "metrics"))
    yield from judged(eddy["verdict"])
    if eddy["completion"] is not None:
        yield "a completed task"
    if eddy["step"] is None:
        yield "not scored"
        return
    if loop["detected"]:
        yield f"loop: {loop['type']}"
    if budget["exhausted"]:
        yield "an exhausted budget"
    if budget["emergency"] is not None:
        yield f"an extension {budget['emergency']}"
    if metrics["group_run"] > 1 and metrics["period"] != 1:
        yield "a run of a group"
    yield f"drift: {eddy['drift']['level']}"


def judged(verdict: dict[str, Any]) -> Iterator[str]:
    """Name what the verdict says of a record."""
    if not verdict["visible"]:
        yield f"not judged: {verdict['why']}"
        return
    yield f"step: {verdict['stuck']['kind']}"
    for fired in verdict["fired"]:
        yield f"{fired['rule']} {fired['level']}"
        if (fired["period"] or 0) > RECENT:
            yield "a long cycle"


def names_of(fields: dict[str, Any], node_state: str) -> list[str]:
    match fields:
        case {"event_type": "entropy_alert", "reason": reason}:
            return [f"an alert: {reason}"]
        case {"event_type": "drift_pattern", "phase": phase, "pattern": pattern}:
            return [pattern, phase]
        case {"event_type": "node_state", "state": "idle"}:
            return ["an end from trouble"]
        case {"event_type": "node_state", "state": "active"} if node_state == "active":
            return ["a recovered or expired session"]
        case {"event_type": "loop_episode", "phase": "recovered", "reason": reason}:
            return [f"recovered: {reason}"]
        case {"event_type": "loop_episode", "reopened": True}:
            return ["reopened"]
        case {"event_type": "loop_episode", "phase": phase}:
            return [phase]
        case {"event_type": kind}:
            return [kind]
    raise AssertionError(fields)


def test_the_streams_hold_what_the_properties_are_about() -> None:
    seen: set[str] = set()

    @settings(max_examples=1_000, phases=[Phase.generate], derandomize=True, database=None)
    @given(partitions())
    def collect(entries: list[Entry]) -> None:
        seen.update(seen_in(entries))

    collect()
    assert TO_BE_SEEN - seen == set()
