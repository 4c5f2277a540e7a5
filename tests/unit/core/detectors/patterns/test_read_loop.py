import pytest

from streams.core.detectors.patterns.read_loop import is_read_loop
from tests.acts import window


@pytest.mark.parametrize(
    ("acts", "loop"),
    [
        (["r f h0"] * 3, True),
        (["r f h0"] * 2, False),
        (["r f -"] * 3, True),
        (["r f h0", "r f -", "r f h0"], True),
        (["r f h0", "r f h0", "r f h1"], False),
        (["r f -", "r f -", "r f h1"], True),
        (["r f h0", "r f h0", "w f h0", "r f h0"], True),
        (["r f h0", "r f h0", "w f h1", "r f h1"], False),
        (["r f h0", "r f h0", "w f -", "r f h0"], False),
        (["r f -", "r f -", "w f h1", "r f h1"], False),
        (["r f h0", "w f -", "r f -", "r f h1", "r f h1"], True),
        (["r f h0", "r f h0", "u f h1", "r f h0"], True),
        (["r f h0", "r f h0", "w g h9", "r f h0"], True),
        (["r f h0", "r g h0", "r f h0"], False),
        (["r f h0", "c f h1", "f f h1", ". f h1", "r f h0", "r f h0"], True),
        (["r"] * 3, False),
        ([*["r f h0"] * 3, "."], False),
        ([*["r f h0"] * 3, "w f h0"], False),
    ],
)
def test_reads_since_the_last_change(acts: list[str], loop: bool) -> None:
    assert is_read_loop(window(*acts), theta=3) is loop


def test_the_window_of_the_tests_is_one() -> None:
    assert window("r f h0", ".", "r f h0").places == "A.A"
