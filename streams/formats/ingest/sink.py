"""Where records go: a topic, a file or standard output as JSON lines, or nowhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import orjson

from streams.core.domain.record import Headers, Outgoing
from streams.core.entry import session_key
from streams.core.errors import ConfigurationError
from streams.formats.adapters.record import json_text
from streams.kafka.record_sender import RecordSender


class SentRecord(NamedTuple):
    """A record, and the name of the format that it came from."""

    value: Mapping[str, Any]
    source: str


class RecordSink(Protocol):
    """Takes records in their order."""

    async def write(self, records: Sequence[SentRecord]) -> None:
        """Return when the records are kept, in their order.

        Raises:
            InfrastructureError: they cannot be now. The same records may be given again.
            ConfigurationError: they never can be.
        """
        ...

    async def close(self) -> None:
        """Give back what is held open."""
        ...


class LineSink:
    """Writes each record as a line of JSON, at once.

    Args:
        write: Takes a line without its end.
    """

    def __init__(self, write: Callable[[Mapping[str, Any]], None]) -> None:
        self._write = write

    async def write(self, records: Sequence[SentRecord]) -> None:
        """Write them."""
        for each in records:
            self._write(each.value)

    async def close(self) -> None:
        """Do nothing."""


class FileSink:
    """Appends each record as a line of JSON to a file.

    A last line without its end is what a killed process has left: it is cut off. Its record comes again.

    Args:
        path: The file that records are appended to.

    Raises:
        ConfigurationError: it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            _cut_half_line(self._file)
        except OSError as error:
            raise ConfigurationError(f"{path}: {error}. Give a file that can be written") from error

    async def write(self, records: Sequence[SentRecord]) -> None:
        """Append them, and wait until the disk has them."""
        data = b"".join(line(each.value) + b"\n" for each in records)
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:
            raise ConfigurationError(f"{self._path}: {error}. Make room, then start again") from error

    async def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class NoSink:
    """Keeps nothing."""

    async def write(self, records: Sequence[SentRecord]) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""


class Several:
    """Gives records to several sinks, one after the other."""

    def __init__(self, *sinks: RecordSink) -> None:
        self._sinks = sinks

    async def write(self, records: Sequence[SentRecord]) -> None:
        """Give them to each."""
        for each in self._sinks:
            await each.write(records)

    async def close(self) -> None:
        """Close each."""
        for each in self._sinks:
            await each.close()


def line(value: Mapping[str, Any]) -> bytes:
    """Return a record as JSON."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return json_text(value).encode("utf-8", "replace")


def _cut_half_line(file: int) -> None:
    size = end = os.fstat(file).st_size
    while end > 0:
        begin = max(0, end - (1 << 16))
        at = os.pread(file, end - begin, begin).rfind(b"\n")
        if at >= 0:
            end = begin + at + 1
            break
        end = begin
    if end < size:
        os.ftruncate(file, end)


SOURCE_HEADER: Final = "eddy-source"
_TOGETHER: Final = 500


class TopicSink:
    """Sends each record as JSON.

    Args:
        sender: Sends the records to their topic.
        now_ms: The time that records get on the topic.
    """

    def __init__(self, sender: RecordSender, now_ms: Callable[[], int]) -> None:
        self._sender, self._now_ms = sender, now_ms

    async def write(self, records: Sequence[SentRecord]) -> None:
        """Send them, a few hundred at a time.

        Raises:
            InfrastructureError: the brokers do not take them now.
            ConfigurationError: they never do.
        """
        for begin in range(0, len(records), _TOGETHER):
            some = records[begin : begin + _TOGETHER]
            await self._sender.send([_outgoing(each, self._now_ms()) for each in some])

    async def close(self) -> None:
        """Close the connection."""
        await self._sender.close()


def _outgoing(record: SentRecord, at: int) -> Outgoing:
    key = session_key(record.value)
    headers: Headers = [(SOURCE_HEADER, record.source.encode())]
    return Outgoing(None if key is None else key.encode(), line(record.value), at, headers)
