"""The detectors' words are found by the kind of an event and the name of a block."""

from typing import Any

import pytest

from streams.core.detectors.registry import DETECTORS
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level
from streams.operate.explain.explanation import fired, meaning, objections, sentence, summaries
from tests.quoted_detectors import is_quoted
from tests.stream import Stream, decision_log, repeated


def test_each_kind_of_event_has_one_detector_but_for_those_of_the_pipeline_and_across_sessions() -> None:
    kinds = [kind for detector in DETECTORS for kind in detector.presentation.events]
    beside = [
        EventKind.HANDOVER_LOOP,
        EventKind.SILENT_SESSION,
        EventKind.OVERSPENDING,
        EventKind.NODE_STATE,
    ]
    assert sorted([*kinds, *beside]) == sorted(EventKind)


def test_agents_that_hand_each_other_the_same_task_are_named_as_text() -> None:
    event = {"event_type": "handover_loop", "agent_id": "a\x1b[2J", "target": None, "count": 3}
    assert (meaning(event).alert, meaning(event).news) == ("handover_loop", True)
    told = "a\\x1b[2J and another agent hand each other the same task: 3 rounds without work in between"
    assert sentence(event) == told


@pytest.mark.parametrize(
    ("fields", "over", "words"),
    [
        (
            {"phase": "silent", "limit_ms": 1_200_000, "habit_ms": 32_000},
            False,
            "silent in the middle of its work: no step for 20 min 0 s, 95 of 100 come within 32 s",
        ),
        (
            {"phase": "silent", "limit_ms": 4_800_000, "habit_ms": None},
            False,
            "silent in the middle of its work: no step for 1 h 20 min",
        ),
        (
            {"phase": "spoke", "silent_ms": 0, "limit_ms": 1_200_000},
            True,
            "spoke again, with a step that was on its way",
        ),
        (
            {"phase": "spoke", "silent_ms": 1_860_000, "limit_ms": 1_200_000},
            True,
            "spoke again, 31 min 0 s after its last step",
        ),
        ({"phase": "ended"}, True, "never spoke again"),
    ],
)
def test_a_silence_says_how_long_and_what_is_usual(fields: dict[str, Any], over: bool, words: str) -> None:
    event = {"event_type": "silent_session", **fields}
    assert (meaning(event).alert, meaning(event).over, sentence(event)) == ("silent_session", over, words)
    assert meaning(event).names_session != over


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"rule": "tokens_per_minute", "phase": "over"}, "uses 12,000 tokens a minute, its limit is 9,000"),
        (
            {"rule": "tokens_per_minute", "phase": "under"},
            "uses 12,000 tokens a minute, well below its limit of 9,000 again",
        ),
        ({"rule": "cost", "phase": "still_over"}, "has cost 12,000.00, its limit is 9,000.00"),
        (
            {"rule": "kind", "phase": "over", "samples": 21},
            "has used 12,000 tokens, its limit by 21 completed tasks of its type is 9,000",
        ),
        (
            {"rule": "tokens_per_minute", "phase": "still_over", "limit": 20_000.0},
            "still uses 12,000 tokens a minute, more than half of its limit of 20,000",
        ),
        ({"rule": "cost", "phase": "under", "limit": 0.0}, "has no limit of cost any more"),
        ({"rule": "cost", "phase": "ended"}, "ended while it spent more than it may"),
        ({"rule": "cost", "phase": "over", "limit": 0.003}, "has cost 12,000.00, its limit is 0.0030"),
        ({"rule": "of a later version", "phase": "over"}, "spends 12,000.00, its limit is 9,000.00"),
    ],
)
def test_who_overspends_is_told_by_how_much_and_by_what_limit(fields: dict[str, Any], words: str) -> None:
    event = {"event_type": "overspending", "spent": 12_000.0, "limit": 9_000.0, **fields}
    found = meaning(event)
    assert (found.alert, found.over, sentence(event)) == (
        "overspending",
        fields["phase"] in ("under", "ended"),
        words,
    )
    assert found.news is (fields["phase"] != "still_over")


def test_an_event_of_the_pipeline_has_its_kind_for_words_and_is_no_news() -> None:
    event = {"event_type": "node_state", "node": "looping"}
    assert (meaning(event).news, meaning(event).alert, sentence(event)) == (False, None, "node_state")


@pytest.mark.parametrize(
    ("phase", "news", "over"),
    [
        ("opened", True, False),
        ("escalated", True, False),
        ("still_open", False, False),
        ("recovered", True, True),
    ],
)
def test_an_episode_explains_the_level_of_the_session(phase: str, news: bool, over: bool) -> None:
    found = meaning({"event_type": "loop_episode", "phase": phase, "level": "LOOP"})
    assert (found.alert, found.level, found.news, found.over) == ("loop_episode", Level.LOOP, news, over)


def test_rules_fire_by_blocks_first_and_then_by_events() -> None:
    *_, last = Stream().run(repeated(3, tool="bash", status="failure", error="1 failed"))
    found = fired(last.enriched["eddy"], [event.fields for event in last.events], "bash")
    assert [each.rule for each in found if is_quoted(each.rule)] == [
        "R1",
        "R7",
        "A1",
        "A4:exact_hash",
        "A4:semantic",
        "A2:tool",
        "A3:test_fail_loop",
    ]


def test_summaries_come_in_the_order_of_the_settings() -> None:
    scored = Stream().scored(decision_log(status="success"))
    assert [name for name, _ in summaries(scored.enriched["eddy"]) if is_quoted(name)] == [
        "uniqueness",
        "repeat",
        "drift",
        "budget",
        "verdict",
    ]


def test_decisions_that_repeat_speak_against_a_calm_verdict() -> None:
    first, *_, last = Stream().run(repeated(4, tool="bash", status="success"))
    assert list(objections(first.enriched["eddy"])) == []
    [text] = objections(last.enriched["eddy"])
    assert text.startswith("its decisions repeat (uniqueness 0.25, WARNING)")
