"""What was asked of the agents of this machine, and what came of it: the topics of control, in one file.

Policies, commands, answers and the audit go through the code that writes them to Kafka. Here they are lines
of a file, are folded at once, and are read again by the next watch: who was told is told once, and a pause
still holds.
"""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from streams.control.publisher import Place
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, InfrastructureError
from streams.kafka.stored import Stored

KEPT_MS: Final = 24 * 3_600_000
"""As long as a command may last. Older lines are left out when a watch begins; the newest policy stays."""

_PARTITION: Final = 0

Take = Callable[[Topic, Stored, Mapping[str, Any]], None]
"""Folds a record."""


class JournalLine(NamedTuple):
    """One record, as the file has it."""

    topic: Topic
    stored: Stored
    fields: Mapping[str, Any]

    def text(self) -> bytes:
        """Return the line."""
        stored = self.stored
        return orjson.dumps(
            {
                "topic": self.topic,
                "offset": stored.offset,
                "at": stored.timestamp,
                "key": (stored.key or b"").decode("utf-8", "replace"),
                "value": self.fields,
            },
            option=orjson.OPT_APPEND_NEWLINE,
        )


class Journal:
    """The file, in the place of brokers. One process at a time writes it.

    Args:
        path: File of the journal; made if there is none.
        take: Called with each record, also with those that stood in the file.
        now: When this watch begins, ms since 1970.

    Raises:
        ConfigurationError: another watch has it, or it cannot be read or written.
    """

    def __init__(self, path: Path, take: Take, now: int) -> None:
        self._path, self._take = path, take
        self._next: Counter[Topic] = Counter()
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = open(path.with_suffix(".lock"), "wb", opener=_private)  # noqa: SIM115 - as below
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                self._lock.close()
                raise ConfigurationError(
                    f"Another `eddy watch` has {path}. End it first: one watches all of your agents"
                ) from error
            kept = list(_kept(path, now))
            beside = path.with_name(f"{path.name}.new")
            with open(beside, "wb", opener=_private) as file:
                file.writelines(line.text() for line in kept)
            beside.replace(path)
            self._file = open(path, "ab", buffering=0, opener=_private)  # noqa: SIM115 - until it is closed
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be read and written: {error}") from error
        for line in kept:
            self._next[line.topic] = max(self._next[line.topic], line.stored.offset + 1)
            take(*line)

    def topic(self, topic: Topic, /) -> str:
        """Return how a topic is called here."""
        return str(topic)

    async def partition_counts(self, names: Iterable[str]) -> dict[str, int]:
        """Return one partition for each."""
        return dict.fromkeys(names, 1)

    async def write(self, topic: str, records: Iterable[tuple[int | None, Outgoing]]) -> list[Place]:
        """Write records, fold them, and return the places.

        Raises:
            InfrastructureError: the file cannot be written.
        """
        places = []
        for _, record in records:
            value = record.value or b"null"
            places.append(self.add(Topic(topic), record.key or b"", orjson.loads(value), record.timestamp))
        return places

    def add(self, topic: Topic, key: bytes, fields: Mapping[str, Any], at: int | None) -> Place:
        """Write a record, fold it, and return its place.

        Raises:
            InfrastructureError: the file cannot be written.
        """
        offset = self._next[topic]
        body = orjson.dumps(fields)
        # What is folded now is what the next watch reads: JSON, and no words of an enumeration.
        line = JournalLine(topic, Stored(_PARTITION, offset, at or 0, key, body, ()), orjson.loads(body))
        text = line.text()
        end = os.fstat(self._file.fileno()).st_size
        try:
            written = self._file.write(text)
        except OSError as error:
            raise InfrastructureError(f"{self._path} cannot be written: {error}") from error
        if written != len(text):  # half a line would spoil the next one
            os.ftruncate(self._file.fileno(), end)
            raise InfrastructureError(f"{self._path} cannot be written: the disk is full")
        self._next[topic] = offset + 1
        self._take(*line)
        return _PARTITION, offset

    def close(self) -> None:
        """Close the file, and let another watch have it."""
        self._file.close()
        self._lock.close()


def _kept(path: Path, now: int) -> Iterator[JournalLine]:
    """Yield the lines that still say something; a last one without its end is of a watch that was killed."""
    if not path.exists():
        return
    lines = [line for line in map(_line, path.read_bytes().splitlines()) if line is not None]
    policy = max((n for n, line in enumerate(lines) if line.topic is Topic.INTERVENTION_POLICY), default=-1)
    for number, line in enumerate(lines):
        if number == policy or line.stored.timestamp > now - KEPT_MS:
            yield line


def _line(text: bytes) -> JournalLine | None:
    try:
        match orjson.loads(text):
            case {
                "topic": str(topic),
                "offset": int(offset),
                "at": int(at),
                "key": str(key),
                "value": dict(value),
            }:
                body = orjson.dumps(value)
                stored = Stored(_PARTITION, offset, at, key.encode("utf-8", "replace"), body, ())
                return JournalLine(Topic(topic), stored, value)
    except ValueError:
        return None
    return None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
