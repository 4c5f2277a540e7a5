"""The bodies that receivers get, letter by letter, so that a change of one is seen by its reviewer."""

import pytest

from tests.unit.alerts.sinks.alerts import SINKS
from tests.unit.alerts.sinks.golden_requests import FOLDER, requests


@pytest.mark.parametrize("sink", SINKS)
def test_a_sink_sends_what_it_has_sent_before(sink: str) -> None:
    assert requests(sink) == (FOLDER / f"{sink}.txt").read_text()


def test_no_file_is_left_of_a_sink_that_is_gone() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(SINKS)
