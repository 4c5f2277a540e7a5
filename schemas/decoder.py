"""Bytes of the input topic into plain values. Never fails in any other way than `UndecodableError`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from schemas.bundled import latest
from schemas.json_reader import read_json
from schemas.reason import Reason, UndecodableError
from schemas.wire_format import Headers, framing, named_schema
from schemas.writer_schemas import SchemaSource, WriterSchemas, silent

MAX_VALUE_BYTES = 1_048_576


class Decoder:
    """Reads the values of one subject: Avro of any known version, or JSON.

    ``max_bytes`` bounds what is read: a larger value is `Reason.OVERSIZE`. ``source`` is the
    registry; without one only the bundled schemas are known. ``clock`` returns seconds: entries expire by it.
    """

    def __init__(
        self,
        subject: str,
        *,
        max_bytes: int = MAX_VALUE_BYTES,
        source: SchemaSource | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_bytes = max_bytes
        self._has_source = source is not None
        self._schemas = WriterSchemas(latest(subject), source, clock)

    async def prepare(
        self, messages: Iterable[tuple[bytes | None, Headers]], progress: Callable[[], None] = silent
    ) -> None:
        """Fetch the schemas that `decode` will need for these (value, headers); call it once per run.

        Without a registry this does nothing. ``progress`` is called for each answer of the registry.

        Raises:
            InfrastructureError: the registry cannot be reached.
            ConfigurationError: the registry refuses, or is none.
        """
        if self._has_source:
            keys = (named_schema(value, headers) for value, headers in messages if value)
            await self._schemas.fetch(dict.fromkeys(key for key in keys if key is not None), progress)

    def decode(self, value: bytes | None, headers: Headers = ()) -> dict[str, Any]:
        """Return the fields of one value. Types are not checked: validation does that, with paths.

        Raises:
            UndecodableError: with the reason; nothing else, whatever the bytes.
        """
        if value is None:
            raise UndecodableError(Reason.NULL_VALUE, "the message has no value")
        if len(value) > self._max_bytes:
            raise UndecodableError(
                Reason.OVERSIZE, f"the value has {len(value)} bytes, {self._max_bytes} are accepted"
            )
        framed = framing(value, headers)
        if framed is None:
            return read_json(value, 0)
        key, start = framed
        return self._schemas.reader(key)(value, start)
