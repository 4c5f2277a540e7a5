"""A shell completes commands, options and names of settings, and does not wait for what it does not need."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import CompletionItem, ShellComplete
from click.testing import CliRunner

from streams.cli import main


def completions(*words: str) -> list[CompletionItem]:
    """Return what follows the words; the last one is not finished."""
    *before, begun = words
    return ShellComplete(main, {}, "eddy", "_EDDY_COMPLETE").get_completions(list(before), begun)


def test_a_command_is_completed_with_its_help() -> None:
    (found,) = completions("det")
    assert (found.value, found.type) == ("detect", "plain")
    assert found.help == "Find the loops in the logs of your agents, without Kafka."


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("config", "desc"), ["describe"]),
        (("detect", "--only"), ["--only-loops"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("--ver",), ["--version"]),
        (("config", "get", "cycle_loo"), ["cycle_loop"]),
        (("config", "describe", "cycle_loo"), ["cycle_loop"]),
        (("config", "set", "cycle_loo"), ["cycle_loop"]),
        (("config", "set", "--unset", "cycle_loo"), ["cycle_loop"]),
    ],
    ids=str,
)
def test_everything_below_a_command_is_completed_too(words: tuple[str, ...], expected: list[str]) -> None:
    assert [found.value for found in completions(*words)] == expected


def test_a_file_is_left_to_the_shell() -> None:
    assert [found.type for found in completions("detect", "run")] == ["file"]


def test_the_names_of_commands_need_none_of_their_modules() -> None:
    """Kafka and Faust take a second, and a person waits at each press of the key."""
    code = (
        "import sys; from streams.cli import main\n"
        "try: main(prog_name='eddy')\n"
        "except SystemExit: pass\n"
        "heavy = {'faust', 'aiokafka', 'pydantic', 'streams.cli.detect'} & sys.modules.keys()\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    asked = {"_EDDY_COMPLETE": "bash_complete", "COMP_WORDS": "eddy\nde", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["plain,demo", "plain,detect"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_of_its_own(shell: str) -> None:
    script = CliRunner().invoke(main, ["completion", shell]).stdout
    assert f"_EDDY_COMPLETE={shell}_complete" in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_with_the_script_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "eddy.sh").write_text(CliRunner().invoke(main, ["completion", "bash"]).stdout)
    typed = "COMP_WORDS=(eddy config hist); COMP_CWORD=2; _eddy_completion eddy; echo ${COMPREPLY[@]}"
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", f"source eddy.sh; {typed}"],
        cwd=tmp_path,
        env=os.environ | {"PATH": programs},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("history\n", "")
