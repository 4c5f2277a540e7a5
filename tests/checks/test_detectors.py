"""What every detector promises, whatever it detects. A new one is checked by standing in the registry."""

import doctest
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import fields
from itertools import chain
from types import FrameType
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams.core.detectors.detector import CloseReason, Detector, Layer
from streams.core.detectors.registry import DETECTORS
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.decision import Decision
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level, NodeState
from streams.core.domain.outcome import Finding, Scored
from streams.core.domain.record import Record
from streams.core.domain.session import Session
from streams.core.pipeline import admit
from tests.stream import Stream, decision_log
from tests.streams_strategy import Change, Entry, Send, partitions

EACH = pytest.mark.parametrize("detector", DETECTORS, ids=[detector.name for detector in DETECTORS])

# Bytes of the state of one detector, stored: with texts of any length, and with such texts as agents write.
MOST_BYTES = 64 * 1024
MOST_BYTES_OF_SHORT_TEXTS = 4 * 1024

# Bytes of a session of equal records. A judge also keeps the place of the newest records, its episode, and a
# mark of each of the last sixty records.
MOST_BYTES_OF_A_LOOP = {Layer.SCORES: 300, Layer.JUDGES: 1_050}

# Bytes of a whole session that does ordinary work.
MOST_BYTES_OF_A_SESSION = 3 * 1024

# Bytes of a detector's standing, with names of tools as long as they are kept.
MOST_BYTES_OF_A_STANDING = 8 * 1024

# By which a state may grow for ever: its counters and offsets by a digit now and then.
DIGITS = 60

# Every property runs once per detector, and the streams are long. The time limits are those of
# tests/conftest.py; these checks also run without it.
FEW = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])

Seen = tuple[Decision, dict[str, Any], DetectionSettings]


def looks(entries: list[Entry]) -> Iterator[Seen]:
    """What the pipeline shows to the detectors of session s1: each record, its `eddy`, its settings."""
    stream = Stream()
    for entry in entries:
        match entry:
            case Change(changes):
                stream.set(**changes)
            case Send(value, partition, offset):
                outcome = stream.send(value, partition=partition, offset=offset)
                if isinstance(outcome, Scored) and outcome.decision.session_id == "s1":
                    yield outcome.decision, outcome.enriched["eddy"], stream.settings


def shown(detector: Detector[Any, Any], seen: Seen) -> bool:
    return detector.layer is Layer.JUDGES or seen[1]["step"] is not None


def written(state: Any) -> bytes:
    return orjson.dumps([*state])


@EACH
@FEW
@given(entries=partitions(sessions=1))
def test_a_state_that_was_stored_goes_on_as_if_it_had_not_been(
    detector: Detector[Any, Any], entries: list[Entry]
) -> None:
    kept = stored = detector.fresh()
    for seen in looks(entries):
        if shown(detector, seen):
            stored = detector.restore(orjson.loads(written(stored)))
            one, other = detector.observe(kept, *seen), detector.observe(stored, *seen)
            assert (one and one[1:]) == (other and other[1:])
            kept, stored = one[0] if one else kept, other[0] if other else stored
        assert written(kept) == written(stored)
        assert detector.level(kept) is detector.level(detector.restore(orjson.loads(written(kept))))


@EACH
@FEW
@given(entries=partitions(sessions=1))
def test_the_same_records_give_the_same_bytes(detector: Detector[Any, Any], entries: list[Entry]) -> None:
    def play() -> list[bytes]:
        state, told = detector.fresh(), []
        for seen in looks(deepcopy(entries)):
            observation = detector.observe(state, *seen) if shown(detector, seen) else None
            if observation is not None:
                state, block, findings = observation
                told.append(orjson.dumps([[*state], block, [[*finding] for finding in findings]]))
        return told

    assert play() == play()


@EACH
@FEW
@given(entries=partitions(sessions=1))
def test_nothing_it_is_given_is_changed(detector: Detector[Any, Any], entries: list[Entry]) -> None:
    state = detector.fresh()
    for seen in looks(entries):
        decision, eddy, in_force = seen
        before = written(state), orjson.dumps(decision.known), orjson.dumps(eddy)
        observation = detector.observe(state, decision, eddy, in_force) if shown(detector, seen) else None
        detector.close(state, CloseReason.EXPIRED)
        detector.level(state)
        assert (written(state), orjson.dumps(decision.known), orjson.dumps(eddy)) == before
        state = observation[0] if observation else state


