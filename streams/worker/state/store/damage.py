"""Which errors of RocksDB mean damaged files, and which a disk, a right or a lock that is missing.

A look at RocksDB's own logs before RocksDB reads them.

RocksDB 9.8 never returns from opening a database if a record of its MANIFEST or of a write-ahead log has the
type of a record of a recycled log. Eddy recycles no logs, so such a type is damage.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from streams.core.errors import DamagedStateError, StateError

#: RocksDB's words for a lock that another process holds, or this one.
_LOCKED = re.compile("lock hold by current process|While lock file", re.IGNORECASE)

#: The operating system speaks, through RocksDB or its bindings.
_SYSTEM = re.compile(r"IO error|\(os error \d+\)|\[Errno \d+\]")

#: What it says of a file that is lost, of another type, or cannot be read from the disk. Anything else, such
#: as a full disk or a missing right, leaves the files as good as they were.
_LOST = re.compile("No such file|Is a directory|Not a directory|File exists|Input/output error")

#: Statuses of RocksDB that speak of the files.
_DAMAGED = re.compile("Corruption|Invalid argument|Not implemented|NotFound")


def unusable(path: Path, error: Exception) -> StateError:
    """Return the error that says what to do about a database that RocksDB refuses."""
    said = str(error)
    if _LOCKED.search(said) is not None:
        return StateError(
            f"{path} is used by another process ({said}). Give every worker a data directory of its own "
            "(EDDY_DATA_DIR)."
        )
    if (_LOST if _SYSTEM.search(said) else _DAMAGED).search(said) is not None:
        return DamagedStateError(path, said)
    return StateError(
        f"{path} cannot be used ({said}). Check the free space of the disk and the rights of the directory, "
        "then start the worker again."
    )


#: Beside the directories of the tables: holds the newest database that was set aside, and no other.
SET_ASIDE = "set-aside"


def set_aside(path: Path) -> Path:
    """Move a database away and return where it is; the one that was set aside before is deleted.

    Args:
        path: ``.../<table>/<partition>.db``, or a file in its place or in that of the table. It may be gone.

    Raises:
        StateError: the disk refuses.
    """
    table = path.parent
    found, name = (path, f"{table.name}-{path.name}") if table.is_dir() else (table, table.name)
    aside = table.parent / SET_ASIDE
    try:
        _delete(aside)
        aside.mkdir(parents=True)
        if found.exists():
            found.rename(aside / name)
    except OSError as error:
        raise unusable(aside, error) from error
    return aside / name


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


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
