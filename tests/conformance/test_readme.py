"""The documented vectors: the README counts them right, and the harness it shows runs them."""

import json
import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from streams.core.domain.outcome import Scored
from tests.conformance.harness import Played, field_value
from tests.conformance.test_functions import FUNCTIONS
from tests.conftest import VECTORS
from tests.stream import Stream

README = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
# What a task profile says stands beside the stream of records; `harness.py` has it.
NOT_ADAPTED = {"recommendation"}


def test_every_file_is_listed_with_its_number_of_vectors() -> None:
    rows = re.findall(r"^\| `vectors/(\S+)` \| (\d+) \|", README, re.MULTILINE)
    listed = {name: int(count) for name, count in rows}
    counted = {path.name: json.loads(path.read_text())["count"] for path in VECTORS.glob("*.json")}
    assert listed == counted
    functions = counted.pop("functions.json")
    assert f"{sum(counted.values())} sequences of records and {functions} calls" in " ".join(README.split())


def test_every_key_of_a_vector_and_every_function_is_explained() -> None:
    documents = [json.loads(path.read_text()) for path in VECTORS.glob("*.json")]
    vectors = [vector for document in documents for vector in document["vectors"]]
    streams = [vector for vector in vectors if "events" in vector]
    keys = {key for vector in vectors for key in vector} | {key for v in streams for key in v["expected"]}
    keys |= {key for vector in streams for event in vector["events"] for key in event}
    keys |= FUNCTIONS.keys()
    assert {key for key in keys if not re.search(rf"[`\"]{key}\b", README)} == set()


class Adapter:
    """Eddy as the README wants an implementation."""

    def start(self, settings: Mapping[str, Any]) -> None:
        self._stream = Stream(**settings)

    def set(self, changes: Mapping[str, Any]) -> None:
        self._stream.set(**changes)

    def apply(self, event: Mapping[str, Any]) -> dict[str, Any]:
        outcome = self._stream.apply(self._stream.record(**event))
        told = {
            "status": field_value(outcome, "status"),
            "emitted": [{k: v for k, v in each.items() if k != "at"} for each in Played([outcome]).emitted()],
        }
        if isinstance(outcome, Scored):
            told |= outcome.enriched["eddy"]
            told["node_state"] = outcome.node_state
            told["entropy_score_out"] = field_value(outcome, "entropy_score_out")
        return told

    def warnings(self) -> list[str]:
        return [warning.setting for warning in self._stream.warnings]


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """The names that the code of the README defines."""
    [code] = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    return names


def vectors_of(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))[
        "vectors"
    ]
    for vector in found:
        fields = vector["expected"].get("fields", {})
        vector["expected"]["fields"] = {path: v for path, v in fields.items() if path not in NOT_ADAPTED}
    return found


@pytest.mark.parametrize("name", sorted(p.stem for p in VECTORS.glob("*.json") if p.stem != "functions"))
def test_the_harness_of_the_readme_runs_every_vector(shown: dict[str, Any], name: str) -> None:
    for vector in vectors_of(name):
        assert shown["check"](vector, Adapter()) == [], vector["name"]


def wrong_value(expected: dict[str, Any]) -> None:
    expected["fields"]["uniqueness.score"][0] = 0.9


def event_too_many(expected: dict[str, Any]) -> None:
    expected["emitted_scope"] = ["node_state"]
    expected["emitted"] = []


def event_that_is_not_there(expected: dict[str, Any]) -> None:
    expected["emitted"] = [{"at": 1, "event_type": "entropy_alert"}]


def warning_that_is_not_there(expected: dict[str, Any]) -> None:
    expected["warnings"] = ["entropy_window_size"]


def level_out_of_bounds(expected: dict[str, Any]) -> None:
    expected["verdict"] = {"level_min": "NORMAL", "level_max": "WARNING"}


@pytest.mark.parametrize(
    "spoil",
    [wrong_value, event_too_many, event_that_is_not_there, warning_that_is_not_there, level_out_of_bounds],
)
def test_the_harness_of_the_readme_can_say_no(
    shown: dict[str, Any], spoil: Callable[[dict[str, Any]], None]
) -> None:
    [vector] = [each for each in vectors_of("seed003") if each["name"] == "003_fr93_all_identical"]
    vector = deepcopy(vector)
    assert shown["check"](vector, Adapter()) == []
    spoil(vector["expected"])
    assert len(shown["check"](vector, Adapter())) == 1
