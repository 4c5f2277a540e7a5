"""What was done at the console or a shell, by whom and why, and the ids of that. Triage is its sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum, unique
from typing import Any, Final, Self
from uuid import UUID

from streams.control.command import number, optional_text, text

_RANDOM_BYTES: Final = 10
_VERSION: Final = 7 << 76
_VARIANT: Final = 2 << 62
_VERSION_BITS: Final = 0xF << 76
_VARIANT_BITS: Final = 3 << 62


def uuid7(at: int, chance: bytes) -> str:
    """Return a UUID of version 7: ids that are made later sort later.

    Args:
        at: Time of the id, in milliseconds since 1970.
        chance: Ten random bytes that make the id unique.

    >>> uuid7(1_760_000_000_000, bytes(10))
    '0199c82c-c000-7000-8000-000000000000'

    Raises:
        ValueError: the time does not fit into 48 bits, or these are not ten bytes.
    """
    if len(chance) != _RANDOM_BYTES or not 0 <= at < 1 << 48:
        raise ValueError("a UUID of version 7 takes a time of 48 bits and ten bytes of chance")
    value = at << 80 | int.from_bytes(chance)
    value = value & ~_VERSION_BITS & ~_VARIANT_BITS | _VERSION | _VARIANT
    return str(UUID(int=value))


@unique
class AuditKind(StrEnum):
    """What was done."""

    LOGIN = "login"
    REFUSED = "refused"
    TRIAGE = "triage"
    COMMAND = "command"
    SETTINGS = "settings"
    SHADOW = "shadow"
    REDRIVE = "redrive"
    POLICY = "policy"
    VIEW_RAW = "view_raw"
    FORGET = "forget"


@unique
class Result(StrEnum):
    """How an action ended. The record before the action has none."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """An action. The record with its result has the same ``id`` as the one before it, and replaces it.

    ``at`` in ms since 1970; ``target`` is what it was done to: of triage, the episode; ``request`` is JSON;
    ``result_place`` is topic/partition/offset of what the action wrote.
    """

    id: str
    at: int
    who: str
    kind: str
    role: str | None = None
    via: str | None = None
    target: str | None = None
    why: str | None = None
    request: str | None = None
    result: str | None = None
    result_place: str | None = None

    @property
    def key(self) -> bytes:
        """The Kafka key: the episode of triage, so that its records have one order; else the kind."""
        return (self.target if self.kind == AuditKind.TRIAGE and self.target else self.kind).encode()

    def ended(self, result: Result, place: str | None = None) -> Self:
        """Return the record that replaces this one after the action."""
        return replace(self, result=result, result_place=place)

    def fields(self) -> dict[str, Any]:
        """Return the fields of the record, as the schema has them."""
        return asdict(self)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Self:
        """Read the fields of a record.

        Raises:
            MalformedError: a field is missing or of another type; the message names it, not its value.
        """
        return cls(
            id=text(fields, "id"),
            at=number(fields, "at"),
            who=text(fields, "who"),
            kind=text(fields, "kind"),
            role=optional_text(fields, "role"),
            via=optional_text(fields, "via"),
            target=optional_text(fields, "target"),
            why=optional_text(fields, "why"),
            request=optional_text(fields, "request"),
            result=optional_text(fields, "result"),
            result_place=optional_text(fields, "result_place"),
        )
