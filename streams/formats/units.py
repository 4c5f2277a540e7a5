"""What is in an input, in the units of its format: lines, one document, requests, or a container."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Final, TypeVar

from streams.core.entry import Entry
from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import (
    LONGEST_DOCUMENT,
    LONGEST_UNIT,
    Format,
    IntakeReason,
    Problem,
    UnitKind,
)
from streams.formats.adapters.otlp.proto_requests import cut_requests
from streams.formats.adapters.record import UNDECODABLE, decoded
from streams.formats.input_file import DAMAGE, open_input

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
UNFINISHED: Final = "unfinished line"
"""What a last line that was cut is ignored as: its writer may not be done."""

T = TypeVar("T")
_CHUNK: Final = 1 << 16


class InputReader:
    """Reads one input from its beginning to its end.

    Args:
        form: Format that the input is read as.
        name: Name of the input, for problems and for sessions that have no id of their own.
    """

    def __init__(self, form: Format, name: str) -> None:
        self.form, self.name = form, name
        self._adapter = form.start(name)
        self._unfinished: Counter[str] = Counter()

    @property
    def ignored(self) -> Counter[str]:
        """What was left out by design, by type."""
        return self._adapter.ignored + self._unfinished

    def read(self, stream: BufferedReader) -> Iterator[Entry | Problem]:
        """Yield what a stream says, also what waits where it is damaged.

        Raises:
            OSError, EOFError, zlib.error: as `input_file.DAMAGE`, the stream cannot be read to its end.
            ConfigurationError: a format of Eddy's own cannot be read past an error.
        """
        if self.form.container is not None:
            yield from self.form.container(stream)
            return
        damage: Exception | None = None
        feed = self._adapter.feed
        try:
            for unit in self._units(stream):
                if isinstance(unit, Problem):
                    yield unit
                else:
                    yield from feed(unit)
        except DAMAGE as error:
            damage = error
        yield from self._adapter.close()
        if damage is not None:
            raise damage

    def read_parts(self, files: list[Path]) -> Iterator[Entry | Problem]:
        """Yield what files that are one input together say, each of them a unit. One may be unreadable."""
        for number, file in enumerate(files, 1):
            unit = read_part(file)
            if isinstance(unit, Problem):
                yield unit
            elif number == len(files) and is_unfinished(unit, self.form):
                self._unfinished[UNFINISHED] += 1
            else:
                yield from self._adapter.feed(unit)
        yield from self._adapter.close()

    def _units(self, stream: BufferedReader) -> Iterator[bytes | Problem]:
        match self.form.kind:
            case UnitKind.LINES:
                return self._lines(stream)
            case UnitKind.REQUESTS:
                return cut_requests(stream)
            case UnitKind.DOCUMENT | UnitKind.CONTAINER:
                return iter([stream.read(LONGEST_DOCUMENT + 1)])

    def _lines(self, stream: BufferedReader) -> Iterator[bytes | Problem]:
        """Yield lines that hold something. One longer than is read is passed over without being held."""
        number = 0
        while line := stream.readline(LONGEST_UNIT + 2):
            number += 1
            if number == 1:
                line = line.removeprefix(BYTE_ORDER_MARK)
            if not line.endswith(b"\n"):
                if len(line) > LONGEST_UNIT + 1:
                    while (more := stream.readline(_CHUNK)) and not more.endswith(b"\n"):
                        pass
                    yield too_long(f"{self.name}, line {number:,}")
                    continue
                if is_unfinished(line, self.form):
                    self._unfinished[UNFINISHED] += 1
                    return
            if line.strip():
                yield line.rstrip(b"\r\n")


def together(found: Iterator[T], most: int) -> Iterator[list[T]]:
    """Yield what was found, so much together; what came before an error, too."""
    held: list[T] = []
    try:
        for each in found:
            held.append(each)
            if len(held) >= most:
                yield held
                held = []
    except (*DAMAGE, ConfigurationError):
        yield held
        raise
    yield held


def is_unfinished(line: bytes, form: Format) -> bool:
    """Tell whether a last line without its end was cut: it begins like JSON, and is none.

    A line of a format of Eddy's own is what it is, as a message on a topic is.
    """
    is_json = not form.own and len(line) <= LONGEST_UNIT and line.lstrip()[:1] in (b"{", b"[")
    return is_json and decoded(line.strip()) is UNDECODABLE


def too_long(where: str) -> Problem:
    """Return the problem of a unit that is not held."""
    return Problem(where, IntakeReason.UNREADABLE, "longer than is read")


def read_part(file: Path) -> bytes | Problem:
    """Return the unit that a file is, or why it cannot be read."""
    try:
        with open_input(str(file)) as stream:
            return stream.read(LONGEST_UNIT + 1)
    except ConfigurationError as error:
        return Problem(str(file), IntakeReason.UNREADABLE, str(error))
