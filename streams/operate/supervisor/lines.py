"""The log of several workers as one: every line is whole, and says whose it is. Pure."""

from __future__ import annotations

from typing import Final

LAST_WORDS: Final = b"eddy: "
#: A line that is longer is passed on in parts: memory is bounded, whatever a worker writes.
_LONGEST: Final = 1 << 20


class Lines:
    r"""Cuts what a worker writes into lines, and marks them.

    A line in JSON gets the number as its first field, any other line is preceded by it.

    Args:
        number: The worker's.

    Attributes:
        last_words: What it said last of why it ends, without ``eddy:``; empty if it has not.

    >>> lines = Lines(2)
    >>> lines.add(b'Ready.\n{"event": "Read')
    [b'[worker 2] Ready.\n']
    >>> lines.add(b'y."}\neddy: No broker answers.\n')
    [b'{"worker": 2, "event": "Ready."}\n', b'[worker 2] eddy: No broker answers.\n']
    >>> lines.last_words
    'No broker answers.'
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._rest = b""
        self.last_words = ""

    def add(self, written: bytes) -> list[bytes]:
        """Return the lines that are complete by now."""
        *lines, self._rest = (self._rest + written).split(b"\n")
        if len(self._rest) > _LONGEST:
            lines, self._rest = [*lines, self._rest], b""
        return [self._marked(line) for line in lines]

    def end(self) -> list[bytes]:
        """Return what was written without an end of line."""
        rest, self._rest = self._rest, b""
        return [self._marked(rest)] if rest else []

    def _marked(self, line: bytes) -> bytes:
        if line.startswith(LAST_WORDS):
            self.last_words = line.removeprefix(LAST_WORDS).decode(errors="replace")
        if line.startswith(b'{"'):
            return b'{"worker": %d, %s\n' % (self._number, line[1:])
        return b"[worker %d] %s\n" % (self._number, line)
