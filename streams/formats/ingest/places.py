"""Which files there are to read: those that were named, those in folders, or those of the known programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import Format
from streams.formats.ingest.parts_reader import folder_of
from streams.formats.input_names import below


def known_folders(forms: Sequence[Format], home: Path) -> list[str]:
    """Return where the known programs write, as patterns."""
    return [str(home / folder) for each in forms for folder in each.folders]


def candidates(paths: Sequence[str], forms: Sequence[Format], written: Path | None = None) -> Iterator[Path]:
    """Yield every file there is, in order, each once; for files that are parts of one input, their folder.

    A path that does not exist is a pattern, which may match later. The file that is ``written`` is left out:
    it would grow by what is read from it, without end.

    Raises:
        ConfigurationError: a pattern is none.
    """
    seen: set[Path] = set()
    for path in paths:
        for file in _files(Path(path)):
            if written is not None and file.resolve() == written:
                continue
            folder = next((found for each in forms if (found := folder_of(file, each))), None)
            found = folder or file
            if found not in seen:
                seen.add(found)
                yield found


def missing(paths: Sequence[str]) -> list[str]:
    """Return those that are neither a folder nor match a file now.

    Raises:
        ConfigurationError: a pattern is none.
    """
    return [each for each in paths if not Path(each).is_dir() and not any(_files(Path(each)))]


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from map(Path, below(str(path), hidden=True))
    elif path.exists():
        yield path
    else:
        root = Path(path.anchor)
        pattern = str(path.relative_to(root))
        try:
            yield from sorted(each for each in root.glob(pattern) if each.is_file())
        except ValueError as error:  # before Python 3.13, of a pattern such as a**b
            raise ConfigurationError(f"{path}: {error}. Name a file or a folder") from error
