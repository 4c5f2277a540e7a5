"""The files a browser loads: styles, scripts, pictures. Their address changes with their content."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

FOLDER: Final = Path(__file__).parent / "static"

_TYPES: Final = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}


class Asset(NamedTuple):
    """A file and how it is sent."""

    content: bytes
    content_type: str


class Assets:
    """All static files, read once. One hash stands for all of them, so that scripts find one another.

    Args:
        folder: Folder that the files are in.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder

    @cached_property
    def files(self) -> Mapping[str, Asset]:
        """Each file by its path below the folder."""
        found = sorted(path for path in self._folder.rglob("*") if path.suffix in _TYPES)
        return {
            path.relative_to(self._folder).as_posix(): Asset(path.read_bytes(), _TYPES[path.suffix])
            for path in found
        }

    @cached_property
    def build(self) -> str:
        """What tells this content from another."""
        digest = hashlib.sha256()
        for name, asset in self.files.items():
            digest.update(f"{name}\0{len(asset.content)}\0".encode())
            digest.update(asset.content)
        return digest.hexdigest()[:12]

    def path(self, name: str) -> str:
        """Return the path of a file on the server.

        Raises:
            KeyError: there is no such file.
        """
        self.files[name]
        return f"/static/{self.build}/{name}"
