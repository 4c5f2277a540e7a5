"""Records whose headers no ordinary producer writes."""

from __future__ import annotations

from schemas.reason import Reason
from streams.core.domain.record import Headers, Outgoing
from tests.hostile.case import Case, sent
from tests.integration.load import decision


def _bad(session: str, headers: Headers) -> Outgoing:
    return Outgoing(session.encode(), b"no decision", decision(session, 1)["meta"]["timestamp"], headers)


CASES = (
    Case(
        "a bad record with a header without a value",
        sent(Reason.UNDECODABLE, lambda session: _bad(session, [("traceparent", None), ("own", b"1")])),
    ),
    Case(
        "a bad record whose schema header has no value",
        sent(Reason.UNDECODABLE, lambda session: _bad(session, [("__value_schema_id", None)])),
    ),
    Case(
        "a bad record with headers of the names of ours, without values",
        sent(
            Reason.UNDECODABLE,
            lambda session: _bad(session, [("__streams.errors.exception", None), ("x-dlq-reason", None)]),
        ),
    ),
    Case(
        "a bad record with 100,000 headers, every second without a value",
        sent(
            Reason.UNDECODABLE,
            lambda session: _bad(
                session, [("name", b"" if number % 2 else None) for number in range(100_000)]
            ),
        ),
    ),
)
