"""Whether the native core is in use: by the variable, and by what is installed."""

import os
import subprocess
import sys
from types import ModuleType

import pytest

from streams.core.errors import ConfigurationError
from streams.core.native import REVISION, choose

ABSENT = "eddy_native_that_is_not_installed"


@pytest.fixture
def core(monkeypatch):
    """A module that can be imported as a native core."""
    module = ModuleType("some_native_core")
    module.REVISION, module.VERSION = REVISION, "1.2.3"
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


@pytest.mark.parametrize("wanted", ["", "auto", "on"])
def test_it_is_in_use_where_it_is_installed(core, wanted):
    assert str(choose(wanted, core.__name__)) == "in use: eddy-native 1.2.3"


def test_it_is_not_in_use_where_it_is_turned_off(core):
    assert str(choose("off", core.__name__)) == "not in use: EDDY_NATIVE is off"


@pytest.mark.parametrize("wanted", ["", "auto"])
def test_it_is_not_missed_where_it_is_not_installed(wanted):
    assert str(choose(wanted, ABSENT)) == "not in use: eddy-native is not installed"


def test_one_that_is_made_for_another_eddy_is_not_used(core):
    core.REVISION = REVISION + 1
    assert choose("", core.__name__).in_use is False
    with pytest.raises(ConfigurationError, match=f"has revision {REVISION + 1}, this Eddy needs {REVISION}"):
        choose("on", core.__name__)


def test_one_that_cannot_be_loaded_is_not_used(tmp_path, monkeypatch):
    (tmp_path / "broken_native_core.py").write_text("raise ImportError('wrong ELF class')")
    monkeypatch.syspath_prepend(tmp_path)
    why = "eddy-native cannot be loaded (wrong ELF class)"
    assert str(choose("auto", "broken_native_core")) == f"not in use: {why}"


def test_who_wants_it_is_told_how_to_get_it():
    with pytest.raises(ConfigurationError, match=r"EDDY_NATIVE is on, .* installed\. Install it with `make"):
        choose("on", ABSENT)


def test_no_other_value_is_taken():
    with pytest.raises(ConfigurationError, match=r"EDDY_NATIVE is 'yes'\. It can be auto, on or off"):
        choose("yes")


def test_a_command_that_cannot_have_it_says_so_and_ends():
    command = [sys.executable, "-m", "streams", "detect", "streams/formats/recordings/read_loop.jsonl"]
    done = subprocess.run(
        command, env={**os.environ, "EDDY_NATIVE": "1"}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "eddy: EDDY_NATIVE is '1'. It can be auto, on or off.\n"
