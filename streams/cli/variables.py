"""The environment of a command that reaches brokers: which of its variables nothing reads.

A misspelt name leaves the default in force, and the command asks another cluster. So each such command says
on standard error, once, which variables mean nothing to Eddy.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from streams.cli.text.screen import echo
from streams.observe.settings import unread

F = TypeVar("F", bound=Callable[..., Any])


def brokers_option(command: F) -> F:
    """Add `--bootstrap-servers` to a command, and the warning about variables that nothing reads."""
    option = click.option(
        "--bootstrap-servers", help="Brokers [EDDY_BOOTSTRAP_SERVERS].", callback=_warned_of_unread
    )
    return option(command)


def _warned_of_unread(context: click.Context, _: click.Parameter, value: str | None) -> str | None:
    if context.resilient_parsing:
        return value
    for each in unread(os.environ):
        echo(f"eddy: {each} is set, and nothing reads it. Correct the name, or unset it.", err=True)
    return value
