"""Programs whose logs are known and not read: what such a file is, and what to do.

A file is known by its place or by how it begins. Whoever gives it learns more than that no format fits.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_INSTEAD: Final = "send its events with eddy-client, or describe an export of it with --map"


class KnownProgram(NamedTuple):
    """A program whose logs are not read.

    Attributes:
        what: what its file is, for a sentence.
        place: what a path of such a file holds, as a pattern.
        begins: how such a file begins, as a pattern; None if only its place tells.
    """

    what: str
    place: re.Pattern[str]
    begins: re.Pattern[bytes] | None = None

    def has(self, head: bytes, path: str) -> bool:
        """Tell whether a file is one of this program."""
        return self.place.search(path) is not None or (
            self.begins is not None and self.begins.match(head) is not None
        )


def _known(what: str, place: str, begins: bytes | None = None) -> KnownProgram:
    return KnownProgram(what, re.compile(place), None if begins is None else re.compile(begins))


PROGRAMS: Final = (
    _known("the chat history of Aider", r"\.aider\.chat\.history\.md$", rb"\s*# aider chat started at"),
    _known("a store of Cursor", r"/\.cursor/|/Cursor/User/"),
    _known("a session of Goose", r"/goose/sessions/", rb'\{"working_dir":[^\n]{0,2000}"message_count":'),
    _known("a session of Kimi CLI", r"/\.kimi/"),
    _known("a session of Droid", r"/\.factory/", rb'\{"type":\s?"session_start"'),
    _known("a session of Grok CLI", r"/\.grok/"),
    _known("a conversation of Antigravity", r"/\.gemini/antigravity"),
    _known("a database of SQLite", r"\.vscdb$", rb"SQLite format 3\x00"),
)


def what_it_is(head: bytes, path: str) -> str | None:
    """Return a sentence about a file of a known program whose logs are not read, None for any other.

    Args:
        head: the first bytes of the file, unpacked.
        path: path or name of the file.

    >>> what_it_is(b"# aider chat started at 2026-01-01", "notes.md")
    'is the chat history of Aider, which Eddy does not read: send its events with eddy-client, or describe \
an export of it with --map'
    >>> what_it_is(b"# notes", "notes.md") is None
    True
    """
    slashed = "/" + path.replace("\\", "/")
    found = next((each for each in PROGRAMS if each.has(head, slashed)), None)
    return None if found is None else f"is {found.what}, which Eddy does not read: {_INSTEAD}"
