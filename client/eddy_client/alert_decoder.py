"""Reads values that Eddy publishes: JSON, or Avro in Confluent's frame."""

from __future__ import annotations

import io
import json
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_SCHEMA_HEADER = "eddy-schema"
_FRAME = 5
_SECONDS = 10
_SCHEMAS = Path(__file__).parent / "schemas"

Headers = Sequence[tuple[str, bytes | None]]


class UnreadableAlertError(ValueError):
    """A value cannot be read; the message says what to do."""


class AlertDecoder:
    """Reads values of one subject.

    Args:
        registry_url: The Schema Registry of the job, if it has one.
        subject: Whose values, by default those of `session-alerts`.
    """

    def __init__(self, registry_url: str | None = None, subject: str = "session-alerts-value") -> None:
        self._registry_url = registry_url
        self._subject = subject
        self._readers: dict[object, Callable[[bytes], Any]] = {}

    def decode(self, value: bytes, headers: Headers) -> dict[str, Any]:
        """Return the fields.

        Raises:
            UnreadableAlertError: the value is damaged, or of a schema that is not known here.
            ImportError: it is Avro, and the extra `avro` is not installed.
            OSError: the registry does not answer.
        """
        if value.lstrip()[:1] == b"{":
            found = json.loads(value)
        elif value[:1] == b"\0" and len(value) > _FRAME:
            found = self._reader(value, headers)(value[_FRAME:])
        else:
            raise UnreadableAlertError("It is neither JSON nor Avro in Confluent's frame.")
        if not isinstance(found, dict):
            raise UnreadableAlertError("It is no object.")
        return found

    def _reader(self, value: bytes, headers: Headers) -> Callable[[bytes], Any]:
        named = dict(headers).get(_SCHEMA_HEADER)
        key: object = named or int.from_bytes(value[1:_FRAME], "big")
        if key not in self._readers:
            schema = self._bundled(named.decode()) if named else self._registered(value)
            self._readers[key] = _compiled(schema)
        return self._readers[key]

    def _bundled(self, name: str) -> Any:
        subject, _, version = name.partition("/")
        path = _SCHEMAS / subject / f"v{version}.avsc"
        if subject != self._subject or not version.isdecimal() or not path.exists():
            raise UnreadableAlertError(f"Its schema {name} is not known here: install a newer eddy-client.")
        return json.loads(path.read_text(encoding="utf-8"))

    def _registered(self, value: bytes) -> Any:
        schema_id = int.from_bytes(value[1:_FRAME], "big")
        if self._registry_url is None:
            raise UnreadableAlertError(f"Its schema has the id {schema_id}: give registry_url.")
        url = f"{self._registry_url.rstrip('/')}/schemas/ids/{schema_id}"
        with urllib.request.urlopen(url, timeout=_SECONDS) as answer:  # noqa: S310 - the user's own registry
            return json.loads(json.loads(answer.read())["schema"])


def _compiled(schema: Any) -> Callable[[bytes], Any]:
    try:
        from fastavro import parse_schema, schemaless_reader
    except ImportError as error:
        raise ImportError(
            "Values in Avro need an extra: pip install 'eddy-client[avro]'. Or let Eddy write JSON "
            "(EDDY_OUTPUT_FORMAT=json)."
        ) from error
    parsed = parse_schema(schema)
    return lambda data: schemaless_reader(io.BytesIO(data), parsed, None)
