"""What stands in a database: the values, the time each was written at, and what the store says of itself.

Each value stands behind eight bytes, the time it was written at: its changelog record has the same time, and
a restore takes it from there. It is of this format alone, never of the value.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rocksdict import AccessType, Options, Rdict

from streams.core.errors import StateError
from streams.worker.state.store.damage import check_log_files, unusable

#: The version of the layout of a database. Raised when a database of one layout cannot be read as another.
FORMAT = b"2"

FORMAT_KEY = b"\x00format"
OFFSET_KEY = b"\x00offset"
WRITTEN_KEY = b"\x00written"
CHANGELOG_KEY = b"\x00changelog"
OWN_KEYS = frozenset({FORMAT_KEY, OFFSET_KEY, WRITTEN_KEY, CHANGELOG_KEY})

#: Before each value: when it was written, ms since 1970.
TOUCHED = struct.Struct(">Q")
BEHIND = TOUCHED.size


def is_older(found: bytes) -> bool:
    """Tell whether a database of this format is of an earlier version of Eddy.

    >>> is_older(b"1"), is_older(FORMAT), is_older(b"999"), is_older(b"?")
    (True, False, False, False)
    """
    return found.isdigit() and int(found) < int(FORMAT)


#: What a database has beside its data: the lock, logs, and a file of the bindings.
_NOT_DATA = frozenset({"LOCK", "LOG", "rocksdict-config.json"})


class StoreInspection(NamedTuple):
    """What a database says of itself.

    ``written_at`` is when it was up to ``offset``, s since 1970; ``changelog`` the id of the topic it was
    filled from, None if it was not recorded; ``entries`` are the values it was asked for, by key.
    """

    format: bytes | None
    offset: int | None
    written_at: float
    changelog: str | None = None
    entries: Mapping[bytes, bytes] = {}


def inspect_store(path: Path, keys: Collection[bytes] = ()) -> StoreInspection:
    """Look into a database that may be in use, at the values of ``keys`` too, and change nothing in it.

    RocksDB's bindings write a file of their own into every database they open, so a folder of links to the
    files is opened in its place.

    Raises:
        DamagedStateError: its files are damaged, or change meanwhile.
        StateError: it cannot be read.
    """
    try:
        check_log_files(path)
        with TemporaryDirectory(prefix="eddy-look-") as links:
            files = [file for file in path.resolve().iterdir() if file.name not in _NOT_DATA]
            for file in files:
                (Path(links) / file.name).symlink_to(file)
            changed_at = max((file.stat().st_mtime for file in files), default=0.0)
            database = Rdict(links, options=Options(raw_mode=True), access_type=AccessType.read_only())
            try:
                offset, written = database.get(OFFSET_KEY), database.get(WRITTEN_KEY)
                changelog = database.get(CHANGELOG_KEY)
                return StoreInspection(
                    database.get(FORMAT_KEY),
                    None if offset is None else int(offset),
                    changed_at if written is None else int(written) / 1000,
                    None if changelog is None else changelog.decode(),
                    {key: value[BEHIND:] for key in keys if (value := database.get(key)) is not None},
                )
            finally:
                database.close()
    except StateError:
        raise
    except Exception as error:
        raise unusable(path, error) from error
