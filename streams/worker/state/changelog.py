"""What a changelog record looks like: its key says what it holds, its value is JSON bytes.

The same bytes stand in the changelog topic and in RocksDB, so restoring is copying.

| table | key | value |
|---|---|---|
| sessions | ``s`` + session_id | the session's snapshot; a tombstone when it was removed |
| sessions | ``m`` + ``settings`` | the partition's settings ledger |
| sessions | ``m`` + ``checkpoint`` | what is not written yet, see `streams.worker.state.checkpoint` |
| sessions | ``m`` + ``clock`` | a tombstone of nothing, written to hear the brokers' time |
| traces (of the bridge) | ``t`` + trace id | what is known of the trace, see `streams.worker.bridge.rows` |
| traces (of the bridge) | ``m`` + ``progress`` | how far the partition is processed |
| aggregates | ``h`` + key of an agent or a tool, ``t`` + task_type | the aggregate's snapshot |

How long a changelog keeps tombstones, and what local state may have missed since.

Compaction removes a tombstone ``delete.retention.ms`` after it was written. State that was not brought up to
date in that time would keep what has been deleted.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import orjson
from aiokafka.errors import KafkaError

from streams.core.domain.record import NO_HEADERS, Headers
from streams.core.domain.session import DamagedSessionError, Session
from streams.core.errors import InfrastructureError, StateError
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from streams.worker.settings_ledger import outdated_ledger
from streams.worker.state.checkpoint import MARK_KEY, outdated_mark

CONFIG = "delete.retention.ms"

#: Kafka's own, for brokers that do not say.
DEFAULT_KEPT_MS = 24 * 3_600_000

#: Clocks differ, and a restore takes its time.
_MARGIN = 0.9

log = logging.getLogger(__name__)


async def kept_ms(connection: Connection, changelog: str) -> int:
    """Return how long the changelog keeps tombstones, ms; Kafka's default where the broker does not tell."""
    try:
        async with connect(connection) as brokers:
            [described] = await brokers.describe([changelog])
    except (KafkaError, InfrastructureError, ValueError, OSError) as error:
        log.warning(
            "The broker does not tell %s of %s (%s); %s h are assumed.",
            CONFIG,
            changelog,
            error,
            DEFAULT_KEPT_MS // 3_600_000,
        )
        return DEFAULT_KEPT_MS
    text = described.config.get(CONFIG, "")
    return int(text) if text.isdigit() else DEFAULT_KEPT_MS


def lacks_entries(offset: int, end: int) -> bool:
    """Tell whether state up to ``offset`` lacks what compaction may take away before the log's ``end``.

    It leaves the last entry of a log alone. Where nothing was written since, that entry may be the marker of
    a transaction, which who wrote it does not count.

    >>> [lacks_entries(7, end) for end in (8, 9, 10)]
    [False, False, True]
    """
    return offset + 2 < end


def may_have_missed(age_ms: float, kept: int) -> bool:
    """Tell whether state last up to date so long ago, and behind now, may have missed a deletion.

    >>> [may_have_missed(age, 1000) for age in (0, 900, 901, 5000)]
    [False, False, True, True]
    """
    return age_ms > kept * _MARGIN


#: The key of the settings ledger of the partition.
SETTINGS_KEY = b"msettings"

#: The key of what is written to hear the brokers' time.
CLOCK_KEY = b"mclock"

_OF_NO_SESSION = frozenset({SETTINGS_KEY, MARK_KEY})

#: A header of tombstones, see `removed_value`.
_BURIED = "eddy.buried"

_SESSION = b"s"
_STUB = re.compile(rb"\[\d+,\d+,\d+(?:\]|,\[)")

V = TypeVar("V")


def _unordered(_value: object) -> int:
    return 0


def _no_source(_key: bytes, _stored: bytes) -> None:
    return None


def _no_headers(_value: object) -> Headers:
    return NO_HEADERS


class Restorable(Protocol):
    """A changelog record."""

    @property
    def key(self) -> bytes:
        """What it is of."""

    @property
    def value(self) -> bytes | None:
        """None when it is gone."""

    @property
    def timestamp(self) -> int:
        """When it was written, ms."""


@dataclass(frozen=True, slots=True)
class TableFormat(Generic[V]):
    """How the values of a table are stored.

    Attributes:
        key: makes the key of a name.
        encode: makes the bytes of a value; equal values give equal bytes.
        decode: reads them back; a StateError for what it cannot read.
        outdated: tells of a key, its bytes and other bytes of it whether the first are of fewer records.
        order: of a value, the offset of its newest record in the source. An epoch writes in this order, so
            that a restore sees by the order alone that a record is not `outdated`.
        source: tells of a key and its bytes which source partition they are of and up to which offset; None
            where there is no such order, and `outdated` has to be asked.
        tombstone_headers: makes the headers of a value's tombstone, see `removed_value`.
    """

    key: Callable[[str], bytes]
    encode: Callable[[V], bytes]
    decode: Callable[[bytes], V]
    outdated: Callable[[bytes, bytes, bytes], bool]
    order: Callable[[V], int] = _unordered
    source: Callable[[bytes, bytes], tuple[bytes, int] | None] = _no_source
    tombstone_headers: Callable[[V], Headers] = _no_headers


def session_key(session_id: str) -> bytes:
    """Return the key of a session's state.

    >>> session_key("s-1")
    b'ss-1'
    """
    return _SESSION + session_id.encode()


def session_id_of(key: bytes) -> str | None:
    """Return which session a key is of, None for a key of something else.

    >>> session_id_of(b"ss-1"), session_id_of(SETTINGS_KEY)
    ('s-1', None)
    """
    return key[1:].decode() if key.startswith(_SESSION) else None


