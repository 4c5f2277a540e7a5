"""What docs/migration.md shows is what the command prints, and the settings it keeps are the old defaults."""

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.detectors.settings import DEFAULTS
from streams.settings_document.document import resolve
from streams.settings_document.earlier_defaults import V1_DEFAULTS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "migration.md").read_text()


def test_the_page_shows_what_the_backtest_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    [(command, printed)] = re.findall(r"^\$ eddy (backtest .*)\n((?:.|\n)*?)^```$", PAGE, re.MULTILINE)
    assert CliRunner().invoke(main, shlex.split(command)).stdout == printed


def test_the_command_that_keeps_the_old_defaults_keeps_them() -> None:
    [command] = re.findall(r"^\$ eddy (config set .*verdict_rules=.*)$", PAGE, re.MULTILINE)
    pairs = dict(word.split("=", 1) for word in shlex.split(command) if "=" in word)
    assert {name: json.loads(value) for name, value in pairs.items()} == V1_DEFAULTS


def test_the_old_defaults_can_be_and_differ_from_those_of_today() -> None:
    settings, warnings = resolve(V1_DEFAULTS, DEFAULTS, 0)
    assert warnings == ()
    assert all(getattr(settings, name) != getattr(DEFAULTS, name) for name in V1_DEFAULTS)
