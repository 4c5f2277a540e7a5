"""The order to forget a session: a record of `decision-logs` without a value (specification 2.9).

A record without a value is no decision log. One with this header is an order, and the worker that has the
session carries it out between the records before it and those behind it; any other is a dead letter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final

from streams.core.domain.record import Headers, Outgoing, Unreadable
from streams.core.domain.run import Message
from streams.core.domain.topic import Topic

HEADER: Final = "eddy.forget"
"""Its value names the order: the tombstones that follow from it have the same header."""

PLACE: Final = "eddy.place"
"""A header of the tombstones: partition/offset of the order on decision-logs."""

SESSION: Final = "eddy.session"
"""A header of tombstones under `NO_SESSION`: the key of the session."""

NO_SESSION: Final = b""
"""A key that no session can have."""

IF_HELD: Final = "eddy.forget.if-held"
"""A header of orders that clear nothing where the session has no state: nothing of it was found there."""

LONGEST_ORDER: Final = 100
"""Bytes of the name of an order."""

ERASED_FROM: Final = (Topic.SESSION_BUDGETS, Topic.SESSION_RESPONSES, Topic.TOPOLOGY)
"""The compacted topics under the key of the session. The last one tells that the order was carried out."""


def order_in(headers: Iterable[tuple[str, bytes | None]]) -> bytes | None:
    """Return the order that the headers of a record without a value name, None where it is none.

    >>> order_in([("trace", b"7"), ("eddy.forget", b"o-1")]), order_in([("eddy.forget", b"")])
    (b'o-1', None)
    """
    for name, value in headers:
        if name == HEADER and value is not None and 0 < len(value) <= LONGEST_ORDER:
            return value
    return None


def is_order(message: Message) -> bool:
    """Tell whether a record of `decision-logs` is an order to forget the session of its key."""
    if message.value is not None or not message.key or isinstance(message, Unreadable):
        return False
    return _is_text(message.key) and order_in(message.headers) is not None


def _is_text(key: bytes) -> bool:
    """Tell whether a session can have this key."""
    try:
        key.decode()
    except UnicodeDecodeError:
        return False
    return True


def session_digest(session_id: str) -> str:
    """Return what a forgotten session is remembered by: SHA-256 over its id as UTF-8, hex.

    Whoever knows the session can tell that it was forgotten, nobody else. An id may be a name.

    >>> session_digest("s-17")[:16]
    '17954fe53012aeac'
    """
    return sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()


def order_record(session_id: str, order: str, at_ms: int, *, if_held: bool = False) -> Outgoing:
    """Return the order to forget a session; ``if_held`` where nothing of it was found.

    Raises:
        UnicodeEncodeError: no record can have such an id.
    """
    headers: Headers = [(HEADER, order.encode())]
    return Outgoing(session_id.encode(), None, at_ms, [*headers, (IF_HELD, b"1")] if if_held else headers)


def tombstones(partition: int, order: Message, *, held: bool) -> Iterator[tuple[Topic, Outgoing]]:
    """Yield what an order in a partition of `decision-logs` removes from the compacted topics.

    Where there is neither a state nor anything else, it is one under a key of no session, so that who waits
    hears of it: one under that of the session could bury what it has said in another partition since.
    """
    headers: Headers = [(HEADER, order_in(order.headers)), (PLACE, b"%d/%d" % (partition, order.offset))]
    if not held and any(name == IF_HELD for name, _ in order.headers):
        named = [*headers, (SESSION, order.key)]
        yield Topic.TOPOLOGY, Outgoing(NO_SESSION, None, order.timestamp, named)
        return
    for topic in ERASED_FROM:
        yield topic, Outgoing(order.key, None, order.timestamp, headers)


def confirmed_by(tombstone: Message) -> bytes | None:
    """Return the key of the session whose order led to a tombstone on topology."""
    return next((value for name, value in tombstone.headers if name == SESSION), tombstone.key)


def place_in(headers: Iterable[tuple[str, bytes | None]]) -> tuple[int, int] | None:
    """Return partition and offset of the order that a tombstone follows from, None where it names none.

    >>> place_in([("eddy.place", b"3/120")]), place_in([("eddy.place", b"3")])
    ((3, 120), None)
    """
    named = next((value for name, value in headers if name == PLACE and value is not None), b"")
    partition, _, offset = named.partition(b"/")
    return (int(partition), int(offset)) if partition.isdigit() and offset.isdigit() else None