def encode_session(session: Session) -> bytes:
    """Return the bytes a session is stored as; a shadow only where it differs from the session itself."""
    shadow = session.shadow
    if shadow is None:
        return orjson.dumps(session.snapshot())
    alone = orjson.dumps(session._replace(shadow=None).snapshot())
    return alone if orjson.dumps(shadow.snapshot()) == alone else orjson.dumps(session.snapshot())


def decode_session(stored: bytes) -> Session:
    """Return the session that `encode_session` stored.

    Raises:
        StateError: the bytes are of a newer version, or damaged.
    """
    with restoring("session"):
        return Session.restore(orjson.loads(stored))


def is_stub(stored: bytes) -> bool:
    """Tell of the bytes of a session whether it has ended, read from their beginning alone.

    >>> is_stub(b"[1,0,7]"), is_stub(b"[1,0,7,[1,0,7]]"), is_stub(b'[1,0,7,"active",5,[1,0,9]]')
    (True, True, False)
    """
    return _STUB.match(stored) is not None


def removed_value(headers: Iterable[tuple[str, bytes | None]]) -> bytes | None:
    """Return what a session's tombstone says of the state that went: the bytes of a stub at its position.

    A worker that was taken for dead may bury a session of which its successor has read more, so a tombstone
    can be outdated as any state can. None for a tombstone that another program wrote.

    >>> removed_value([("eddy.buried", b"[1,0,7]")])
    b'[1,0,7]'
    """
    return next((value for name, value in headers if name == _BURIED), None)


def tombstone_headers_of(session: Session) -> Headers:
    """Return the headers of the tombstone of a session.

    >>> tombstone_headers_of(Session(partition=0, offset=7))
    [('eddy.buried', b'[2,0,7]')]
    """
    return buried(encode_session(Session(session.partition, session.offset)))


def buried(position: bytes) -> Headers:
    """Return the headers of the tombstone of state; ``position`` begins as the state does."""
    return [(_BURIED, position)]


@contextmanager
def restoring(what: str) -> Iterator[None]:
    """Say what to do about stored bytes that cannot be read.

    Raises:
        StateError: the block did not understand them.
    """
    try:
        yield
    except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        raise StateError(
            f"A stored {what} cannot be read ({error}). If an older version of Eddy was started on the state "
            "of a newer one, start the newer one again; else delete the data directory and let the changelog "
            "restore it."
        ) from error


@contextmanager
def named(changelog: str, partition: int, key: bytes) -> Iterator[None]:
    """Say which entry of a changelog cannot be read."""
    try:
        yield
    except StateError as error:
        raise StateError(f"{changelog}[{partition}], key {key!r}: {error}") from error


@contextmanager
def blaming_state(changelog: str, partition: int, directory: Path) -> Iterator[None]:
    """Say what to do about a session whose state can be read and makes no sense.

    Args:
        changelog: The topic the state is restored from.
        partition: The partition that the block reads state of.
        directory: Where the databases are.

    Raises:
        StateError: the block met such a session.
    """
    try:
        yield
    except DamagedSessionError as error:
        key = session_key(error.session_id)
        raise StateError(
            f"In partition {partition}, {error}. Stop the worker, delete {directory / f'{partition}.db'} and "
            f"start it again: {changelog} restores the state. If it is damaged there too, stop the workers, "
            f"write a record with the key {key!r} and no value into partition {partition} of {changelog} "
            "(docs/limits.md says how), delete the directory again and start: the session begins again with "
            "its next record."
        ) from error


def outdated_session(key: bytes, stored: bytes, known: bytes) -> bool:
    """Tell whether ``stored`` is the state of a session before ``known``, or the ledger of settings is.

    Read from the beginning of the bytes alone: a restore asks this of every record that comes again.

    >>> (
    ...     outdated_session(b"ss-1", b"[1,0,7]", b"[1,0,12,1]"),
    ...     outdated_session(b"ss-1", b"[1,0,12]", b"[1,0,7]"),
    ... )
    (True, False)
    """
    if key == SETTINGS_KEY:
        return outdated_ledger(stored, known)
    if key == MARK_KEY:
        return outdated_mark(stored, known)
    return is_before(stored, known)


def is_before(stored: bytes, known: bytes) -> bool:
    """Tell whether state that begins with its version, source partition and offset is of fewer records.

    >>> is_before(b"[1,0,7]", b"[1,0,12]"), is_before(b"[1,0,7]", b"[1,1,12]")
    (True, False)
    """
    try:
        (_, partition, offset), (_, other, newest) = _head(stored), _head(known)
        return partition == other and int(offset) < int(newest)
    except ValueError:  # of another version; who decodes it says so
        return False


def session_source(key: bytes, stored: bytes) -> tuple[bytes, int] | None:
    """Return the source partition of a session's state, as its digits, and the offset it is up to.

    >>> session_source(b"ss-1", b"[1,0,7]"), session_source(b"ss-1", b"damaged")
    ((b'0', 7), None)
    """
    if key in _OF_NO_SESSION:
        return None
    return position(stored)


def position(stored: bytes) -> tuple[bytes, int] | None:
    """Return the source partition and the offset that state begins with, None if it does not."""
    try:
        _, partition, offset = _head(stored)
        return partition, int(offset)
    except ValueError:  # as in `outdated_session`
        return None


def _head(stored: bytes) -> list[bytes]:
    return stored.rstrip(b"]").split(b",", 3)[:3]


#: How the table of sessions is stored.
SESSION_FORMAT: TableFormat[Session] = TableFormat(
    session_key,
    encode_session,
    decode_session,
    outdated_session,
    order=attrgetter("offset"),
    source=session_source,
    tombstone_headers=tombstone_headers_of,
)
