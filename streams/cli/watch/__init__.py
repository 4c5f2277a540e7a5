"""`eddy watch`: judges the agents of this machine, and acts through their hooks, in one process."""

from streams.cli.watch.command import watch

__all__ = ["watch"]
