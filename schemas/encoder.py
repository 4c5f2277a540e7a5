"""Plain values into the bytes of one output topic."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Any

import orjson

from schemas import native_avro
from schemas.avro_writer import compile_writer
from schemas.bundled import BundledSchema, latest
from schemas.misfits import misfits
from schemas.wire_format import prefix
from streams.core.errors import EddyError


@unique
class OutputFormat(StrEnum):
    """How outputs are written."""

    AVRO = "avro"
    JSON = "json"


class UnencodableError(EddyError):
    """A record of Eddy's own does not fit its schema: a defect of Eddy, please report the message.

    The worker stops before it acknowledges anything; the message names the fields, not their values.
    """


@dataclass(frozen=True, slots=True)
class Encoder:
    """Writes the records of one subject: ``encode`` the fields, send the constant ``headers`` along.

    The same fields in the same order give the same bytes. In Avro an absent field is written as its
    default (null for nearly all), and a field the schema does not know is left out: see `check_fields`.
    In JSON the fields are written as they are, null or not. ``encode`` raises `UnencodableError`.
    """

    subject: str
    headers: tuple[tuple[str, bytes | None], ...]
    encode: Callable[[Mapping[str, Any]], bytes]


def bundled_encoder(subject: str) -> Encoder:
    """Return the encoder of the newest version of a subject; its header names the version.

    >>> bundled_encoder("entropy-alerts-value").headers
    (('eddy-schema', b'entropy-alerts-value/1'),)
    """
    schema = latest(subject)
    return Encoder(subject, (_named(schema),), _avro(schema, schema.id))


def registered_encoder(subject: str, schema_id: int) -> Encoder:
    """Return the encoder of the newest version of a subject under the id a registry gave it."""
    return Encoder(subject, (), _avro(latest(subject), schema_id))


def json_encoder(subject: str) -> Encoder:
    """Return the encoder for consumers without Avro."""
    return Encoder(subject, (("content-type", b"application/json"), _named(latest(subject))), _json)


def check_fields(subject: str, fields: Mapping[str, Any]) -> None:
    """Check every type, and that the newest schema of the subject knows every field.

    For tests: `Encoder.encode` looks no closer than it must.

    Raises:
        UnencodableError: a field is unknown, missing or of another type; the message has the paths.
    """
    schema = latest(subject)
    wrong = misfits(schema.definition, fields)
    if wrong:
        raise UnencodableError(f"{schema.name}: {', '.join(wrong)}")


def _named(schema: BundledSchema) -> tuple[str, bytes]:
    return "eddy-schema", schema.name.encode()


def _avro(schema: BundledSchema, schema_id: int) -> Callable[[Mapping[str, Any]], bytes]:
    write = compile_writer(schema.definition)
    head = prefix(schema_id)

    def encode(fields: Mapping[str, Any]) -> bytes:
        try:
            return head + write(fields)
        except (KeyError, AttributeError, TypeError, ValueError, struct.error) as error:
            wrong = misfits(schema.definition, fields) or ("a text or number that Avro cannot hold",)
            raise UnencodableError(f"{schema.name}: {', '.join(wrong)}") from error

    return native_avro.writer(schema.definition, head, encode)


def _json(fields: Mapping[str, Any]) -> bytes:
    return orjson.dumps(fields, default=dict)
