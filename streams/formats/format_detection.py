"""Format detection: which format an input has.

By its first bytes: the format that is surest, of equals the one tried first. If none fits, by a line further
down; and if none is certain, by the folder in which a known program keeps its logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from fnmatch import fnmatchcase
from io import BufferedReader
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.input_file import BegunStream, lines_at_the_head, open_input
from streams.formats.prices import Prices, priced
from streams.formats.registry import AUTO, FORMATS

HEAD_BYTES: Final = 64 * 1024
"""Bytes of an input, unpacked, that are looked at first."""


class DetectedFormat(NamedTuple):
    """What was found out about an input.

    Attributes:
        form: its format; None if none fits.
        head: first bytes that were looked at, none if the format was named.
        stream: all bytes of the input, those of the head too.
    """

    form: Format | None
    head: bytes
    stream: BufferedReader


class FormatDetection:
    """Finds the format of inputs: the one that was named or mapped, else the one that fits.

    Args:
        name: Name of the format of all inputs, or ``auto``.
        mapped: The format of a mapping file, in which all inputs are.
        prices: By which sessions have a cost whose logs tell none.

    Attributes:
        formats: every format that an input may have.
    """

    def __init__(self, name: str = AUTO, mapped: Format | None = None, prices: Prices | None = None) -> None:
        formats = FORMATS if mapped is None else (*FORMATS, mapped)
        if prices is not None:
            formats = tuple(priced(each, prices) for each in formats)
        self.formats: tuple[Format, ...] = formats
        self._by_name = {each.name: each for each in formats}
        chosen = name if mapped is None else mapped.name
        self._chosen = None if chosen == AUTO else self._by_name[chosen]

    def named(self, name: str) -> Format | None:
        """Return the format of this name."""
        return self._by_name.get(name)

    def of(self, stream: BufferedReader, path: str) -> DetectedFormat:
        """Return the format of an input, and its stream with nothing taken away.

        Args:
            stream: Its bytes, unpacked, from the first on.
            path: Path of the file. A line further down is looked for only if it is a regular one.

        Raises:
            ConfigurationError: the file cannot be read.
        """
        if self._chosen is not None:
            return DetectedFormat(self._chosen, b"", stream)
        head, whole = _head(stream, path)
        name = sniffed(head, path) or _further_down(head, path)
        if name is None and head.strip():
            name = by_place(path)
        return DetectedFormat(None if name is None else self._by_name[name], head, whole)

    def of_parts(self, files: Iterable[Path]) -> Format | None:
        """Return the format of files that may be one input together: that of the first that has one."""
        for file in files:
            with suppress(ConfigurationError), open_input(str(file)) as stream:
                form = self.of(stream, str(file)).form
                if form is not None:
                    return form
        return None


def sniffed(head: bytes, path: str) -> str | None:
    r"""Return the name of the format that fits an input best, None if none fits.

    Args:
        head: Its first bytes, unpacked.
        path: Name or path of the input.

    >>> sniffed(b'{"session_id": "s", "event_id": "e", "action": {}}\n', "a.log")
    'jsonl'
    >>> sniffed(b"once upon a time", "a.log") is None
    True
    """
    head, name = head[:HEAD_BYTES].removeprefix(b"\xef\xbb\xbf"), _unpacked(path)
    best, surest = None, NO
    for each in FORMATS:
        sure = each.sniff(head, name)
        if sure > surest:
            best, surest = each.name, sure
            if sure >= CERTAIN:
                break
    return best


def sniffed_in_lines(lines: Iterable[bytes], path: str) -> str | None:
    r"""Return the name of the format of the first line that a format is certain of, None if there is none.

    A log may begin with many lines that name no format, or with one that is longer than the head.

    >>> sniffed_in_lines([b'{"type": "summary"}', b'{"type": "session", "version": 3, "id": "s"}'], "a.jsonl")
    'pi'
    """
    name = _unpacked(path)
    by_lines = [each for each in FORMATS if each.own or each.kind is UnitKind.LINES]
    return next(
        (
            each.name
            for line in lines
            if line.startswith(b"{")
            for each in by_lines
            if each.sniff(line, name) >= CERTAIN
        ),
        None,
    )


def by_place(path: str) -> str | None:
    """Return the format of the program that keeps its logs where this file is, None if none does.

    >>> by_place("x/.codex/sessions/2026/01/01/rollout-1-a.jsonl"), by_place("a.jsonl")
    ('codex', None)
    """
    file = PurePath("/" + path.lstrip("/"))
    for each in FORMATS:
        for pattern in each.folders:
            fixed, *_ = pattern.split("*", 1)
            if f"/{fixed}" in str(file) and fnmatchcase(file.name, PurePath(pattern).name):
                return each.name
    return None


def nothing_fits(name: str) -> str:
    """Return what to say of an input that no format fits."""
    tried = ", ".join(each.name for each in FORMATS)
    return f"{name} fits no format: tried {tried}. Name it with --format, or describe it with --map"


def _head(stream: BufferedReader, path: str) -> tuple[bytes, BufferedReader]:
    """Return the first bytes, as many as it takes to recognise a format, and a reader of all of them.

    A pipe may bring its first line in several parts. What has come is enough if a format fits.
    """
    head = stream.peek(HEAD_BYTES)[:HEAD_BYTES]
    if len(head) >= HEAD_BYTES or sniffed(head, path) is not None:
        return head, stream
    begun = bytearray()
    while len(begun) < HEAD_BYTES and (more := stream.read1(HEAD_BYTES)):
        begun += more
        if sniffed(bytes(begun), path) is not None:
            break
    return bytes(begun), BufferedReader(BegunStream(bytes(begun), stream))


def _further_down(head: bytes, path: str) -> str | None:
    if not head.lstrip().startswith(b"{") or not Path(path).is_file():
        return None
    with open_input(path) as again:
        return sniffed_in_lines(lines_at_the_head(again), path)


def _unpacked(path: str) -> str:
    return path.removesuffix(".gz").removesuffix(".zst")


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
