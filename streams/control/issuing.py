"""The one way to issue commands: the audit knows before anything is done, and how it ended."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import orjson

from streams.control.audit import AuditKind, AuditRecord, Result
from streams.control.command import Command
from streams.control.publisher import CommandPublisher, Place
from streams.core.domain.topic import Topic
from streams.core.errors import EddyError

T = TypeVar("T")

log = logging.getLogger(__name__)


def audit_of(commands: Sequence[Command], audit_id: str) -> AuditRecord:
    """Return the audit record of commands that one action issues, as it is before the action.

    Args:
        commands: One or more, alike but for the session.
        audit_id: A new id for the audit record.
    """
    first, others = commands[0], len(commands) - 1
    alike = {**first.fields(), "session_ids": [each.session_id for each in commands]} if others else None
    return AuditRecord(
        id=audit_id,
        at=first.issued_at,
        who=first.issuer.name,
        role=first.issuer.role,
        via=first.issuer.via,
        kind=AuditKind.COMMAND,
        target=f"{len(commands)} sessions" if others else first.key.decode(),
        why=first.reason,
        request=orjson.dumps(alike or first.fields()).decode(),
    )


async def issued(
    publisher: CommandPublisher, commands: Sequence[Command], record: AuditRecord
) -> list[Place]:
    """Write the audit record, publish the commands, and write how that ended; return their places.

    Raises:
        ConfigurationError: a command breaks a rule, or a topic is missing.
        InfrastructureError: the brokers failed. Without its audit record nothing was issued.
    """
    return await recorded(publisher, record, lambda: publisher.issue(commands), _newest)


async def recorded(
    publisher: CommandPublisher,
    record: AuditRecord,
    act: Callable[[], Awaitable[T]],
    place: Callable[[T], str],
) -> T:
    """Write an audit record, act, and write how that ended; return what the action returned.

    Args:
        publisher: Where the audit is.
        record: As it is before the action.
        act: Does what the audit record announces.
        place: Names where what the action returned stands: topic/partition/offset.

    Raises:
        EddyError: of the action, or the audit did not take the record: then nothing was done.
    """
    await publisher.audit(record)
    try:
        result = await act()
    except EddyError:
        await _ended(publisher, record.ended(Result.FAILED))
        raise
    await _ended(publisher, record.ended(Result.ACCEPTED, place(result)))
    return result


def _newest(places: Sequence[Place]) -> str:
    partition, offset = places[-1]
    return f"{Topic.SESSION_COMMANDS}/{partition}/{offset}"


async def _ended(publisher: CommandPublisher, record: AuditRecord) -> None:
    """Write how an action ended. It has happened: that the audit does not take this undoes nothing."""
    try:
        await publisher.audit(record)
    except EddyError as error:
        log.warning("The audit of an action has no result: %s", error)
