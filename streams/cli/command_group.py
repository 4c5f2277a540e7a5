"""Command groups: import a command when it is called, suggest near names, show first sentences whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click
from click.shell_completion import CompletionItem

from streams.cli.text.screen import echo_lines
from streams.core.domain.text.printable import escaped
from streams.core.errors import ConfigurationError, EddyError, InfrastructureError


class SuggestingGroup(click.Group):
    """A group of commands; click of these versions suggests near names for options only."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first argument names.

        Raises:
            click.UsageError: there is none of that name.
        """
        name = args[0]
        is_unknown = not name.startswith("-") and self.get_command(ctx, name) is None
        if is_unknown and not ctx.resilient_parsing:
            near = get_close_matches(name, self.list_commands(ctx))
            question = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            ctx.fail(f"No such command {name!r}.{question}")
        return super().resolve_command(ctx, args)


PROBLEM_FOUND = 1
WRONG_INPUT = 2
BROKER_UNREACHABLE = 3
INTERRUPTED = 130


class LazyGroup(SuggestingGroup):
    """Commands live in modules of `streams.cli` that are named like them, in an attribute of that name.

    ``eddy detect`` then never pays for importing Faust. ``commands_in`` maps each name to its one-line help,
    so that ``eddy --help`` imports nothing either; a name whose module is not installed is left out.
    """

    def __init__(self, *args: Any, commands_in: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._commands_in = commands_in

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands there are."""
        return sorted([*super().list_commands(ctx), *filter(_is_installed, self._commands_in)])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in self._commands_in or not _is_installed(cmd_name):
            return super().get_command(ctx, cmd_name)
        command = getattr(import_module(_module(cmd_name)), _attribute(cmd_name))
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        rows = [(name, self._commands_in.get(name, "")) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Name the commands that begin so, without importing them: somebody waits at a prompt."""
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=self._commands_in.get(name)) for name in names]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the command line as far as the command's name."""
        with _escaping():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what Eddy raises becomes a message on standard error and an exit code."""
        try:
            with _escaping():
                return super().invoke(ctx)
        except EddyError as error:
            first, *more = str(error).splitlines() or [""]
            echo_lines([f"eddy: {first}", *(f"  {line}" for line in more)], err=True)
            ctx.exit(exit_code(error))
        except BrokenPipeError:
            # The reader of the output has closed it. Python would complain when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


@contextmanager
def _escaping() -> Iterator[None]:
    """Escape what click says of a wrong command line: it quotes words and file names as they are."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise  # It quotes nothing: the message is the help of a group that was called without a command.
    except click.ClickException as error:
        error.message = escaped(error.message)
        raise


def exit_code(error: EddyError) -> int:
    """The exit code of an error.

    >>> exit_code(InfrastructureError()), exit_code(ConfigurationError()), exit_code(EddyError())
    (3, 2, 1)
    """
    match error:
        case InfrastructureError():
            return BROKER_UNREACHABLE
        case ConfigurationError():
            return WRONG_INPUT
        case _:
            return PROBLEM_FOUND


def _attribute(command: str) -> str:
    return command.replace("-", "_")


def _module(command: str) -> str:
    return f"streams.cli.{_attribute(command)}"


def _is_installed(command: str) -> bool:
    return find_spec(_module(command)) is not None


_LONGEST = 200


class CommandGroup(SuggestingGroup):
    """A group of commands; click would cut their sentences to fit the line, this breaks them instead."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their first sentences."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, each.get_short_help_str(_LONGEST)) for name, each in commands if each is not None]
            )