@EACH
@FEW
@given(entries=partitions(sessions=1))
def test_it_reports_and_tells_in_json(detector: Detector[Any, Any], entries: list[Entry]) -> None:
    state = detector.fresh()
    for seen in looks(entries):
        observation = detector.observe(state, *seen) if shown(detector, seen) else None
        if observation is None:
            continue
        state, block, findings = observation
        assert orjson.loads(orjson.dumps(block)) == block
        for finding in findings:
            assert isinstance(finding, Finding)
            assert finding.kind in EventKind
            assert orjson.loads(orjson.dumps(finding.fields)) == finding.fields
        assert detector.level(state) in Level


def lines_run(call: Callable[[], Any]) -> int:
    """Count the lines of Python that a call runs: its work, whatever the machine is busy with."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def states_after(detector: Detector[Any, Any], values: Iterator[dict[str, Any]]) -> Iterator[Any]:
    """The state of a detector after each record."""
    state = detector.fresh()
    eddy = {"step": 0}
    for offset, value in enumerate(values):
        decision = admit(Record(0, offset, value["session_id"], None, value), DEFAULTS)
        assert isinstance(decision, Decision)
        eddy["step"] += 1
        observation = detector.observe(state, decision, eddy, DEFAULTS)
        state = observation[0] if observation else state
        yield state


def state_sizes(detector: Detector[Any, Any], values: Iterator[dict[str, Any]]) -> list[int]:
    return [len(written(state)) for state in states_after(detector, values)]


HISTORIES = {
    "a loop": lambda at: {"tool": "read_file", "target": "/f", "content_hash": "h0"},
    "always something new": lambda at: {
        "intent": f"intent {at:06}",
        "tool": f"read_{at:06}",
        "target": f"/f/{at:06}",
        "content_hash": f"{at:064}",
    },
    "runs of three": lambda at: {"tool": f"bash_{at // 3:06}", "error": f"error {at // 3:06}"},
    "turns of two": lambda at: {"tool": ("read_file", "write_file")[at % 2], "target": "/f"},
    "nearly the same results": lambda at: {
        "tool": "get_page",
        "status": "success",
        "tool_input": f"the same words but for one each time and that is {at:06}",
        "tool_output_summary": f"what came back is always the same text but for {at:06}",
    },
    "thoughts without a tool": lambda at: {"tool": None, "intent": f"think about part {at % 5} again"},
    "one command, other errors": lambda at: {"tool": "bash", "error": f"{at:06} failed"},
    "turns of eight": lambda at: {
        "tool": f"look_{at % 8}",
        "status": "success",
        "tool_output_summary": f"fact {at % 8}",
    },
    "looks once a minute": lambda at: {"tool": "wait", "status": "success", "at_ms": at * 60_000},
    # What ended before the first of its round was decided together with it.
    "rounds of three": lambda at: {
        "tool": "read_file",
        "tool_input": f"part {at % 7}",
        "at_ms": at // 3 * 3_000 - at % 3,
    },
}


@EACH
@pytest.mark.parametrize("fields", HISTORIES.values(), ids=HISTORIES)
def test_a_long_history_costs_no_more_than_a_short_one(detector: Detector[Any, Any], fields: Any) -> None:
    sizes = state_sizes(detector, (decision_log(number=at, **fields(at)) for at in range(2000)))
    assert max(sizes[1000:]) <= max(sizes[:1000]) + DIGITS
    assert max(sizes) <= MOST_BYTES_OF_SHORT_TEXTS + 256 * len('["tool","bash_000000"],')


@pytest.mark.parametrize("fields", HISTORIES.values(), ids=HISTORIES)
def test_a_record_is_no_more_work_after_a_long_history(fields: Any) -> None:
    stream, work = Stream(), []
    for at in range(1500):
        value = working(decision_log(number=at, **fields(at)), at)
        # All windows and counters of the defaults are full long before the first of these.
        if 400 <= at < 500 or at >= 1400:
            work.append(lines_run(lambda value=value: stream.scored(value)))
        else:
            stream.scored(value)
    assert max(work[100:]) <= max(work[:100]) * 1.05


def working(value: dict[str, Any], at: int) -> dict[str, Any]:
    """Let a record use tokens, cost money and come a little further now and then."""
    delta = {
        "tokens_consumed": 700 + at % 7,
        "cumulative_session_cost": at / 100,
        "progress_delta": (0.02, 0.0, None)[at % 3],
        "context_quality": 0.75,
    }
    return value | {"state_delta": delta}


@EACH
@FEW
@given(entries=partitions(sessions=1))
def test_a_standing_is_json(detector: Detector[Any, Any], entries: list[Entry]) -> None:
    state = detector.fresh()
    for seen in looks(entries):
        observation = detector.observe(state, *seen) if shown(detector, seen) else None
        if observation is not None:
            state = observation[0]
            assert standing_of(detector, state, seen[2]) == standing_of(
                detector, detector.restore(orjson.loads(written(state))), seen[2]
            )


def standing_of(detector: Detector[Any, Any], state: Any, in_force: DetectionSettings) -> bytes:
    scores, rules, episode = detector.standing(state, in_force)
    assert all(rule.level in set(Level) for rule in rules)
    assert episode is None or episode["level"] in set(Level)
    return orjson.dumps([scores, rules, episode])


@EACH
@FEW
@given(length=st.integers(900, 200_000))
def test_a_standing_is_small_whatever_the_length_of_texts(detector: Detector[Any, Any], length: int) -> None:
    text = "x" * length
    fields = dict.fromkeys(("tool_input", "target", "content_hash", "error", "kind"), text)
    values = (decision_log(text, f"read_{text}", number=at, **fields) for at in range(20))
    for state in states_after(detector, values):
        assert len(standing_of(detector, state, DEFAULTS)) <= MOST_BYTES_OF_A_STANDING


def emitted(detector: Detector[Any, Any], values: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The fields of the events that a detector says it emits."""
    stream = Stream(
        alert_every_record=True,
        nudge_threshold=0.01,
    )
    for value in values:
        for event in stream.scored(value).events:
            if event.fields["event_type"] in detector.presentation.events:
                yield event.fields


