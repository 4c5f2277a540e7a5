"""A file of tokens, read again when it changes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from streams.console.auth.tokens import Listed
from streams.core.errors import ConfigurationError

log = logging.getLogger(__name__)


class TokenFile:
    """The lines of a file as they are now. What is not in the file, or cannot be read, does not count.

    Args:
        path: Path of the token file.
        parse: Reads the text of the file.
        setting: Names it in messages.

    Raises:
        ConfigurationError: it cannot be read, or a line is wrong.
    """

    def __init__(self, path: Path, parse: Callable[[str], Listed], setting: str) -> None:
        self._path = path
        self._parse = parse
        self._setting = setting
        self._seen: tuple[int, int, int] | None = None
        self._listed = Listed()
        self._problem: str | None = None
        if self._read() and self._problem:
            raise ConfigurationError(f"{setting}, {path}: {self._problem}.")

    def listed(self) -> Listed:
        """Return its lines as they are now."""
        before = self._problem
        if self._read() and self._problem and self._problem != before:
            log.warning("%s: %s. What cannot be read does not count", self._setting, self._problem)
        return self._listed

    def _read(self) -> bool:
        """Read the file if it has changed; tell whether it has, or cannot be read."""
        try:
            stat = self._path.stat()
            seen = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if seen == self._seen:
                return False
            self._listed = self._parse(self._path.read_text(encoding="utf-8"))
            self._seen, self._problem = seen, "; ".join(self._listed.wrong) or None
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            self._seen, self._listed, self._problem = None, Listed(), f"it cannot be read ({reason})"
        return True
