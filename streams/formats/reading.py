"""Reading: from the paths of a command to the records in their inputs, whatever the format.

This is the one way from bytes to records:

1. `sources` says which inputs the paths are,
2. `format_detection` which format each has,
3. `input_file` opens and unpacks it,
4. `units` cuts it, and feeds the adapter of its format.

`entries` reads each input once. `streams.formats.ingest` reads on as inputs grow, and keeps checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from streams.core.entry import Entry
from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import IntakeReason, Problem, UnitKind
from streams.formats.format_detection import FormatDetection, nothing_fits, what_it_is
from streams.formats.input_file import STANDARD_INPUT, STANDARD_INPUT_NAME, open_input
from streams.formats.intake import Intake
from streams.formats.registry import AUTO
from streams.formats.sources import Source, parts, sources
from streams.formats.units import InputReader, together

RECORDS_AT_ONCE: Final = 256
"""Records of a file that are read before the first of them is passed on: a tenth less CPU than one by one.

A pipe is passed on at once.
"""
MOST_REMEMBERED: Final = 1_000_000
"""Records of which a copy in a later file is recognised."""


class TopicMessage(NamedTuple):
    """What goes to the topic. ``timestamp`` in ms; None leaves it to the producer's clock."""

    key: bytes | None
    value: bytes
    timestamp: int | None


def entries(
    names: Iterable[str], formats: str | FormatDetection = AUTO, intake: Intake | None = None
) -> Iterator[Entry]:
    """The records of all inputs, one after the other; ``-`` is standard input. Memory does not grow.

    Args:
        names: files, folders and patterns, as `sources` takes them.
        formats: finds their formats, or the name of the one of all, one of `registry.FORMAT_NAMES`.
        intake: where what was read and what was left out is counted.

    Raises:
        ConfigurationError: a file cannot be read to its end; what came before the damage was yielded. A file
            of a folder is left out instead. Or there were files, and no format fits any of them.
    """
    found = FormatDetection(formats) if isinstance(formats, str) else formats
    return _Reading(found, intake or Intake()).read(names)


def messages(
    names: Iterable[str], formats: str | FormatDetection = AUTO, intake: Intake | None = None
) -> Iterator[TopicMessage]:
    """The same records as messages to publish: bytes that are not a record are passed on as they are.

    Raises:
        ConfigurationError: as for `entries`.
    """
    return map(message, entries(names, formats, intake))


def message(entry: Entry) -> TopicMessage:
    """The message of one entry: its own bytes where it has some, else its value as JSON.

    Raises:
        ConfigurationError: the value is nested too deeply to be written.

    >>> message(Entry(key="s1", timestamp=None, value={"session_id": "s1"}, raw=None))
    TopicMessage(key=b's1', value=b'{"session_id":"s1"}', timestamp=None)
    """
    key = None if entry.key is None else entry.key.encode()
    try:
        # Bytes, which only Avro has, become a list: no field of a DecisionLog accepts either.
        value = orjson.dumps(entry.value, default=list) if entry.raw is None else entry.raw
    except orjson.JSONEncodeError as error:
        raise ConfigurationError(f"a record cannot be written as JSON ({error}). Correct the file") from error
    return TopicMessage(key, value, entry.timestamp)


class _Reading:
    """Reads inputs, and remembers what one means for the next."""

    def __init__(self, formats: FormatDetection, intake: Intake) -> None:
        self._formats, self._intake = formats, intake
        self._seen: set[int] = set()
        """Records of programs that copy lines of a session into the file of the session that continues it."""

    def read(self, names: Iterable[str]) -> Iterator[Entry]:
        for source in sources(names):
            yield from self._parts(source) if source.parts else self._file(source)
        if self._intake.strangers and not self._intake.shares:
            first = self._intake.named[0]
            others = self._intake.strangers - 1
            if self._intake.known and not others:
                raise ConfigurationError(self._intake.known[0])
            raise ConfigurationError(
                nothing_fits(first if not others else f"{first} and {others:,} more files")
            )

    def _file(self, source: Source) -> Iterator[Entry]:
        self._intake.reading = source.path
        try:
            with open_input(source.path) as stream:
                form, head, whole = self._formats.of(stream, source.path)
                name = STANDARD_INPUT_NAME if source.path == STANDARD_INPUT else source.path
                if form is not None:
                    reader = InputReader(form, name)
                    found = self._counted(reader, reader.read(whole), 1, name)
                    is_log = form.kind is UnitKind.LINES and not form.own and Path(source.path).is_file()
                    yield from chain.from_iterable(together(found, RECORDS_AT_ONCE)) if is_log else found
                elif head.strip():
                    self._intake.stranger(name, what_it_is(head, source.path))
        except ConfigurationError as error:
            if source.is_listed:
                raise
            problem = Problem(source.path, IntakeReason.UNREADABLE, str(error))
            self._intake.damaged.add(problem, source.path)

    def _parts(self, source: Source) -> Iterator[Entry]:
        """Read files that are one input together; each for itself if they are of another format."""
        files = parts(source)
        self._intake.reading = source.path
        form = self._formats.of_parts(files)
        if form is None or form.parts != source.parts:
            for each in files:
                yield from self._file(Source(str(each), source.is_listed))
            return
        reader = InputReader(form, str(files[0]))
        yield from self._counted(reader, reader.read_parts(files), len(files), source.path)

    def _counted(
        self, reader: InputReader, found: Iterator[Entry | Problem], files: int, name: str
    ) -> Iterator[Entry]:
        """Count what was found, and yield the records; copies of programs that make some are left out."""
        share = self._intake.share(reader.form.name)
        share.files += files
        makes_copies = reader.form.folder is not None
        try:
            for each in found:
                if isinstance(each, Problem):
                    share.add(each, name)
                elif makes_copies and self._is_copy(each):
                    share.ignored["record that another file has too"] += 1
                else:
                    share.records += 1
                    yield each
        finally:
            share.leave_out(reader.ignored)

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
