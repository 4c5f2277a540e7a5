"""What `eddy --version` says: the version, and the commit that it was made from."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import click

from streams.cli.text.screen import echo

#: Beside the package in a checkout, and written into it by the build of a wheel: `g` and the hash, or `None`;
#: then 1 where files differed from the commit, else 0.
_CHECKOUT = Path(__file__).parents[2]
_WRITTEN = Path(__file__).parents[1] / "commit.txt"
_HASH = re.compile(r"g([0-9a-f]{7,12})[0-9a-f]*( 1)?")
_SECONDS = 5


def described() -> str:
    """Return the version, with the commit as far as it is known."""
    from importlib.metadata import version  # noqa: PLC0415 - a fifth of what `eddy --help` waits for

    commit = commit_of(_CHECKOUT) or written_in(_WRITTEN)
    return version("eddy-streams") + (f" (commit {commit})" if commit else "")


def commit_of(checkout: Path) -> str:
    """Return the commit of a checkout, with `-dirty` if files differ from it; empty if it is none."""
    if not (checkout / ".git").exists():
        return ""
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"]
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""  # git is missing, or does not answer: the version alone is right, too
    return done.stdout.strip() if done.returncode == 0 else ""


def written_in(file: Path) -> str:
    """Return the commit in the file that a build has written; empty if there is none."""
    found = _HASH.match(file.read_text()) if file.is_file() else None
    if found is None:
        return ""
    return f"{found[1]}-dirty" if found[2] else found[1]


def show(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print it and end, if it is wanted."""
    if wanted and not context.resilient_parsing:
        echo(f"eddy, version {described()}")
        context.exit()
