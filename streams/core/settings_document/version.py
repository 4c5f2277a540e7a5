"""Versions of settings documents: which one follows which, without a last one.

Anybody may write a document of any version to the topic, also of the largest. If versions were compared as
numbers, no document could follow that one, and the settings could never change again. So versions go round,
as serial numbers do (RFC 1982): after the largest comes 1, and a version follows another when it is less
than half the range ahead.
"""

from __future__ import annotations

from typing import Final

LARGEST_VERSION: Final = 2**53
"""Every record carries the version, so it must be a number that any reader of JSON or Avro can hold."""

FARTHEST: Final = LARGEST_VERSION // 2
"""A version that is so far ahead of another, or farther, is behind it."""


def follows(version: int, known: int) -> bool:
    """Tell whether a document of a version may follow one of a known version; 0 is "no document yet".

    >>> follows(8, 7), follows(7, 7), follows(6, 7), follows(1_700_000_000_000, 7)
    (True, False, False, True)
    >>> follows(LARGEST_VERSION, 0), follows(1, LARGEST_VERSION), follows(LARGEST_VERSION, 7)
    (True, True, False)
    """
    if known == 0 or version == 0:
        return version > known
    return 0 < (version - known) % LARGEST_VERSION < FARTHEST


def next_version(version: int) -> int:
    """Return the version after this one.

    >>> next_version(0), next_version(7), next_version(LARGEST_VERSION)
    (1, 8, 1)
    """
    return version % LARGEST_VERSION + 1
