"""A change of settings as people type it: the options of `eddy config`, its words, and its author."""

from __future__ import annotations

import getpass
import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from streams.cli.variables import brokers_option
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.settings_document import RANGES, to_document, typed

BOOTSTRAP = brokers_option
AS_JSON = click.option("--json", "as_json", is_flag=True, help="For machines.")


def complete_name(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Return the settings that begin so, for a shell."""
    return [name for name in RANGES if name.startswith(begun)]


PAIRS = click.argument("pairs", nargs=-1, metavar="NAME=VALUE...", shell_complete=complete_name)
UNSET = click.option(
    "--unset", multiple=True, metavar="NAME", help="Back to the default.", shell_complete=complete_name
)
WHY = click.option("--why", default="", help="Kept in the history.")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Check the changes and show them; publish nothing.")


def assignments(pairs: Sequence[str], unset: Sequence[str]) -> dict[str, Any]:
    """Return the changes that the words of a command ask for.

    Raises:
        UsageError: a word is no assignment, a name no setting, a name stands there twice, or there is
            nothing to change.
    """
    defaults = to_document(DEFAULTS)
    changes: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise click.UsageError(f"{pair!r} is no NAME=VALUE.")
        if name in changes:
            raise click.UsageError(f"{name} is named twice. Give one value for it.")
        changes[name] = typed(text)
    for name in unset:
        if name not in defaults:
            raise click.UsageError(f"There is no setting {name}.")
        if name in changes:
            raise click.UsageError(f"{name} is named twice. Give a value for it, or --unset.")
        changes[name] = defaults[name]
    if not changes:
        raise click.UsageError("Nothing to change: give NAME=VALUE or --unset NAME.")
    return changes


def change_lines(before: DetectionSettings, after: DetectionSettings, named: Iterable[str]) -> Iterator[str]:
    """Yield a line for each setting named: its old and its new value, or that it stays as it is.

    >>> from dataclasses import replace
    >>> list(change_lines(DEFAULTS, replace(DEFAULTS, cycle_loop=4), ["cycle_loop", "cycle_warn"]))
    ['  cycle_loop: 3 → 4', '  cycle_warn: stays 2']
    """
    old, new = to_document(before), to_document(after)
    for name in named:
        value, before_it = json.dumps(new[name]), json.dumps(old[name])
        yield f"  {name}: stays {value}" if value == before_it else f"  {name}: {before_it} → {value}"


def changed_now(why: str) -> dict[str, Any]:
    """Return when a change is made, by whom and why: now, by this user."""
    return {"at": int(time.time() * 1000), "by": user(), "why": why}


def user() -> str:
    """Return who runs the command."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number that no user has
        return f"user {os.getuid()}"
