"""`eddy top`: the sessions of now in a terminal, from a topic or from logs on this machine."""

from streams.cli.top.command import top

__all__ = ["top"]
