"""What a screen needs that only a console on brokers has."""

from __future__ import annotations

from streams.console.console import Console
from streams.console.live_board import LiveBoard
from streams.core.errors import ConfigurationError


def board_of(console: Console) -> LiveBoard:
    """Return the board over the stream.

    Raises:
        ConfigurationError: the console shows files.
    """
    if not isinstance(console.board, LiveBoard):
        raise ConfigurationError("Files have no such page. Run `eddy console` without a path for it.")
    return console.board
