"""What Eddy adds to the verdict of its requirements, by vectors of its own."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.conformance.harness import Delivery, mismatches, play

DOCUMENT = orjson.loads((Path(__file__).parent / "additions" / "verdict.json").read_bytes())


@pytest.mark.parametrize("delivery", Delivery)
@pytest.mark.parametrize("case", DOCUMENT["vectors"], ids=lambda case: case["name"])
def test_vector(case: dict[str, Any], delivery: Delivery) -> None:
    assert list(mismatches(case["expected"], play(case, delivery))) == []


def test_the_file_says_how_many_there_are() -> None:
    assert len({case["name"] for case in DOCUMENT["vectors"]}) == DOCUMENT["count"]
