"""Setting a damaged database aside: a person can look at it, and the changelog restores another one."""

from __future__ import annotations

import shutil
from pathlib import Path

from streams.worker.state.store.damage import unusable

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
