"""The inputs that paths lead to: files, what is in folders, parts of one session, standard input."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import Format
from streams.formats.input_file import STANDARD_INPUT
from streams.formats.registry import FORMATS


class Source(NamedTuple):
    """One input.

    Attributes:
        path: path of a file, of a folder whose files are one input together, or `-` for standard input.
        is_listed: whether it was named itself, and not found in a folder.
        parts: how its files are found below the folder, as a glob; None if it is no folder.
    """

    path: str
    is_listed: bool = True
    parts: str | None = None


class LogFolder(NamedTuple):
    """A folder in which a program keeps its logs, and the logs in it."""

    format: Format
    folder: str
    files: list[str]


_AGENTS_FOLDERS: Final = frozenset(
    folder.split("/", 1)[0] for each in FORMATS for folder in each.folders if folder.startswith(".")
)
"""Hidden folders that are looked into: agents keep their logs there."""


def sources(paths: Iterable[str]) -> Iterator[Source]:
    """Yield the inputs of paths; for files that are parts of one input, their folder, once.

    A folder gives its files and those of the folders in it, sorted by path. Links to folders are not
    followed. Names that begin with a dot are left out, except where they are given and those of folders
    where agents keep logs. A path that does not exist is a pattern; one that nothing matches is a file, and
    whoever opens it says that there is none.

    Raises:
        ConfigurationError: a pattern is none.
    """
    folders: set[str] = set()
    for path in paths:
        for each in _expanded(path):
            found = _part_of(each)
            if found is None:
                yield each
            elif found.path not in folders:
                folders.add(found.path)
                yield found


def parts(source: Source) -> list[Path]:
    """Return the files that are one input together, by name."""
    return [] if source.parts is None else sorted(Path(source.path).glob(source.parts))


def known_places(home: Path) -> list[LogFolder]:
    """Return where logs are known to be, and which there are below a home folder."""
    return [
        LogFolder(each, _fixed(folder), sorted(str(path) for path in home.glob(folder)))
        for each in FORMATS
        for folder in each.folders
    ]


def known_patterns(home: Path) -> list[str]:
    """Return where the known programs write below a home folder, as patterns."""
    return [str(home / folder) for each in FORMATS for folder in each.folders]


def missing(paths: Iterable[str]) -> list[str]:
    """Return those that are neither a folder nor match a file now.

    Raises:
        ConfigurationError: a pattern is none.
    """
    return [each for each in paths if not Path(each).exists() and not _matching(Path(each))]


def _expanded(path: str) -> Iterator[Source]:
    given = Path(path)
    if path == STANDARD_INPUT:
        yield Source(path)
    elif given.is_dir():
        yield from (Source(each, is_listed=False) for each in _below(given))
    elif given.exists():
        yield Source(path)
    else:
        yield from map(Source, _matching(given) or [path])


def _matching(pattern: Path) -> list[str]:
    root = Path(pattern.anchor)
    try:
        return sorted(str(each) for each in root.glob(str(pattern.relative_to(root))) if each.is_file())
    except (ValueError, NotImplementedError) as error:  # before Python 3.13, of a pattern such as a**b
        raise ConfigurationError(f"{pattern}: {error}. Name a file or a folder") from error


def _below(folder: Path) -> Iterator[str]:
    """Yield the files of a folder and of those in it, sorted by path, and what of them cannot be looked at.

    Neither pipes nor devices are files.
    """
    folders = [iter((folder,))]
    while folders:
        path = next(folders[-1], None)
        if path is None:
            folders.pop()
            continue
        try:
            mode = path.lstat().st_mode if len(folders) > 1 else stat.S_IFDIR
            if stat.S_ISDIR(mode):
                folders.append(iter(sorted(filter(_is_shown, path.iterdir()))))
            elif stat.S_ISREG(mode) or (stat.S_ISLNK(mode) and stat.S_ISREG(path.stat().st_mode)):
                yield str(path)
        except OSError:
            yield str(path)  # opening it says what is wrong


def _is_shown(path: Path) -> bool:
    return path.name[0] != "." or path.name in _AGENTS_FOLDERS


def _part_of(source: Source) -> Source | None:
    """Return the input of which a file is a part; None if it is no part."""
    path = Path(source.path)
    for each in FORMATS:
        if each.parts is not None and path.match(each.parts):
            folder = str(path.parents[each.parts.count("/")])
            return Source(folder, source.is_listed, each.parts)
    return None


def _fixed(pattern: str) -> str:
    """Return the part of a pattern that names a folder.

    >>> _fixed(".codex/sessions/*/*.jsonl")
    '~/.codex/sessions'
    """
    parts = pattern.split("/")
    return "/".join(["~", *parts[: next(n for n, part in enumerate(parts) if "*" in part)]])
