"""Single records as they stand on a topic, for people who look at one: as text, as bytes, or decoded."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from schemas.codec import Codec
from schemas.json_reader import read_json
from schemas.numbers import SUBJECT_NUMBERS
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, InfrastructureError
from streams.kafka.client import Brokers
from streams.kafka.stored import Stored

#: Bytes of a value on one page.
PAGE_BYTES: Final = 64 << 10

_PATIENCE_SECONDS: Final = 20.0
_ROW_BYTES: Final = 16


class RawRecords:
    """Reads one record at a time.

    Args:
        brokers: What to read from.
        codec: Reads the values of the records.
    """

    def __init__(self, brokers: Brokers, codec: Codec) -> None:
        self._brokers = brokers
        self.codec = codec

    async def record(self, topic: Topic, partition: int, offset: int) -> Stored:
        """Return the record at a place.

        Raises:
            ConfigurationError: there is none.
            InfrastructureError: the brokers do not answer.
        """
        name = self._brokers.topic(topic)
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                if partition >= (await self._brokers.partition_counts([name])).get(name, 0):
                    raise ConfigurationError(f"There is no partition {partition} of {name}.")
                async for stored in self._brokers.read_range(name, partition, offset, offset + 1):
                    if stored.offset == offset:
                        return stored
        except TimeoutError as error:
            raise InfrastructureError(
                f"The brokers did not return the record within {_PATIENCE_SECONDS:.0f} s. Check that they "
                "run, and load the page again."
            ) from error
        raise ConfigurationError(
            f"{name} holds no record at {partition}:{offset}. Its retention may have removed it."
        )

    async def decoded(self, topic: Topic, stored: Stored) -> Any:
        """Return the value as JSON has it, None if there is none.

        Raises:
            UndecodableError: it cannot be read.
            InfrastructureError: the registry does not answer.
        """
        if stored.value is None:
            return None
        subject = f"{topic}-value"
        if subject not in SUBJECT_NUMBERS:
            return read_json(stored.value, 0)
        decoder = self.codec.decoder(subject)
        await decoder.prepare([(stored.value, stored.headers)])
        return decoder.decode(stored.value, stored.headers)


def hex_dump(value: bytes, first: int) -> str:
    r"""Return bytes as rows of 16, each with its place and with what of it is printable.

    >>> hex_dump(b"ab\n", 16)
    '00000010  61 62 0a                                         ab.'
    """
    rows = []
    for start in range(0, len(value), _ROW_BYTES):
        part = value[start : start + _ROW_BYTES]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        rows.append(f"{first + start:08x}  {part.hex(' '):<48} {text}")
    return "\n".join(rows)
