"""From inputs to their records, whatever the format."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from io import BufferedReader
from itertools import chain
from pathlib import Path, PurePath
from typing import Final

from streams.core.entry import Entry
from streams.core.errors import ConfigurationError
from streams.formats import avro_container, jsonl, recorded_messages, trajectory
from streams.formats.adapters.adapter import (
    LONGEST_DOCUMENT,
    LONGEST_UNIT,
    Adapter,
    Format,
    IntakeReason,
    Problem,
    UnitKind,
)
from streams.formats.adapters.known_programs import what_it_is
from streams.formats.adapters.otlp.cutting import LENGTH, REQUEST_BEGINS
from streams.formats.adapters.registry import BY_NAME
from streams.formats.adapters.sniffing import (
    HEAD_BYTES,
    NAMES,
    nothing_fits,
    sniffed,
    sniffed_in_lines,
)
from streams.formats.input_file import DAMAGE, STANDARD_INPUT, lines_at_the_head, open_input
from streams.formats.input_names import InputName, by_place, files_of
from streams.formats.intake import Intake, Share
from streams.formats.message import TopicMessage, message

RECORDS_AT_ONCE: Final = 256
"""Records of a file that are read before the first of them is passed on: a tenth less CPU than one by one.

A pipe is passed on at once.
"""
MOST_REMEMBERED: Final = 1_000_000
"""Records of which a copy in a later file is recognised."""


class InputFormat(StrEnum):
    """Eddy's own formats, and ``auto``, which finds the format of each file by its first bytes."""

    AUTO = "auto"
    JSONL = "jsonl"
    AVRO = "avro"
    TRAJECTORY = "trajectory"
    MESSAGES = "messages"


FORMAT_NAMES: Final[tuple[str, ...]] = (str(InputFormat.AUTO), *NAMES)
"""What a command takes as ``--format``."""

_OWN: Final[dict[str, Callable[[Iterable[bytes]], Iterator[Entry]]]] = {
    InputFormat.JSONL: jsonl.read,
    InputFormat.TRAJECTORY: trajectory.read,
    InputFormat.MESSAGES: recorded_messages.read,
}


def entries(
    names: Iterable[str],
    input_format: str = InputFormat.AUTO,
    intake: Intake | None = None,
    mapped: Format | None = None,
) -> Iterator[Entry]:
    """The records of all files, one file after the other; ``-`` is standard input. Memory does not grow.

    Args:
        names: files, and folders, whose files are read in the order of their paths.
        input_format: name of their format, one of `FORMAT_NAMES`.
        intake: where what was read and what was left out is counted.
        mapped: the format of a mapping file, in which all inputs are.

    Raises:
        ConfigurationError: a file cannot be read to its end; what came before the damage was yielded. A file
            of a folder is left out instead. Or there were files, and no format fits any of them.
    """
    return _Reader(input_format, intake or Intake(), mapped).read(names)


def messages(
    names: Iterable[str],
    input_format: str = InputFormat.AUTO,
    intake: Intake | None = None,
    mapped: Format | None = None,
) -> Iterator[TopicMessage]:
    """The same records as messages to publish: bytes that are not a record are passed on as they are.

    Raises:
        ConfigurationError: as for `entries`.
    """
    return map(message, entries(names, input_format, intake, mapped))


