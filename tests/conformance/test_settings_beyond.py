"""The public cases of other systems under settings beyond the defaults."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from streams.core.domain.level import Level
from tests.conformance.harness import field_value, play

PEERS = orjson.loads((Path(__file__).parent / "vectors" / "peers.json").read_bytes())["vectors"]
JUDGED = [vector for vector in PEERS if "verdict" in vector["expected"]]
BEYOND = {
    "early": {"identical_warn": 2, "identical_failing_warn": 2, "identical_failing_loop": 3},
    "short cycles": {"cycle_max_period": 5},
    "no pauses": {"poll_gap_ms": 0, "failure_gap_ms": 0},
    "long window": {"verdict_window": 100},
}


@pytest.mark.parametrize("changes", BEYOND.values(), ids=BEYOND)
@pytest.mark.parametrize("case", JUDGED, ids=lambda case: case["name"])
def test_a_good_detector_stays_in_the_range(case: dict[str, Any], changes: dict[str, Any]) -> None:
    played = play({**case, "settings": {**case["settings"], **changes}})
    levels = [Level(field_value(outcome, "verdict.level")) for outcome in played.outcomes]
    highest = max(levels, key=lambda level: level.rank)
    wanted = case["expected"]["verdict"]
    assert Level(wanted["level_min"]).rank <= highest.rank <= Level(wanted["level_max"]).rank
