"""`eddy completion`: what a shell needs to complete the words of `eddy`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from streams.cli.text.screen import echo_lines

_PROGRAM = "eddy"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that lets a shell complete commands, options and names of settings.

    \b
    bash: eddy completion bash > ~/.local/share/bash-completion/completions/eddy
    zsh:  eddy completion zsh > "${fpath[1]}/_eddy"
    fish: eddy completion fish > ~/.config/fish/completions/eddy.fish

    Then start a new shell. bash needs the package bash-completion, and version 4.4 or newer.
    """  # noqa: D301
    kind = get_completion_class(shell)
    assert kind is not None
    root = click.get_current_context().find_root().command
    # The variable by which click recognises that a shell asks.
    script = kind(root, {}, _PROGRAM, f"_{_PROGRAM.upper()}_COMPLETE").source()
    echo_lines(script.strip().splitlines())
