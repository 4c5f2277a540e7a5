"""A command group whose help shows the first sentence of each command whole."""

from __future__ import annotations

import click

from streams.cli.suggesting_group import SuggestingGroup

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
