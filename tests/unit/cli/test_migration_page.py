"""What docs/migration.md tells people to type can be typed."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.core.settings_document import RANGES

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "migration.md").read_text()


def test_the_records_that_the_page_names_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    [command] = re.findall(r"^\$ eddy (detect .*)$", PAGE, re.MULTILINE)
    assert CliRunner().invoke(main, shlex.split(command)).exit_code == 0


def test_the_command_that_lets_go_of_the_old_limits_names_settings() -> None:
    [command] = re.findall(r"^\$ eddy (config set .*--unset.*)$", PAGE, re.MULTILINE)
    words = shlex.split(command)
    unset = {name for option, name in pairwise(words) if option == "--unset"}
    assert unset
    assert unset <= RANGES.keys()
