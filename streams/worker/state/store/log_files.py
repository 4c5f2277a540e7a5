"""A look at RocksDB's own logs before RocksDB reads them.

RocksDB 9.8 never returns from opening a database if a record of its MANIFEST or of a write-ahead log has the
type of a record of a recycled log. Eddy recycles no logs, so such a type is damage.
"""

from __future__ import annotations

from pathlib import Path

from streams.core.errors import DamagedStateError

_BLOCK = 32 << 10
_HEADER = 7
"""Checksum (4 bytes), length (2), type (1)."""
_RECYCLED = frozenset({5, 6, 7, 8, 11})


def check_log_files(path: Path) -> None:
    """Refuse a database that RocksDB would never finish opening.

    Raises:
        DamagedStateError: a log has a record of a recycled log.
        OSError: a file cannot be read.
    """
    for pattern in ("MANIFEST-*", "*.log"):
        for file in sorted(path.glob(pattern)):
            if file.is_file() and has_recycled_record(file.read_bytes()):
                raise DamagedStateError(path, f"{file.name} has a record of a type that Eddy never writes")


def has_recycled_record(log: bytes) -> bool:
    """Tell whether a log has a record of a recycled log, as far as its lengths can be followed.

    >>> has_recycled_record(bytes(4) + bytes([1, 0, 1]) + b"x"), has_recycled_record(bytes([0] * 6 + [5]))
    (False, True)
    """
    at, end = 0, len(log) - _HEADER
    while at <= end:
        left = _BLOCK - at % _BLOCK
        if left < _HEADER:  # the rest of a block is padding
            at += left
            continue
        if log[at + 6] in _RECYCLED:
            return True
        at += _HEADER + int.from_bytes(log[at + 4 : at + 6], "little")
    return False
