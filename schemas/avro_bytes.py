"""The parts of Avro data that are no one-liner, and how much one record may hold."""

from __future__ import annotations

from typing import Final

FREE_COST: Final = 100_000
COST_PER_BYTE: Final = 2
"""What the values of one record may cost: so much, and so much more for each byte of its data."""

RECORD_COST: Final = 8
"""What a record costs beside its values (1 each): a dict takes the memory of about eight numbers."""

_LONGEST = 10
"""Bytes of the longest 64-bit integer."""


class MalformedError(ValueError):
    """The bytes are not data of the schema; the message says why."""


def integer(b: bytes, p: int) -> tuple[int, int]:
    """Return the integer at ``p`` as it is written (zig-zag), and where it ends."""
    number = shift = 0
    for position in range(p, p + _LONGEST):
        byte = b[position]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            if number >> 64:
                break
            return number, position + 1
        shift += 7
    raise MalformedError("an integer has more than 64 bits")


def size(b: bytes, p: int) -> tuple[int, int]:
    """Return the length at ``p``, doubled as it is written, and where it ends."""
    number, end = integer(b, p)
    if number & 1:
        raise MalformedError("a length is negative")
    return number, end


def malformed(what: str) -> None:
    """Refuse the data."""
    raise MalformedError(what)


class Budget:
    """What the values in the lists and maps of one record may still cost.

    Every value in a list takes a byte or more, but a value can be a record of many records, or of many
    values that take no bytes. So a few bytes can claim any number of values.
    """

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = 0

    def begin(self, data_bytes: int) -> None:
        """Begin a record whose data has this many bytes."""
        self._left = FREE_COST + COST_PER_BYTE * data_bytes

    def spend(self, cost: int) -> None:
        """Pay for values before they are read."""
        self._left -= cost
        if self._left < 0:
            raise MalformedError(
                f"its lists hold more values than the limit of {FREE_COST} and {COST_PER_BYTE} for each byte"
                f" (a value counts as 1, a record as {1 + RECORD_COST})"
            )

    def block(self, b: bytes, p: int, cost: int) -> tuple[int, int]:
        """Return how many items the block at ``p`` has, and where they begin; each costs ``cost``."""
        number, p = integer(b, p)
        count = number >> 1
        if number & 1:
            count = (number + 1) >> 1
            _, p = size(b, p)
        self.spend(count * cost)
        return count, p
