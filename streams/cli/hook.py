"""`eddy hook`: what Claude Code runs after each call of a tool."""

from __future__ import annotations

import sys

import click

from streams.formats import hook as hooks


@click.command()
def hook() -> None:
    """Keep what Claude Code gives its hooks, for `eddy ingest` and `eddy detect`.

    Reads one object of JSON from standard input and appends a line to ~/.local/state/eddy/hooks.jsonl, or to
    EDDY_HOOK_FILE. It takes a few milliseconds and ends with 0, whatever happens.
    """
    if sys.stdin.isatty():
        raise click.UsageError("Claude Code runs this as a hook, see docs/sources/claude-code.md.")
    hooks.main()
