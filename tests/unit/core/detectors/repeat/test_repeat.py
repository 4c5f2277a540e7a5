"""A2: runs, thresholds, and how often they are told."""

from typing import Any

import pytest

from streams.core.domain.topic import Topic
from tests.stream import Stream, block, decision_log, told


def calls(names: str, **fields: Any) -> list[dict[str, Any]]:
    return [
        decision_log("work", f"t_{name}", "success", number=number, **fields)
        for number, name in enumerate(names)
    ]


def fired(stream: Stream, values: list[dict[str, Any]]) -> list[int]:
    outcomes = stream.run(values)
    return [at for at, outcome in enumerate(outcomes, start=1) if block(outcome, "repeat")["fired"]]


@pytest.mark.parametrize(
    ("names", "kind", "at"),
    [
        ("aaaaa", "tool", [3]),
        ("aaaaaaa", "llm", [5]),
        ("abab", "tool", []),
        ("ABACCC", "tool", [6]),
        ("a" * 50, "system", []),
        ("a" * 20, "quantum", []),
        ("a" * 100, "tool", [3]),
        ("aaabbb", "tool", [3, 6]),
    ],
)
def test_the_table_of_the_specification(names: str, kind: str, at: list[int]) -> None:
    assert fired(Stream(), calls(names, kind=kind)) == at


def test_a_run_is_longer_than_the_ring_remembers() -> None:
    seen = [block(outcome, "repeat") for outcome in Stream().run(calls("a" * 12))]
    assert [each["repeat_count"] for each in seen] == [1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8]
    assert [each["run_length"] for each in seen] == list(range(1, 13))


def test_a_ring_that_grows_again_restores_nothing() -> None:
    stream = Stream(repeat_ring_size=4)
    stream.run(calls("a" * 6))
    stream.set(repeat_ring_size=8)
    seen = [block(outcome, "repeat") for outcome in stream.run(calls("aaaaa"))]
    assert [each["repeat_count"] for each in seen] == [5, 6, 7, 8, 8]
    assert [each["run_length"] for each in seen] == [7, 8, 9, 10, 11]


def test_a_signature_is_told_once_per_session() -> None:
    assert fired(Stream(), calls("aaabcdefghiaaa")) == [3]


def test_with_rearm_it_is_told_again_after_it_left_the_ring() -> None:
    assert fired(Stream(repeat_dedup="rearm"), calls("aaabcdefghiaaa")) == [3, 14]


def test_with_rearm_it_is_not_told_again_while_in_the_ring() -> None:
    assert fired(Stream(repeat_dedup="rearm"), calls("aaabaaa")) == [3]


def test_what_is_told_has_exactly_these_fields() -> None:
    outcome = Stream().run(calls("aaa"))[-1]
    (divergence,) = told(outcome, "divergence_suspected")
    assert {name: divergence[name] for name in divergence if name not in decision_fields()} == {
        "severity": "warn",
        "signature": ["tool", "t_a"],
        "repeat_count": 3,
        "chain_id": "s1",
    }
    assert divergence["id"] == "s1/0/2/divergence_suspected"
    (topic,) = [event.topic for event in outcome.events if event.fields == divergence]
    assert topic is Topic.SESSION_ALERTS


def decision_fields() -> set[str]:
    return {"id", "event_type", "session_id", "agent_id", "event_id", "timestamp", "partition", "offset"}


def test_a_kind_of_its_own_has_a_threshold_of_its_own() -> None:
    thresholds = {"tool": 3, "llm": 5, "system": 999, "default": 999, "memory_read": 2}
    assert fired(Stream(repeat_thresholds=thresholds), calls("aaaa", kind="memory_read")) == [2]


def test_every_scored_record_counts_also_without_cognition() -> None:
    values = [decision_log(None, "x", "pending"), decision_log(None, "x", "success"), decision_log("", "x")]
    assert fired(Stream(), values) == [3]


def test_a_record_that_is_not_scored_does_not_count() -> None:
    stream = Stream(score_statuses=["success"])
    stream.run(calls("aa"))
    assert block(stream.scored(decision_log("work", "t_a", "failure")), "repeat") is None
    assert fired(stream, calls("a")) == [1]


def test_only_the_newest_256_signatures_are_remembered_as_told() -> None:
    stream = Stream()
    runs = [decision_log("work", f"tool_{at // 3}") for at in range(3 * 257)]
    counts = [block(outcome, "repeat")["divergence_emitted_count"] for outcome in stream.run(runs)]
    assert counts[-1] == max(counts) == 256
    assert fired(stream, [decision_log("work", "tool_0")] * 3) == [3]
    assert fired(stream, [decision_log("work", "tool_200")] * 3) == []


def test_long_names_are_told_apart_by_their_ends() -> None:
    values = [decision_log("work", "x" * 5000 + letter) for letter in "aaabbbaaa"]
    assert fired(Stream(repeat_dedup="rearm"), values) == [3, 6]
