"""Why a message was set aside, as one closed word, and the error that says so."""

from __future__ import annotations

from enum import StrEnum, unique

from streams.core.errors import EddyError


@unique
class Reason(StrEnum):
    """Why a message went to the dead-letter topic; the value of its header ``x-dlq-reason``."""

    NULL_VALUE = "null_value"
    """The message has no value: decision logs know no tombstones."""
    OVERSIZE = "oversize"
    """The value is larger than the job accepts."""
    UNDECODABLE = "undecodable"
    """The bytes are neither a JSON object nor Avro of the schema they name."""
    UNREADABLE = "unreadable"
    """The Kafka client cannot read the record: its headers, its batch or its compression is broken."""
    UNKNOWN_SCHEMA = "unknown_schema"
    """The bytes name an unknown schema."""
    SCHEMA_VIOLATION = "schema_violation"
    """The record was read, but a field is missing or wrong; ``x-dlq-problems`` names the fields."""
    KEY = "key"
    """The Kafka key is not the session_id of the record."""
    FUTURE = "future"
    """meta.timestamp is too far ahead of the time of the Kafka record."""


class UndecodableError(EddyError):
    """A message that cannot become a record. It goes to the dead letters as it is; the session is untouched.

    ``reason`` is the closed word, ``detail`` one sentence without any text of the message itself.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
