"""What docs/explain.md shows is what the commands print."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main
from tests.quoted_detectors import quoted

ROOT = Path(__file__).parents[4]
SHOWN = re.findall(
    r"^```console\n\$ eddy (.*)\n((?:.|\n)*?)^```$", (ROOT / "docs" / "explain.md").read_text(), re.MULTILINE
)


@pytest.mark.parametrize(("command", "printed"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_page_shows_what_is_printed(
    command: str, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "streams").symlink_to(ROOT / "streams")
    (tmp_path / "small.json").write_text('{"entropy_window_size": 4}')
    monkeypatch.chdir(tmp_path)
    assert quoted(CliRunner().invoke(main, shlex.split(command)).stdout) == printed


def test_the_page_shows_each_command() -> None:
    assert [command.split()[0] for command, _ in SHOWN] == ["explain", "config", "config"]
