"""Single records as they stand on a topic, for people who look at one: as text, as bytes, or decoded.

The value of a record for a page: as text, as bytes in pages, decoded, or as a file. Each look is audited.
What must not be shown is hidden before the value is cut into pages, so that no cut runs through it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

import orjson
from aiohttp import web

from schemas.codec import Codec, UndecodableError
from schemas.json_reader import read_json
from schemas.numbers import SUBJECT_NUMBERS
from streams.console.auth import Identity
from streams.console.auth.headers import SANDBOXED
from streams.console.console import Console
from streams.control.audit import AuditKind, AuditRecord, Result, uuid7
from streams.core.domain.text.printable import printable
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


Audited = Callable[[AuditRecord], Awaitable[None]]

FORMS: Final = ("text", "hex", "json", "file")
_CHANCE_BYTES: Final = 10


class RawView(NamedTuple):
    """A value that is looked at.

    Attributes:
        place: Topic, partition and offset, with slashes.
        value: Bytes of the record's value.
        topic: whose values it is like.
        stored: Record as the topic has it.
    """

    place: str
    value: bytes | None
    topic: Topic
    stored: Stored


async def shown_value(
    console: Console, request: web.Request, records: RawRecords, raw: RawView, audited: Audited
) -> dict[str, Any] | web.Response:
    """Return what a page shows of a value, or the file that was asked for.

    Raises:
        ConfigurationError: the address is wrong, or this person may not have the file.
        InfrastructureError: the look cannot be audited.
    """
    who: Identity = request["who"]
    way, page = request.query.get("as", "text"), request.query.get("page", "1")
    if way not in FORMS:
        raise ConfigurationError(f"as in the address is one of {', '.join(FORMS)}, not {printable(way, 40)}.")
    if not (page.isascii() and page.isdecimal() and len(page) < 7 and int(page)):
        raise ConfigurationError("page in the address must be the number of a page, from 1.")
    if way == "file" and console.redaction.hides(who.reads_as):
        raise ConfigurationError("Only an operator may have raw values here (EDDY_CONSOLE_VIEWER_SEES).")
    await audited(_look(who, console.clock(), raw.place, way))
    value = _without_hidden(console, raw.value or b"")
    if way == "file":
        return _file(raw.place, value)
    pages = max(1, -(-len(value) // PAGE_BYTES))
    number = min(int(page), pages)
    first = (number - 1) * PAGE_BYTES
    part = value[first : first + PAGE_BYTES]
    text = hex_dump(part, first) if way == "hex" else part.decode("utf-8", "backslashreplace")
    if way == "json":
        pages, number, text = 1, 1, await _decoded(console, records, raw)
    return {"as": way, "text": text, "page": number, "pages": pages, "is_null": raw.value is None}


def _look(who: Identity, now: int, place: str, way: str) -> AuditRecord:
    return AuditRecord(
        id=uuid7(now, os.urandom(_CHANCE_BYTES)),
        at=now,
        who=who.name,
        role=who.role,
        via=who.via,
        kind=AuditKind.VIEW_RAW,
        target=place,
        request=orjson.dumps({"as": way}).decode(),
        result=Result.ACCEPTED,
    )


def _without_hidden(console: Console, value: bytes) -> bytes:
    """Return a value without what is never shown; equal bytes if there is nothing to hide."""
    text = value.decode("utf-8", "surrogateescape")
    return console.redaction.text(text).encode("utf-8", "surrogateescape")


async def _decoded(console: Console, records: RawRecords, raw: RawView) -> str:
    try:
        fields = await records.decoded(raw.topic, raw.stored)
    except UndecodableError as error:
        return f"The value cannot be decoded: {error}"
    text = orjson.dumps(fields, option=orjson.OPT_INDENT_2, default=str).decode()
    return console.redaction.text(text)[: 4 * PAGE_BYTES]


def _file(place: str, value: bytes) -> web.Response:
    name = place.replace("/", "-") + ".bin"
    return web.Response(
        body=value,
        content_type="application/octet-stream",
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "Content-Security-Policy": SANDBOXED,
            "X-Content-Type-Options": "nosniff",
        },
    )