class _Reader:
    """Reads inputs, and remembers what one file means for the next."""

    def __init__(self, input_format: str, intake: Intake, mapped: Format | None) -> None:
        self._chosen: str = input_format if mapped is None else mapped.name
        self._intake = intake
        self._mapped = mapped
        self._seen: set[int] = set()
        """Records of programs that copy lines of a session into the file of the session that continues it."""
        self._together: tuple[PurePath, Format, Adapter] | None = None
        """The input whose files are being read: their folder, its format and its adapter."""

    def read(self, names: Iterable[str]) -> Iterator[Entry]:
        for each in files_of(names):
            self._intake.reading = each.name
            try:
                yield from self._file(each)
            except ConfigurationError as error:
                if each.listed:
                    raise
                problem = Problem(each.name, IntakeReason.UNREADABLE, str(error))
                self._intake.damaged.add(problem, each.name)
        yield from self._end()
        if self._intake.strangers and not self._intake.shares:
            first = self._intake.named[0]
            others = self._intake.strangers - 1
            if self._intake.known and not others:
                raise ConfigurationError(self._intake.known[0])
            raise ConfigurationError(
                nothing_fits(first if not others else f"{first} and {others:,} more files")
            )

    def _file(self, given: InputName) -> Iterator[Entry]:
        together = self._together
        if together is not None and _is_part(given.name, together[1], together[0]):
            with open_input(given.name) as stream:
                share = self._intake.share(together[1].name)
                share.files += 1
                yield from self._found(
                    together[2].feed(stream.read(LONGEST_UNIT + 1)), share, copied=False, name=given.name
                )
            return
        yield from self._end()
        with open_input(given.name) as stream:
            whole = stream
            chosen = self._chosen
            if chosen == InputFormat.AUTO:
                head, whole = _head(stream, given.name)
                found = sniffed(head, _unpacked(given.name)) or _further_down(head, given.name)
                if found is None and head.strip():
                    found = by_place(given.name)
                if found is None:
                    if head.strip():
                        self._intake.stranger(_shown(given.name), what_it_is(head, given.name))
                    return
                chosen = found
            if chosen in _OWN or chosen == InputFormat.AVRO:
                share = self._intake.share(chosen)
                share.files += 1
                for entry in self._own(whole, chosen, share, given.name):
                    share.records += 1
                    yield entry
            else:
                yield from self._foreign(whole, self._mapped or BY_NAME[chosen], given.name)

    def _own(self, stream: BufferedReader, chosen: str, share: Share, name: str) -> Iterator[Entry]:
        if chosen == InputFormat.AVRO:
            return avro_container.read(stream)
        return _OWN[chosen](_lines(stream, share, _shown(name)))

    def _foreign(self, stream: BufferedReader, chosen: Format, name: str) -> Iterator[Entry]:
        share = self._intake.share(chosen.name)
        share.files += 1
        adapter = chosen.start(_shown(name))
        copied = chosen.folder is not None
        if chosen.parts is not None and _is_part(name, chosen, PurePath(name).parent):
            self._together = PurePath(name).parent, chosen, adapter
            yield from self._found(
                adapter.feed(stream.read(LONGEST_UNIT + 1)), share, copied=copied, name=name
            )
            return
        damage: Exception | None = None
        held: list[Entry] = []
        most = RECORDS_AT_ONCE if chosen.kind is UnitKind.LINES and Path(name).is_file() else 0
        found = chain.from_iterable(map(adapter.feed, _units(stream, chosen.kind, share, _shown(name))))
        try:
            for entry in self._found(found, share, copied=copied, name=name):
                held.append(entry)
                if len(held) >= most:
                    yield from held
                    held.clear()
        except DAMAGE as error:
            damage = error
        yield from held
        yield from self._found(adapter.close(), share, copied=copied, name=name)
        share.leave_out(adapter.ignored)
        if damage is not None:
            raise damage

    def _found(
        self, found: Iterator[Entry | Problem], share: Share, *, copied: bool, name: str
    ) -> Iterator[Entry]:
        """Count what an adapter yields, and yield the records; ``copied`` leaves copies out."""
        for each in found:
            if isinstance(each, Problem):
                share.add(each, _shown(name))
            elif copied and self._is_copy(each):
                share.ignored["record that another file has too"] += 1
            else:
                share.records += 1
                yield each

    def _end(self) -> Iterator[Entry]:
        """Yield what the files that are one input leave open."""
        if self._together is not None:
            folder, chosen, adapter = self._together
            self._together = None
            share = self._intake.share(chosen.name)
            yield from self._found(adapter.close(), share, copied=False, name=str(folder))
            share.leave_out(adapter.ignored)

    def _is_copy(self, entry: Entry) -> bool:
        value = entry.value
        if value is None:
            return False
        key = hash((value.get("event_id"), value["meta"]["timestamp"]))
        if key in self._seen:
            return True
        if len(self._seen) < MOST_REMEMBERED:
            self._seen.add(key)
        return False


