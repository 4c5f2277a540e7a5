"""The stream vectors of the requirements (specification 10), each under every way of delivery."""

import json
from pathlib import Path
from typing import Any

import pytest

from streams.core.domain.outcome import Duplicate, Rejected
from tests.conformance.harness import Delivery, mismatches, play

VECTOR_FILES = ("seed003", "seed000", "seed001", "seed002", "engine", "layer_b", "peers")


@pytest.mark.parametrize("delivery", Delivery)
def test_stream_vector(vector: dict[str, Any], delivery: Delivery) -> None:
    assert list(mismatches(vector["expected"], play(vector, delivery))) == []


def test_redelivery_changes_nothing(vector: dict[str, Any]) -> None:
    for first, second in play(vector, Delivery.TWICE).redelivered:
        match first:
            case Rejected():
                assert second == first
            case _:
                assert isinstance(second, Duplicate)


@pytest.mark.parametrize("name", VECTOR_FILES)
def test_every_vector_of_the_file_is_run(conformance_dir: Path, name: str) -> None:
    document = json.loads((conformance_dir / f"{name}.json").read_text(encoding="utf-8"))
    assert len(document["vectors"]) == document["count"]


class TestTheHarness:
    """It must be able to say no."""

    @pytest.fixture
    def told(self) -> dict[str, Any]:
        action = {"status": "failure", "tool_call": "read_file"}
        events = [
            {
                "value": {
                    "session_id": "s1",
                    "event_id": f"e{number}",
                    "meta": {"trace_id": "t", "timestamp": 1000 * number},
                    "identity": {"agent_id": "a", "agent_type": "coder"},
                    "cognition": {"intent": "search"},
                    "action": action,
                }
            }
            for number in range(5)
        ]
        return {"settings": {"entropy_window_size": 5, "no_such_setting": 1}, "events": events}

    @pytest.mark.parametrize(
        "expected",
        [
            {"fields": {"uniqueness.score": [1.0, 0.5, 0.3333, 0.25, 0.21]}},
            {"fields": {"uniqueness.score": [1.0, 0.5, 0.3333, 0.25]}},
            {"fields": {"uniqueness.score": ["*", "*", "*", "*", None]}},
            {"fields": {"status": ["*", "*", "*", "*", "duplicate"]}},
            {"fields": {"repeat.fired": ["*", "*", 1, "*", "*"]}},
            {"fields": {"node_state": ["*", "*", "*", "*", "blocked"]}},
            {"emitted_scope": ["entropy_alert"], "emitted": []},
            {"emitted_scope": ["entropy_alert"], "emitted": [{"at": 4, "event_type": "entropy_alert"}]},
            {"emitted": [{"at": 5, "event_type": "entropy_alert", "topic": "internal"}]},
            {"emitted": [{"at": 5, "event_type": "entropy_alert", "repeated_pattern": {"intent": "plan"}}]},
            {
                "emitted": [
                    {"at": 5, "event_type": "entropy_alert"},
                    {"at": 3, "event_type": "divergence_suspected"},
                ]
            },
            {"warnings": []},
            {"verdict": {"level_min": "NORMAL", "level_max": "WARNING"}},
        ],
    )
    def test_it_finds_what_is_wrong(self, told: dict[str, Any], expected: dict[str, Any]) -> None:
        assert list(mismatches(expected, play(told)))

    def test_it_finds_nothing_wrong_with_what_is_right(self, told: dict[str, Any]) -> None:
        alert = {
            "at": 5,
            "event_type": "entropy_alert",
            "topic": "entropy-alerts",
            "repeated_pattern": {"intent": "search"},
        }
        expected = {
            "fields": {
                "uniqueness.score": ["*", 0.5, 0.3333, 0.25, 0.2],
                "status": ["ok"] * 5,
                "repeat.fired": [False, False, True, False, False],
                "nowhere.to.be.found": [None] * 5,
            },
            "emitted_scope": ["entropy_alert"],
            "emitted": [{"at": 3, "event_type": "divergence_suspected"}, alert],
            "warnings": ["no_such_setting"],
            "verdict": {"level_min": "LOOP", "level_max": "LOOP"},
        }
        assert list(mismatches(expected, play(told))) == []