# What a terminal would obey, reorder or hide.
HOSTILE = "\x1b[2J\r\n\u202e\u200b\x9b"


def hostile(value: dict[str, Any]) -> dict[str, Any]:
    """Let an agent write what it likes wherever the words of a detector may quote it."""
    action = {
        name: text + HOSTILE if name in {"tool_call", "target", "error", "kind"} else text
        for name, text in value["action"].items()
    }
    cognition = {name: f"{text}{HOSTILE}" for name, text in value.get("cognition", {}).items()}
    return {**value, "action": action, "cognition": cognition}


@EACH
def test_each_kind_of_event_it_emits_has_a_sentence_safe_to_print(detector: Detector[Any, Any]) -> None:
    words, told = detector.presentation, set()
    for history in HISTORIES.values():
        ordinary = [working(decision_log(number=at, **history(at)), at) for at in range(80)]
        for event in chain(emitted(detector, ordinary), emitted(detector, map(hostile, ordinary))):
            told.add(event["event_type"])
            text = words.sentence(event)
            assert text.isprintable()
            assert text not in {"", event["event_type"]}
            assert (words.meaning(event).alert or "").isprintable()
    assert told == {str(kind) for kind in words.events}


@EACH
@pytest.mark.parametrize("fields", HISTORIES.values(), ids=HISTORIES)
def test_what_it_says_of_its_block_is_safe_to_print(detector: Detector[Any, Any], fields: Any) -> None:
    stream, words = Stream(), detector.presentation
    for at in range(40):
        value = hostile(working(decision_log(number=at, **fields(at)), at))
        block = stream.scored(value).enriched["eddy"][detector.name]
        if block is not None:
            told = [words.summary(block), words.objection(block)]
            told += [text for fired in words.fired(block, "a tool") for text in fired]
            assert all(text.isprintable() for text in told)