def _shown(name: str) -> str:
    return "standard input" if name == STANDARD_INPUT else name


def _unpacked(name: str) -> str:
    return name.removesuffix(".gz").removesuffix(".zst")


def _is_part(name: str, chosen: Format, folder: PurePath) -> bool:
    """Whether a file is one of those that are one input together."""
    path = PurePath(name)
    return chosen.parts is not None and path.parent == folder and path.match(chosen.parts)


def _head(stream: BufferedReader, name: str) -> tuple[bytes, BufferedReader]:
    """Return the first bytes, as many as it takes to recognise a format, and a reader of all of them.

    A pipe may bring its first line in several parts. What has come is enough if a format fits.
    """
    head = stream.peek(HEAD_BYTES)[:HEAD_BYTES]
    if len(head) >= HEAD_BYTES or sniffed(head, _unpacked(name)) is not None:
        return head, stream
    begun = bytearray()
    while len(begun) < HEAD_BYTES and (more := stream.read1(HEAD_BYTES)):
        begun += more
        if sniffed(bytes(begun), _unpacked(name)) is not None:
            break
    return bytes(begun), BufferedReader(_Rest(bytes(begun), stream))


def _further_down(head: bytes, name: str) -> str | None:
    """Return the format of a file whose head fits none, by a line further down."""
    if not head.lstrip().startswith(b"{") or not Path(name).is_file():
        return None
    with open_input(name) as again:
        return sniffed_in_lines(lines_at_the_head(again), _unpacked(name))


class _Rest(io.RawIOBase):
    """The bytes of a stream whose first ones were read."""

    def __init__(self, begun: bytes, stream: BufferedReader) -> None:
        self._begun = begun
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        chunk = self._begun[: len(buffer)] if self._begun else self._stream.read1(len(buffer))
        self._begun = self._begun[len(chunk) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)


def _units(stream: BufferedReader, kind: UnitKind, share: Share, name: str) -> Iterator[bytes]:
    match kind:
        case UnitKind.LINES:
            return _lines(stream, share, name)
        case UnitKind.DOCUMENT:
            return iter([stream.read(LONGEST_DOCUMENT + 1)])
        case UnitKind.REQUESTS:
            return _requests(stream)


def _requests(stream: BufferedReader) -> Iterator[bytes]:
    """Yield the requests that stand behind their lengths; a stream without lengths is one request."""
    while begun := stream.read(LENGTH):
        length = int.from_bytes(begun, "big")
        if begun[0] == REQUEST_BEGINS or not 0 < length <= LONGEST_UNIT:
            yield begun + stream.read(LONGEST_DOCUMENT)
            return
        unit = stream.read(length)
        yield unit if len(unit) == length else begun + unit


def _lines(stream: BufferedReader, share: Share, name: str) -> Iterator[bytes]:
    """Yield lines that hold something. One longer than is read is passed over without being held."""
    number = 0
    while line := stream.readline(LONGEST_UNIT + 2):
        number += 1
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if len(line) > LONGEST_UNIT + 1 and not line.endswith(b"\n"):
            while (more := stream.readline(HEAD_BYTES)) and not more.endswith(b"\n"):
                pass
            share.add(
                Problem(f"{name}, line {number:,}", IntakeReason.UNREADABLE, "longer than is read"), name
            )
        elif line.strip():
            yield line.rstrip(b"\r\n")
