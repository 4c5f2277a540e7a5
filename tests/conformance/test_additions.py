"""What Eddy adds to its requirements, by vectors of its own."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.conformance.harness import Delivery, mismatches, play

FILES = sorted((Path(__file__).parent / "additions").glob("*.json"))
DOCUMENTS = [orjson.loads(path.read_bytes()) for path in FILES]
CASES = [case for document in DOCUMENTS for case in document["vectors"]]


@pytest.mark.parametrize("delivery", Delivery)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_vector(case: dict[str, Any], delivery: Delivery) -> None:
    assert list(mismatches(case["expected"], play(case, delivery))) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=[path.stem for path in FILES])
def test_each_file_says_how_many_there_are(document: dict[str, Any]) -> None:
    assert len({case["name"] for case in document["vectors"]}) == document["count"]
