"""The command `eddy` as a whole: its commands, its errors, its exit codes."""

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version

import click
import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.cli.command_group import LazyGroup
from streams.cli.version import described
from streams.core.errors import ConfigurationError, EddyError, InfrastructureError


def group_with(action: Callable[[], None]) -> click.Group:
    @click.group(cls=LazyGroup, commands_in={})
    def group() -> None:
        """Stand for eddy."""

    @group.command()
    def act() -> None:
        action()

    return group


def failing(error: BaseException) -> Callable[[], None]:
    def action() -> None:
        raise error

    return action


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (EddyError("the session is gone"), 1),
        (ConfigurationError("the file is gone"), 2),
        (InfrastructureError("the broker is gone"), 3),
    ],
)
def test_an_error_of_ours_is_a_sentence_and_an_exit_code(error: EddyError, code: int) -> None:
    result = CliRunner().invoke(group_with(failing(error)), ["act"])
    assert (result.exit_code, result.stderr, result.stdout) == (code, f"eddy: {error}\n", "")


def test_an_interruption_is_130() -> None:
    assert CliRunner().invoke(group_with(failing(KeyboardInterrupt())), ["act"]).exit_code == 130


def test_a_mistake_of_ours_is_not_hidden() -> None:
    result = CliRunner().invoke(group_with(failing(ZeroDivisionError())), ["act"])
    assert isinstance(result.exception, ZeroDivisionError)


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_the_commands(option: str) -> None:
    result = CliRunner().invoke(main, [option])
    assert result.exit_code == 0
    assert "detect" in result.stdout


@pytest.mark.parametrize("words", [[], ["topics"], ["config"]])
def test_a_group_without_a_command_shows_its_help_in_lines(words: list[str]) -> None:
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert result.stderr == CliRunner().invoke(main, [*words, "--help"]).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["detct"], "No such command 'detct'. Did you mean 'detect'?"),
        (["topics", "paln"], "No such command 'paln'. Did you mean 'plan'?"),
        (["tops"], "No such command 'tops'. Did you mean 'top' or 'topics'?"),
        (["xyzzy"], "No such command 'xyzzy'."),
        (["de\x1b[2Jtect"], "No such command 'de\\x1b[2Jtect'. Did you mean 'detect'?"),
        (["--detct"], "No such option: --detct"),
    ],
)
def test_a_misspelt_command_is_answered_with_the_names_near_it(words: list[str], said: str) -> None:
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (2, f"Error: {said}")


def test_the_one_line_help_is_that_of_the_command() -> None:
    assert isinstance(main, LazyGroup)
    context = click.Context(main)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        formatter = click.HelpFormatter(width=200)
        main.format_commands(context, formatter)
        assert f"{name} " in formatter.getvalue()
        assert command.get_short_help_str(200) in formatter.getvalue()


def test_version_is_that_of_the_distribution() -> None:
    said = CliRunner().invoke(main, ["--version"]).stdout
    assert said == f"eddy, version {described()}\n"
    assert version("eddy-streams") in said


def test_an_unknown_command_is_wrong_usage() -> None:
    assert CliRunner().invoke(main, ["nonsense"]).exit_code == 2


@pytest.mark.parametrize("arguments", [["--help"], ["detect", "--help"]])
def test_neither_help_nor_detect_import_faust(arguments: list[str]) -> None:
    code = (
        f"import sys; from streams.cli import main; main({arguments!r}, standalone_mode=False);"
        "sys.exit('faust' in sys.modules or 'aiokafka' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


ENGINE = ("faust", "mode", "rocksdict", "aiokafka", "aiohttp", "fastavro")


@pytest.mark.parametrize(
    ("command", "absent"),
    [
        ("worker", ENGINE),  # a supervisor is a third of a worker
        ("bridge", ENGINE),
        ("hook", (*ENGINE, "rich", "pydantic")),  # an agent waits for it at each call
        ("version", (*ENGINE, "rich", "pydantic")),
        ("detect", ENGINE[:-1]),
        ("explain", ENGINE[:4]),
    ],
)
def test_a_command_imports_nothing_that_only_others_need(command: str, absent: tuple[str, ...]) -> None:
    code = f"import sys, streams.cli.{command};print(*{{each.partition('.')[0] for each in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & set(absent) == set()


@pytest.mark.parametrize("words", [["topics", "plan"], ["session", "commands", "s-17"], ["console"]])
def test_a_broker_that_cannot_be_reached_is_one_error(words: list[str]) -> None:
    command = [sys.executable, "-m", "streams", *words, "--bootstrap-servers", "127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout) == (3, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("eddy: No broker answers at 127.0.0.1:1 ")
