"""Tests run in a home of their own, and the programs that they start find what they need."""

from pathlib import Path

from streams.formats.sources import known_places
from tests.empty_home import KEPT, enter


def test_this_test_has_a_home_without_logs() -> None:
    assert Path.home().name.startswith("eddy-home-")
    assert not any(place.files for place in known_places(Path.home()))


def test_the_home_is_empty_and_goes_with_the_run(tmp_path: Path) -> None:
    own = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "PATH": "/bin"}
    environment = dict(own)
    leave = enter(environment)
    home = Path(environment["HOME"])
    assert list(home.iterdir()) == []
    assert environment == {"HOME": str(home), "PATH": "/bin"}
    leave()
    assert not home.exists()
    assert environment == own


def test_programs_are_told_where_their_things_are_unless_somebody_has(tmp_path: Path) -> None:
    for folder in (".cargo", ".rustup", ".local/share/containers"):
        (tmp_path / folder).mkdir(parents=True)
    environment = {"HOME": str(tmp_path), "RUSTUP_HOME": "/elsewhere"}
    leave = enter(environment)
    told = {name: environment.get(name) for name in KEPT}
    leave()
    assert {name: place for name, place in told.items() if place} == {
        "CARGO_HOME": str(tmp_path / ".cargo"),
        "RUSTUP_HOME": "/elsewhere",
        "XDG_DATA_HOME": str(tmp_path / ".local" / "share"),
    }


def test_a_machine_without_a_home_is_enough() -> None:
    environment: dict[str, str] = {}
    leave = enter(environment)
    assert list(Path(environment["HOME"]).iterdir()) == []
    leave()
    assert environment == {}
