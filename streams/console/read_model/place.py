"""Places of records as single numbers, so that "the newest" is the greatest number.

Every event of the job names the record of decision-logs it belongs to. That place orders all that is known of
a session, whichever topic said it and in whatever order the console read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

#: The decoded value of a record.
Fields = Mapping[str, Any]


#: Kafka numbers offsets from 0 in 64 bits; no partition reaches 2**48 records.
_OFFSET_BITS: Final = 48
_OFFSETS: Final = (1 << _OFFSET_BITS) - 1
_PARTITIONS: Final = 1 << (63 - _OFFSET_BITS)

#: Before every place.
NOWHERE: Final = -1


def place(partition: int, offset: int) -> int:
    """Return the place as one number; greater is a later one, of partitions the one with the higher number.

    >>> place(0, 17), place(1, 0) > place(0, 17), place(2, 4) < place(2, 5)
    (17, True, True)
    """
    return partition << _OFFSET_BITS | offset


def named_place(partition: int, offset: int) -> int:
    """Return the place that a record names; TypeError for one that 64 bits do not hold."""
    if not (0 <= partition < _PARTITIONS and 0 <= offset <= _OFFSETS):
        raise TypeError("no place")
    return place(partition, offset)


def partition_of(number: int) -> int:
    """Return the partition of a place.

    >>> partition_of(place(3, 120))
    3
    """
    return number >> _OFFSET_BITS


def offset_of(number: int) -> int:
    """Return the offset of a place.

    >>> offset_of(place(3, 120))
    120
    """
    return number & _OFFSETS
