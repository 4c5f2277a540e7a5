"""From input files to their records, whatever the format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from io import BufferedReader

from streams.sources import avro_container, jsonl, recorded_messages, trajectory
from streams.sources.entry import Entry
from streams.sources.input_file import open_input, starts_with
from streams.sources.message import Message, message


class InputFormat(StrEnum):
    """How records are written down. ``auto`` recognises Avro containers by their first bytes."""

    AUTO = "auto"
    JSONL = "jsonl"
    AVRO = "avro"
    TRAJECTORY = "trajectory"
    MESSAGES = "messages"


def entries(names: Iterable[str], input_format: InputFormat = InputFormat.AUTO) -> Iterator[Entry]:
    """The records of all files, one file after the other; ``-`` is standard input. Memory does not grow.

    Raises:
        ConfigurationError: a file cannot be read to its end; what came before the damage was yielded.
    """
    for name in names:
        with open_input(name) as stream:
            yield from _read(stream, input_format)


def messages(names: Iterable[str], input_format: InputFormat = InputFormat.AUTO) -> Iterator[Message]:
    """The same records as messages to publish: bytes that are not a record are passed on as they are.

    Raises:
        ConfigurationError: as for `entries`.
    """
    return map(message, entries(names, input_format))


def _read(stream: BufferedReader, input_format: InputFormat) -> Iterator[Entry]:
    match input_format:
        case InputFormat.AUTO:
            return (
                avro_container.read(stream)
                if starts_with(stream, avro_container.MAGIC)
                else jsonl.read(stream)
            )
        case InputFormat.JSONL:
            return jsonl.read(stream)
        case InputFormat.AVRO:
            return avro_container.read(stream)
        case InputFormat.TRAJECTORY:
            return trajectory.read(stream)
        case InputFormat.MESSAGES:
            return recorded_messages.read(stream)
