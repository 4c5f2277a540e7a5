"""The state directory of a worker: that it can be used, by whom it is, and how far its databases are."""

from __future__ import annotations

import os
import shutil
import struct
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from streams.core.domain.topic import Topic
from streams.core.errors import DamagedStateError, StateError
from streams.operate.doctor.check import Check, fail, ok, warn
from streams.worker.options import AGGREGATES, SESSIONS
from streams.worker.settings_ledger import SettingsLedger
from streams.worker.state.changelog import SETTINGS_KEY
from streams.worker.state.origin import SOURCES_KEY, Ids, decode_sources
from streams.worker.state.store import FORMAT, SET_ASIDE, StoreInspection, inspect_store, is_older

_LITTLE_BYTES: Final = 1 << 30
_TOO_LITTLE_BYTES: Final = 128 << 20


class Database(NamedTuple):
    """What a worker keeps of one partition of a table.

    ``held_by`` is a process, 0 an unknown one; ``sources`` are the ids of the topics it was built from.
    """

    table: str
    partition: int
    path: Path
    held_by: int | None
    found: StoreInspection | StateError
    sources: Mapping[str, str | None] = {}


def databases(directory: Path, decision_logs: str = Topic.DECISION_LOGS) -> list[Database]:
    """Look into every database below a state directory; sessions are built from ``decision_logs``."""
    return [
        Database(table, int(path.stem), path, holder(path / "LOCK"), *_found(table, path, decision_logs))
        for table in (SESSIONS, AGGREGATES)
        for path in sorted((directory / table).glob("*.db"))
        if path.stem.isdigit()
    ]


def directory_check(directory: Path) -> Check:
    """Return whether a worker could write there, and whether there is room."""
    name = "state directory"
    nearest = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        who = f"user {os.getuid()}"
        advice = "Change its owner or rights, or name another directory in EDDY_DATA_DIR."
        return fail(name, f"{nearest} cannot be written to by {who}", advice)
    free = shutil.disk_usage(nearest).free
    shown = f"{free / (1 << 30):,.1f} GiB free"
    if free < _TOO_LITTLE_BYTES:
        return fail(name, f"{directory}: {shown}", "Make room: a full disk stops the worker.")
    if free < _LITTLE_BYTES:
        return warn(
            name, f"{directory}: {shown}", "Make room before it is full: a full disk stops the worker."
        )
    if not directory.exists():
        return ok(name, f"{directory} will be created, {shown}")
    return ok(name, f"{directory}, {shown}")


def database_checks(found: list[Database], now: float | None = None) -> Iterator[Check]:
    """Yield whether the databases can be opened, and who has them open."""
    name = "local state"
    if not found:
        yield ok(name, "none yet: the changelog restores what there is")
        return
    for database in found:
        yield from _problems(name, database)
    holders = sorted({database.held_by for database in found if database.held_by is not None})
    usable = [each.found.written_at for each in found if isinstance(each.found, StoreInspection)]
    age = max(0.0, (time.time() if now is None else now) - max(usable, default=0.0))
    detail = f"{len(usable)} of {len(found)} databases can be read, last written {span(age)} ago"
    if holders:
        detail += f"; open in process {', '.join(str(pid or '?') for pid in holders)}"
    if usable:
        yield ok(name, detail)


def _problems(name: str, database: Database) -> Iterator[Check]:
    match database.found:
        case DamagedStateError() as error if database.held_by is None:
            said = f"{database.path} is damaged ({error.problem})"
            yield warn(name, said, "A worker sets it aside and restores it: there is nothing to do.")
        case StateError() as error if database.held_by is None:
            yield fail(name, str(error), "Or restore the disk.")
        case StateError():
            yield warn(name, f"{database.path} changes while it is read", "A worker is at it: try again.")
        case StoreInspection(format=bytes(written)) if is_older(written):
            said = f"{database.path} has format {written.decode()}, this version writes {FORMAT.decode()}"
            yield warn(name, said, "A worker discards it when it starts: the changelog restores it.")
        case StoreInspection(format=written) if written not in (FORMAT, None):
            said = f"{database.path} has format {written!r}, this version writes {FORMAT!r}"
            yield fail(name, said, "Delete the directory while no worker runs: the changelog restores it.")
        case StoreInspection():
            pass


def set_aside_checks(directory: Path) -> Iterator[Check]:
    """Yield what a worker has set aside below a state directory."""
    for kept in sorted((directory / SET_ASIDE).glob("*")):
        files = [kept, *kept.rglob("*")]
        size = sum(file.stat().st_size for file in files if file.is_file())
        said = f"{kept} was damaged and set aside {span(max(0.0, time.time() - kept.stat().st_ctime))} ago"
        advice = "The worker restored it. Delete it once you need it no longer; if it happens again, "
        yield warn("local state", f"{said}, {size / (1 << 20):,.1f} MiB", f"{advice}check the disk.")


def span(seconds: float) -> str:
    """Return a time span in words.

    >>> span(59), span(7_300), span(200_000)
    ('59 s', '2.0 h', '2.3 days')
    """
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"


def holder(lock: Path) -> int | None:
    """Return the process that has locked a file: None when none has, 0 when the system does not say which."""
    try:
        import fcntl  # noqa: PLC0415 - not on every system

        with lock.open("rb") as file:
            if not sys.platform.startswith("linux"):
                return None
            form = "hhqqi4x"
            asked = struct.pack(form, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            kind, *_, pid = struct.unpack(form, fcntl.fcntl(file, fcntl.F_GETLK, asked))
    except (ImportError, OSError):
        return None
    return None if kind == fcntl.F_UNLCK else max(pid, 0)


def _found(table: str, path: Path, decision_logs: str) -> tuple[StoreInspection | StateError, Ids]:
    try:
        found = inspect_store(path, [SETTINGS_KEY, SOURCES_KEY])
        if found.format != FORMAT:
            return found, {}
        if table == SESSIONS:
            ledger = SettingsLedger.decode(found.entries.get(SETTINGS_KEY))
            return found, {str(decision_logs): ledger.source}
        return found, decode_sources(found.entries.get(SOURCES_KEY))
    except StateError as error:
        return error, {}