def test_a_session_of_ordinary_work_is_stored_in_about_two_kilobytes() -> None:
    """Reading, editing and testing a few files, each time in other words, with a test that fails."""
    actions = [
        {"tool": "read_file", "target": "/src/{}.py", "content_hash": "{:016x}"},
        {"tool": "edit_file", "target": "/src/{}.py", "content_hash": "{:016x}"},
        {"tool": "bash", "tool_input": '{{"command": "pytest {}"}}', "error": "{} failed, 12 passed"},
    ]
    stream, sizes = Stream(), []
    for at in range(120):
        fields = {name: text.format(at // 6 % 4) for name, text in actions[at % 3].items()}
        value = decision_log(f"work on part {at // 6 % 4}", number=at, **fields)
        value["cognition"]["goal"] = "Make the failing tests of the parser pass again"
        stream.scored(working(value, at))
        sizes.append(len(orjson.dumps(stream.sessions["s1"].snapshot())))
    assert max(sizes) < MOST_BYTES_OF_A_SESSION


@EACH
@FEW
@given(length=st.integers(900, 200_000), different=st.booleans())
def test_texts_of_any_length_leave_the_state_bounded(
    detector: Detector[Any, Any], length: int, different: bool
) -> None:
    def value(at: int) -> dict[str, Any]:
        text = "x" * length + (f"{at:03}" if different else "")
        fields = dict.fromkeys(("tool_input", "target", "content_hash", "error", "kind"), text)
        return decision_log(text, f"read_{text}", number=at, **fields)

    sizes = state_sizes(detector, (value(at) for at in range(130)))
    assert max(sizes) <= MOST_BYTES
    assert max(sizes[65:]) <= max(sizes[:65]) + DIGITS


@EACH
def test_a_session_of_equal_records_is_stored_in_a_few_hundred_bytes(detector: Detector[Any, Any]) -> None:
    looping = {
        "intent": "look at the failing test",
        "target": "/src/app.py",
        "content_hash": "e3b0c44298fc1c14",
    }
    sizes = state_sizes(detector, (decision_log(number=at, **looping) for at in range(100)))
    assert sizes[-1] < MOST_BYTES_OF_A_LOOP[detector.layer]


@EACH
def test_a_session_without_its_state_starts_it_fresh(detector: Detector[Any, Any]) -> None:
    before, without = Stream(), Stream()
    before.scored(decision_log())
    session = before.sessions["s1"]
    states = {name: state for name, state in session.states.items() if name != detector.name}
    without.sessions["s1"] = session._replace(states=states)
    # Unlike the first record, so that the detectors it may read have nothing to say of the two.
    unlike = decision_log("take a note", "note", "success", number=1)
    fresh = Stream().scored(unlike).enriched["eddy"][detector.name]
    outcome = without.scored(unlike, offset=1)
    assert outcome.enriched["eddy"][detector.name] == fresh


def test_the_state_of_an_unknown_detector_is_dropped() -> None:
    stream = Stream()
    stored = [1, 0, 0, NodeState.ACTIVE.value, 0, 1, "e", "a", 0, {"no_such_detector": [1, 2]}]
    stream.sessions["s1"] = Session.restore(stored)
    stream.scored(decision_log(at_ms=0), offset=1)
    assert "no_such_detector" not in stream.sessions["s1"].states


def test_names_are_unique_and_no_field_of_the_block_eddy() -> None:
    names = [detector.name for detector in DETECTORS]
    assert len(names) == len(set(names))
    assert not {"id", "settings_version", "scoring_status", "step", "events"} & set(names)


def test_a_rule_belongs_to_one_detector() -> None:
    families = [family for each in DETECTORS if each.rules is not None for family in each.rules.families]
    assert len(families) == len(set(families))


@EACH
def test_its_rows_are_of_its_rules(detector: Detector[Any, Any]) -> None:
    if detector.rules is not None:
        rows = {row.rule.partition(":")[0] for row in detector.rules.reachability(DEFAULTS)}
        assert rows <= set(detector.rules.families)


@EACH
def test_its_blocks_of_others_are_those_it_names(detector: Detector[Any, Any]) -> None:
    before = {each.name for each in DETECTORS[: DETECTORS.index(detector)]}
    assert before.issuperset(detector.reads)


def test_the_settings_in_force_have_a_place_for_each_value_and_no_other() -> None:
    assert {field.name for field in fields(DEFAULTS)} == set(type(DEFAULTS).__slots__)


@EACH
def test_it_holds_nothing(detector: Detector[Any, Any]) -> None:
    assert not hasattr(detector, "__dict__")
    assert inspect.signature(type(detector)).parameters == {}


@EACH
def test_its_docstring_says_what_it_catches_where_from_and_shows_it(detector: Detector[Any, Any]) -> None:
    text = inspect.getdoc(type(detector)) or ""
    assert "Source:" in text
    module = importlib.import_module(type(detector).__module__)
    results = doctest.testmod(module)
    assert ">>>" in text
    assert results.attempted > 0
    assert results.failed == 0
