"""The home that `make test-home` makes has logs in every place that Eddy knows."""

from pathlib import Path

from streams.formats.sources import known_places
from tests.full_home import fill


def test_every_known_place_has_logs(tmp_path: Path) -> None:
    files = fill(tmp_path)
    places = known_places(tmp_path)
    assert places
    assert {place.format.name: bool(place.files) for place in places} == {
        place.format.name: True for place in places
    }, "tests/samples has a folder for each, with a file that is named like those of the agent"
    assert sorted(name for place in places for name in place.files) == sorted(map(str, files))
