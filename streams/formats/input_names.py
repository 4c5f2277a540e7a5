"""Which files the inputs of a command are: files, the files below folders, and the known places."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import NamedTuple

from streams.formats.adapters.adapter import Format
from streams.formats.adapters.registry import FORMATS
from streams.formats.input_file import STANDARD_INPUT


class InputName(NamedTuple):
    """One file to read. ``listed`` is whether it was named itself, and not found in a folder."""

    name: str
    listed: bool


class LogFolder(NamedTuple):
    """A folder in which a program keeps its logs, and the logs in it."""

    format: Format
    folder: str
    files: list[str]


def files_of(names: Iterable[str]) -> Iterator[InputName]:
    """Yield the files of inputs: a folder's one by one, those of the folders in it too, sorted by path.

    Links to folders are not followed. Names that begin with a dot are left out, except where they are given.
    """
    for name in names:
        if name == STANDARD_INPUT or not Path(name).is_dir():
            yield InputName(name, listed=True)
        else:
            yield from (InputName(each, listed=False) for each in below(name))


def below(folder: str, *, hidden: bool = False) -> Iterator[str]:
    """Yield the files of a folder and of those in it, sorted by path, and what of them cannot be looked at.

    Args:
        folder: where to look. Links to folders are not followed, and neither pipes nor devices are files.
        hidden: whether names count that begin with a dot.
    """
    folders = [iter((Path(folder),))]
    while folders:
        path = next(folders[-1], None)
        if path is None:
            folders.pop()
            continue
        try:
            mode = path.lstat().st_mode if len(folders) > 1 else stat.S_IFDIR
            if stat.S_ISDIR(mode):
                folders.append(iter(sorted(each for each in path.iterdir() if hidden or each.name[0] != ".")))
            elif stat.S_ISREG(mode) or (stat.S_ISLNK(mode) and stat.S_ISREG(path.stat().st_mode)):
                yield str(path)
        except OSError:
            yield str(path)  # opening it says what is wrong


def known_places(home: Path) -> list[LogFolder]:
    """Return where logs are known to be, and which there are below a home folder."""
    return [
        LogFolder(each, _fixed(folder), sorted(str(path) for path in home.glob(folder)))
        for each in FORMATS
        for folder in each.folders
    ]


def by_place(name: str) -> str | None:
    """Return the format of the program that keeps its logs where this file is, None if none does.

    >>> by_place("x/.codex/sessions/2026/01/01/rollout-1-a.jsonl"), by_place("a.jsonl")
    ('codex', None)
    """
    path = PurePath("/" + name.lstrip("/"))
    for each in FORMATS:
        for pattern in each.folders:
            fixed, *_ = pattern.split("*", 1)
            if f"/{fixed}" in str(path) and fnmatchcase(path.name, PurePath(pattern).name):
                return each.name
    return None


def _fixed(pattern: str) -> str:
    """Return the part of a pattern that names a folder.

    >>> _fixed(".codex/sessions/*/*.jsonl")
    '~/.codex/sessions'
    """
    parts = pattern.split("/")
    return "/".join(["~", *parts[: next(n for n, part in enumerate(parts) if "*" in part)]])
