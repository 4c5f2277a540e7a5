"""A3 as a whole: alerts, averages, escalations, and what is told of them."""

from typing import Any

import pytest

from streams.core.domain.topic import Topic
from tests.stream import Stream, block, decision_log, told

ERROR = "1 failed"


def read(target: str = "/f", content_hash: str = "h0", **fields: Any) -> dict[str, Any]:
    return decision_log(
        "work", "read_file", **{"status": "success"} | fields, target=target, content_hash=content_hash
    )


def write(content_hash: str, target: str = "/f", status: str = "success") -> dict[str, Any]:
    return decision_log("work", "write_file", status, target=target, content_hash=content_hash)


def fail(error: str = ERROR, command: str = "pytest", **fields: str) -> dict[str, Any]:
    return decision_log("work", "bash", "failure", error=error, tool_input=command, **fields)


def succeed(command: str = "pytest") -> dict[str, Any]:
    return decision_log("work", "bash", "success", tool_input=command)


def other() -> dict[str, Any]:
    return decision_log("work", "lookup", "success")


def seen(values: list[dict[str, Any]], **settings: Any) -> list[dict[str, Any]]:
    return [block(outcome, "patterns") for outcome in Stream(**settings).run(values)]


def places(blocks: list[dict[str, Any]], name: str) -> list[int]:
    return [at for at, each in enumerate(blocks, start=1) if each[name]]


@pytest.mark.parametrize(
    ("values", "alerts"),
    [
        ([read()] * 3, [3]),
        ([read()] * 16, [3, 9, 15]),
        ([read(), write("h1"), read("/f", "h1"), read("/f", "h1")], []),
        ([read(), write("h1"), *[read("/f", "h1")] * 3], [5]),
        ([read(), read(), write("h0"), read()], [4]),
        ([write("A"), write("B"), write("A")], [3]),
        ([write("A"), write("A")], []),
        ([read(), write("h1"), write("h0")], [3]),
        ([fail()] * 6, [3]),
        ([fail(), write("h1"), fail(), read(), fail()], [5]),
        ([fail(), fail(), succeed("ruff"), fail(), fail()], []),
        ([read("/f"), read("/f"), read("/g"), read("/g")], []),
    ],
)
def test_the_table_of_the_specification(values: list[dict[str, Any]], alerts: list[int]) -> None:
    assert places(seen(values), "alerts") == alerts


def test_averages_and_escalations_of_a_chronic_failure() -> None:
    blocks = seen([fail()] * 4 + [succeed()] * 2 + [fail()] * 4)
    assert [each["ema"]["test_fail_loop"] for each in blocks] == [
        *(0.0, 0.0, 0.3, 0.51, 0.357, 0.2499, 0.1749, 0.1225, 0.3857, 0.57)
    ]
    assert places(blocks, "alerts") == [3, 9]
    assert places(blocks, "escalations") == [4, 10]
    assert places(blocks, "escalated") == [4, 5, 10]


def test_the_adaptive_cooldown_grows_with_the_average() -> None:
    assert places(seen([fail()] * 22, pattern_adaptive_cooldown=True), "alerts") == [3, 13]


def test_every_pattern_has_its_own_cooldown_and_average() -> None:
    blocks = seen([read()] * 3 + [write("A", "/g"), write("B", "/g"), write("A", "/g")])
    assert [each["alerts"] for each in blocks if each["alerts"]] == [["read_loop"], ["edit_revert"]]
    assert blocks[-1]["ema"] == {"read_loop": 0.1029, "edit_revert": 0.3, "test_fail_loop": 0.0}


def test_the_duplicates_of_the_window() -> None:
    blocks = seen([read("/f"), read("/f"), read("/g"), read("/g"), other()])
    assert [each["duplicate_mass"] for each in blocks] == [0, 2, 2, 4, 4]
    assert [each["max_multiplicity"] for each in blocks] == [1, 2, 2, 2, 2]
    assert seen([other()])[0]["max_multiplicity"] == 0


def test_duplicates_need_the_same_tool_and_content() -> None:
    values = [read("/f", "h0"), read("/f", "h1"), write("h0")]
    assert [each["duplicate_mass"] for each in seen(values)] == [0, 0, 0]
    failed = [read("/f", "h0"), read("/f", "h0", status="failure")]
    assert [each["duplicate_mass"] for each in seen(failed)] == [0, 2]


