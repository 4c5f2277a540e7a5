"""What a changelog record looks like: its key says what it holds, its value is JSON bytes.

The same bytes stand in the changelog topic and in RocksDB, so restoring is copying.

| table | key | value |
|---|---|---|
| sessions | ``s`` + session_id | the session's snapshot |
| sessions | ``m`` + ``settings`` | the partition's settings ledger |
| aggregates | ``h`` + key of an agent or a tool, ``t`` + task_type | the aggregate's snapshot |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import orjson

from streams.domain.session import Session
from streams.errors import StateError

#: The key of the settings ledger of the partition.
SETTINGS_KEY = b"msettings"

_SESSION = b"s"

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Form(Generic[V]):
    """How the values of a table are stored.

    Attributes:
        key: makes the key of a name.
        encode: makes the bytes of a value; equal values give equal bytes.
        decode: reads them back; a StateError for what it cannot read.
        outdated: tells of a key, its bytes and other bytes of it whether the first are of fewer records.
    """

    key: Callable[[str], bytes]
    encode: Callable[[V], bytes]
    decode: Callable[[bytes], V]
    outdated: Callable[[bytes, bytes, bytes], bool]


def session_key(session_id: str) -> bytes:
    """Return the key of a session's state.

    >>> session_key("s-1")
    b'ss-1'
    """
    return _SESSION + session_id.encode()


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


def outdated_session(key: bytes, stored: bytes, known: bytes) -> bool:
    """Tell whether ``stored`` is the state of a session before ``known``.

    Read from the beginning of the bytes alone: a restore asks this of every record that comes again.

    >>> (
    ...     outdated_session(b"ss-1", b"[1,0,7]", b"[1,0,12,1]"),
    ...     outdated_session(b"ss-1", b"[1,0,12]", b"[1,0,7]"),
    ... )
    (True, False)
    """
    if key == SETTINGS_KEY:
        return False
    try:
        (_, partition, offset), (_, other, newest) = _head(stored), _head(known)
        return partition == other and int(offset) < int(newest)
    except ValueError:  # of another version; who decodes it says so
        return False


def _head(stored: bytes) -> list[bytes]:
    return stored.rstrip(b"]").split(b",", 3)[:3]


#: Of the table of sessions.
SESSION_FORM: Form[Session] = Form(session_key, encode_session, decode_session, outdated_session)
