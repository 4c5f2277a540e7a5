"""`eddy guard`: hooks of coding agents written and removed, and agents of this machine stopped by hand."""

from __future__ import annotations

import difflib
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
import orjson
from eddy_client.protocol import Action

from streams.cli.command_group import PROBLEM_FOUND, CommandGroup
from streams.cli.guard_run import run
from streams.cli.text.screen import echo, echo_lines
from streams.core.domain.text.printable import escaped
from streams.core.errors import ConfigurationError
from streams.formats.agent_hooks import asking
from streams.formats.agent_hooks.program import AFTER_SECONDS, BEFORE_SECONDS, MARK, HookMoment, HookProgram
from streams.formats.agent_hooks.registry import PROGRAMS

_SECONDS: Final = {HookMoment.BEFORE: BEFORE_SECONDS, HookMoment.AFTER: AFTER_SECONDS}

_program = click.argument("program", type=click.Choice(list(PROGRAMS)))
_project = click.option(
    "--project", is_flag=True, help="Of the project in this folder, and not of all your sessions."
)
_yes = click.option("-y", "--yes", is_flag=True, help="Do not ask.")


@click.group(cls=CommandGroup)
def guard() -> None:
    """Let `eddy watch` tell and stop the coding agents of this machine, by their own hooks."""


guard.add_command(run)


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
    """Say which programs have the hooks, and whether a watch runs; 1 if none does."""
    has_some = False
    for hooks in PROGRAMS.values():
        for is_project in (False, True):
            file = _file(hooks, is_project=is_project)
            if (text := _text(file)) is not None and f" {MARK} " in text:
                has_some = True
                echo(f"{hooks.title}: {file}")
    if not has_some:
        echo("No program has the hooks: `eddy guard install` writes them.")
    try:
        asking.exchanged(b'{"ping":true}\n')
    except (OSError, ValueError) as error:
        meanwhile = ": hooks let every call pass, or refuse it if they were installed so" if has_some else ""
        echo(f"No `eddy watch` answers at {asking.path()} ({error}){meanwhile}.")
        click.get_current_context().exit(PROBLEM_FOUND)
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
    words = {name: each.encode("utf-8", "replace").decode() for name, each in request.items()}
    try:
        problem = asking.exchanged(orjson.dumps(words) + b"\n")
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"No `eddy watch` answers at {asking.path()} ({error}). Start it, and look at what it says"
        ) from error
    if problem:
        raise ConfigurationError(problem)
    echo("Asked. `eddy watch` shows when it is in effect.")


def _file(hooks: HookProgram, *, is_project: bool) -> Path:
    """Return the file of the hooks.

    Raises:
        ConfigurationError: a project has a link in its place that leads elsewhere.
    """
    file = Path(hooks.place(Path.cwd() if is_project else Path.home(), is_project, os.environ))
    if is_project and not file.resolve().is_relative_to(Path.cwd().resolve()):
        raise ConfigurationError(
            f"{file} leads out of this project, to {file.resolve()}. It is left as it is"
        )
    return file


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
        else:
            _replace(file.resolve(), after.encode())
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{file} cannot be written: {error}") from error


def _replace(target: Path, text: bytes) -> None:
    """Write a file as a whole, with the mode that it has; a new one is its user's alone."""
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    descriptor, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(text)
        Path(beside).replace(target)
    except BaseException:
        Path(beside).unlink()
        raise
