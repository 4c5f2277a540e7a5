"""Looking into a database from outside, whether or not a worker has it open."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rocksdict import AccessType, Options, Rdict

from streams.core.errors import StateError
from streams.worker.state.store.damage import unusable
from streams.worker.state.store.layout import BEHIND, CHANGELOG_KEY, FORMAT_KEY, OFFSET_KEY, WRITTEN_KEY
from streams.worker.state.store.log_files import check_log_files

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
