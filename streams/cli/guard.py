"""`eddy guard`: hooks of coding agents written and removed, and agents of this machine stopped by hand."""

from __future__ import annotations

import difflib
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
import orjson
from eddy_client.protocol import Action

from streams.cli.command_group import CommandGroup
from streams.cli.text.screen import echo, echo_lines
from streams.core.domain.text.printable import escaped
from streams.core.errors import ConfigurationError
from streams.formats.agent_hooks import asking
from streams.formats.agent_hooks.program import AFTER_SECONDS, BEFORE_SECONDS, MARK, HookMoment, HookProgram
from streams.formats.agent_hooks.registry import PROGRAMS

_SECONDS: Final = {HookMoment.BEFORE: BEFORE_SECONDS, HookMoment.AFTER: AFTER_SECONDS}
_ANSWER_SECONDS: Final = 5.0

_program = click.argument("program", type=click.Choice(list(PROGRAMS)))
_project = click.option(
    "--project", is_flag=True, help="Of the project in this folder, and not of all your sessions."
)
_yes = click.option("-y", "--yes", is_flag=True, help="Do not ask.")


@click.group(cls=CommandGroup)
def guard() -> None:
    """Let `eddy watch` tell and stop the coding agents of this machine, by their own hooks."""


@guard.command()
@_program
@_project
@_yes
@click.option(
    "--if-lost",
    type=click.Choice(["go", "refuse"]),
    default="go",
    show_default=True,
    help="What becomes of a call of a tool while no watch runs.",
)
def install(program: str, *, project: bool, yes: bool, if_lost: str) -> None:
    """Write the hooks of a program, once you have seen what is written.

    The hooks ask the `eddy watch` of this machine before and after each call of a tool. Everything else in
    the file stays. `eddy guard uninstall` takes them out again.

    \b
    Examples:
      eddy guard install claude-code
      eddy guard install codex --project --if-lost refuse
    """  # noqa: D301
    hooks = PROGRAMS[program]
    file = _file(hooks, is_project=project)
    before = _text(file)

    def command(moment: HookMoment) -> str:
        return " ".join(
            [
                *map(shlex.quote, _eddy()),
                f"{MARK} {hooks.name} {moment} --timeout {_SECONDS[moment]} --if-lost {if_lost}",
            ]
        )

    try:
        after = hooks.installed(before, command)
    except ValueError as error:
        raise ConfigurationError(
            f"{file} is left as it is, since it cannot be read ({error}). Mend it, or add the hooks by hand: "
            f"{hooks.source}"
        ) from error
    _write(file, before, after, yes=yes)
    echo(f"{hooks.title} asks from its next start on. Run `eddy watch` beside it.")
    if hooks.then:
        echo(hooks.then)


@guard.command()
@_program
@_project
@_yes
def uninstall(program: str, *, project: bool, yes: bool) -> None:
    """Take the hooks of a program out again."""
    hooks = PROGRAMS[program]
    file = _file(hooks, is_project=project)
    before = _text(file)
    try:
        after = None if before is None else hooks.removed(before)
    except ValueError as error:
        raise ConfigurationError(f"{file} cannot be read ({error}): take the hooks out by hand") from error
    if before is None or after == before:
        echo(f"There is no hook of Eddy in {file}.")
        return
    _write(file, before, after, yes=yes)


@guard.command()
def status() -> None:
    """Say which programs have the hooks, and whether a watch runs."""
    for hooks in PROGRAMS.values():
        for is_project in (False, True):
            file = _file(hooks, is_project=is_project)
            if (text := _text(file)) is not None and f" {MARK} " in text:
                echo(f"{hooks.title}: {file}")
    try:
        asking.exchanged(b'{"ping":true}\n', _ANSWER_SECONDS)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"No `eddy watch` answers at {asking.path()} ({error}): hooks let every call pass, or refuse it "
            "if they were installed so"
        ) from error
    echo(f"`eddy watch` answers at {asking.path()}.")


@guard.command(hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def hook(arguments: Sequence[str]) -> None:
    """Ask for a program; it gives what it knows of the call on standard input."""
    if sys.stdin.isatty():
        raise click.UsageError("Agents run this as a hook: `eddy guard install` writes it.")
    asking.main(arguments)


def _stopping(action: Action, words: str) -> None:
    """Register a command that asks the watch to do something to a session."""

    @guard.command(name=action.value, help=words, short_help=words)
    @click.argument("session")
    @click.option("--why", required=True, help="What the agent and the journal are told.")
    def command(session: str, why: str) -> None:
        _ask({"action": action, "session": session, "why": why})


_stopping(Action.PAUSE, "Let a session wait before its next call of a tool, for an hour at most.")
_stopping(Action.RESUME, "Let a paused session go on.")
_stopping(Action.ABORT, "End a session before its next call of a tool.")


@guard.command()
@click.argument("session")
@click.argument("message")
def note(session: str, message: str) -> None:
    """Give the model of a session something to read with its next call of a tool."""
    action = Action.INJECT_MESSAGE
    _ask({"action": action, "session": session, "why": "A person at a shell wrote it.", "message": message})


def _ask(request: dict[str, str]) -> None:
    try:
        problem = asking.exchanged(orjson.dumps(request) + b"\n", _ANSWER_SECONDS)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"No `eddy watch` answers at {asking.path()} ({error}). Start it, and look at what it says"
        ) from error
    if problem:
        raise ConfigurationError(problem)
    echo("Asked. `eddy watch` shows when it is in effect.")


def _file(hooks: HookProgram, *, is_project: bool) -> Path:
    return Path(hooks.place(Path.cwd() if is_project else Path.home(), is_project, os.environ))


def _text(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{file} cannot be read: {error}") from error


def _eddy() -> list[str]:
    """Return the command that runs this Eddy, whatever the PATH of the agent is."""
    beside = Path(sys.executable).with_name("eddy")
    found = str(beside) if beside.exists() else shutil.which("eddy")
    return [found] if found else [sys.executable, "-m", "streams"]


def _write(file: Path, before: str | None, after: str | None, *, yes: bool) -> None:
    """Show what changes, ask, and write it."""
    if before == after:
        echo(f"{file} is as it should be already.")
        return
    old, new = (before or "").splitlines(), (after or "").splitlines()
    name = str(file) if after is not None else "removed"
    changes = difflib.unified_diff(old, new, str(file), name, lineterm="")
    echo_lines(map(escaped, changes))
    if not yes and not click.confirm(f"Write {file}?" if after is not None else f"Remove {file}?"):
        raise click.Abort
    try:
        if after is None:
            file.unlink()
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        target = file.resolve()
        beside = target.with_name(f"{target.name}.eddy-new")
        beside.write_text(after, encoding="utf-8")
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be written: {error}") from error
