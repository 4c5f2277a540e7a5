"""What the audit is given of the door: who came in, and who was refused."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from streams.console.auth.identity import Identity
from streams.console.auth.refusal import PROBLEM, AuthRefusal
from streams.control.audit import AuditKind, AuditRecord, Result

Audit = Callable[[AuditRecord], Awaitable[object]]
"""Publishes one record: `streams.control.publisher.CommandPublisher.audit`."""

UNKNOWN = "unknown"


def login_record(
    record_id: str, at: int, who: Identity, target: str, peer: str, subject: str | None = None
) -> AuditRecord:
    """Return the record of a login.

    Args:
        record_id: New id, for this record alone.
        at: Time of the login, in milliseconds since 1970.
        who: With `via` as the login was: `link`, `token` or `openid`.
        target: Method and path of the request.
        peer: Address of the other end of the connection: of the user, or of the proxy.
        subject: What the provider knows the person by; None if they did not log in at one.
    """
    return AuditRecord(
        id=record_id,
        at=at,
        who=who.name,
        kind=AuditKind.LOGIN,
        role=who.role,
        via=who.via,
        target=target,
        request=json.dumps({"peer": peer} if subject is None else {"peer": peer, "subject": subject}),
        result=Result.ACCEPTED,
    )


def refusal_record(
    record_id: str, at: int, who: Identity | None, target: str, peer: str, refused: AuthRefusal
) -> AuditRecord:
    """Return the record of a refusal; the arguments are those of `login_record`."""
    return AuditRecord(
        id=record_id,
        at=at,
        who=who.name if who else UNKNOWN,
        kind=AuditKind.REFUSED,
        role=who.role if who else None,
        via=who.via if who else None,
        target=target,
        why=refused.detail,
        request=json.dumps({"peer": peer, "type": PROBLEM + refused.kind}),
        result=Result.REFUSED,
    )
