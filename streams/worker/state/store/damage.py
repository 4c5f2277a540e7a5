"""Which errors of RocksDB mean damaged files, and which a disk, a right or a lock that is missing."""

from __future__ import annotations

import re
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