def test_an_alert_and_an_escalation_are_told_in_this_order() -> None:
    outcome = Stream(pattern_alpha=1.0).run([fail(target="/t")] * 3)[-1]
    common = {
        "event_type": "drift_pattern",
        "pattern": "test_fail_loop",
        "ema": 1.0,
        "step": 3,
        "target": "/t",
    }
    events = told(outcome, "drift_pattern")
    assert [{name: each[name] for name in common} for each in events] == [common, common]
    assert [each["phase"] for each in events] == ["alert", "escalation"]
    assert [each["id"] for each in events] == [
        "s1/0/2/drift_pattern/test_fail_loop/alert",
        "s1/0/2/drift_pattern/test_fail_loop/escalation",
    ]
    assert {event.topic for event in outcome.events if event.fields in events} == {Topic.SESSION_ALERTS}


def test_an_escalation_may_come_without_a_match() -> None:
    stream = Stream(pattern_saturation=1.0)
    stream.run([fail()] * 6)
    stream.set(pattern_saturation=0.3)
    seen_ = block(stream.scored(other()), "patterns")
    assert seen_["matched"] == []
    assert seen_["escalations"] == ["test_fail_loop"]


def test_the_window_forgets() -> None:
    twice = [read(), read()]
    assert places(seen([*twice, *[other()] * 17, read()]), "alerts") == [20]
    assert places(seen([*twice, *[other()] * 18, read()]), "alerts") == []


def test_a_window_that_grows_again_restores_nothing() -> None:
    stream = Stream()
    stream.run([read(), read()])
    stream.set(pattern_window=3)
    stream.run([other(), other()])
    stream.set(pattern_window=20)
    assert block(stream.scored(read()), "patterns")["matched"] == []


def test_failures_outside_the_window_do_not_count() -> None:
    apart = [fail(), *[other()] * 10, fail(), *[other()] * 10, fail()]
    assert places(seen(apart), "matched") == []
    assert places(seen(apart, pattern_window=30), "matched") == [23]


@pytest.mark.parametrize(
    "third",
    [
        fail("2 failed"),
        fail(command="pytest -x"),
        fail(target="/t"),
        decision_log("work", "shell", "failure", error=ERROR, tool_input="pytest"),
        decision_log("work", "bash", "failure", tool_input="pytest"),
        decision_log("work", "bash", "pending", error=ERROR, tool_input="pytest"),
    ],
    ids=["error", "arguments", "target", "tool", "no result", "status"],
)
def test_a_different_failure_starts_anew(third: dict[str, Any]) -> None:
    assert places(seen([fail(), fail(), third, fail(), fail()]), "matched") == []


def test_failures_without_any_result_are_alike() -> None:
    silent = decision_log("work", "bash", "failure", tool_input="pytest")
    assert places(seen([silent] * 3), "matched") == [3]
    empty = decision_log("work", "bash", "failure", tool_input="pytest", tool_output_summary=" ")
    assert places(seen([silent, empty, silent]), "matched") == []


@pytest.mark.parametrize("kind", ["llm", "system"])
def test_only_tools_have_a_class(kind: str) -> None:
    reads = [decision_log("work", "read_file", "success", target="/f", kind=kind)] * 3
    assert places(seen(reads), "matched") == []
    assert seen(reads)[-1]["duplicate_mass"] == 3


@pytest.mark.parametrize(("before", "after"), [(4, 8), (8, 4), (4, 6)])
def test_a_window_that_all_targets_left_and_that_changes_its_size_is_that_of_a_fresh_session(
    before: int, after: int
) -> None:
    stream = Stream(pattern_window=before)
    stream.run([read(), *[other()] * before])
    stream.set(pattern_window=after)
    outcomes = stream.run([other(), write("h0"), *[read()] * 3])
    fresh = Stream(pattern_window=after).run([*[other()] * (before + 2), write("h0"), *[read()] * 3])
    assert [block(each, "patterns")["matched"] for each in outcomes[1:]] == [
        block(each, "patterns")["matched"] for each in fresh[-4:]
    ]
    assert block(outcomes[-1], "patterns")["matched"] == ["read_loop"]
