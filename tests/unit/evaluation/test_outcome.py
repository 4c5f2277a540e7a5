"""How a session ended, in the words of its data set."""

import pytest

from streams.evaluation.outcome import solved


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({"solved": True}, True),
        ({"solved": False, "reward": 1.0}, False),
        ({"success": True}, True),
        ({"success": False}, False),
        ({"reward": 1.0}, True),
        ({"reward": 0.5}, False),
        ({"reward": 0}, False),
        ({"reward": True}, True),
        ({"reward": "1"}, True),
        ({"reward": "0"}, False),
        ({"outcome": "CORRECT"}, True),
        ({"outcome": "INCORRECT"}, False),
        ({"outcome": "HALTED"}, False),
    ],
)
def test_a_known_end_is_read(line: dict[str, object], expected: bool) -> None:
    assert solved(line) is expected


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"solved": None},
        {"reward": None},
        {"reward": "high"},
        {"outcome": "CANCELLED"},
        {"outcome": ["CORRECT"]},
        {"exit_status": "submitted"},
    ],
)
def test_an_end_that_nobody_told_is_neither_solved_nor_failed(line: dict[str, object]) -> None:
    assert solved(line) is None
