from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from streams.core.detectors.registry import DETECTORS, in_order
from streams.core.detectors.repeat.detector import Repeat
from tests.quoted_detectors import is_quoted


def reading(name: str, *others: str) -> Any:
    @dataclass(frozen=True, slots=True)
    class Reading(Repeat):
        reads: ClassVar[tuple[str, ...]] = others

    Reading.name = name
    return Reading()


def names(*detectors: Any) -> list[str]:
    return [detector.name for detector in in_order(detectors)]


def test_detectors_look_in_the_order_of_the_specification() -> None:
    found = [detector.name for detector in DETECTORS if is_quoted(detector.name)]
    assert found == ["verdict", "uniqueness", "repeat", "patterns", "loop", "budget", "drift", "metrics"]


def test_a_detector_looks_after_those_that_it_reads_and_else_in_the_order_given() -> None:
    assert names(reading("a"), reading("b"), reading("c")) == ["a", "b", "c"]
    assert names(reading("a", "c"), reading("b"), reading("c")) == ["c", "a", "b"]
    assert names(reading("a", "b", "c"), reading("b", "d"), reading("c"), reading("d")) == [
        "d",
        "b",
        "c",
        "a",
    ]


def test_a_detector_cannot_read_one_that_is_not_there() -> None:
    with pytest.raises(KeyError, match="absent"):
        in_order([reading("a", "absent")])
