"""The protocol of commands: its words and limits, which commands stand, and how one is signed.

It is here once, for guards in the processes of agents and for the job and its console. Commands are levels
that expire (docs/decisions.md, 17): a repeat changes nothing, and the newest counts. Pure, and of the
standard library alone.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from enum import Enum, unique
from hashlib import sha256
from typing import Final, Protocol, TypeVar

MINUTE_MS: Final = 60_000

LONGEST_MS: Final = 24 * 60 * MINUTE_MS
"""A command has no effect for longer than this."""

LONGEST_REASON: Final = 1_000
LONGEST_MESSAGE: Final = 4_000
LONGEST_ID: Final = 1_000
LONGEST_DETAIL: Final = 1_000

PRESENCE_MS: Final = 5 * MINUTE_MS
"""How often a guard says that it is there."""

HOLD_OF_ALL: Final = "all"
"""The Kafka key of a hold of every agent."""


class _Word(str, Enum):
    """A word of the protocol. It is its text, also where it is formatted (Python 3.10 has no `StrEnum`)."""

    __str__ = str.__str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


@unique
class Action(_Word):
    """What is asked for. A guard answers `unsupported` to any other word."""

    PAUSE = "pause"
    RESUME = "resume"
    ABORT = "abort"
    INJECT_MESSAGE = "inject_message"
    RAISE_BUDGET = "raise_budget"


LEVELS: Final = frozenset({Action.PAUSE, Action.RESUME, Action.ABORT})
"""The actions that are one level of a session: the newest of them counts."""

HOLDS: Final = frozenset({Action.PAUSE, Action.RESUME})
"""The actions of a hold."""


@unique
class Scope(_Word):
    """Whom a command is for. `agent` and `all` are holds: they count for what attaches later, too."""

    SESSION = "session"
    AGENT = "agent"
    ALL = "all"


@unique
class OnTimeout(_Word):
    """What becomes of a pause when it expires."""

    RESUME = "resume"
    ABORT = "abort"


@unique
class Status(_Word):
    """What became of a command, or that a guard came or left."""

    ATTACHED = "attached"
    """A guard watches over the session: at its first check, and every five minutes."""
    RECEIVED = "received"
    APPLIED = "applied"
    """It is in effect: the agent is paused or aborted, has the note, or the new budget."""
    RELEASED = "released"
    """The agent runs again after a pause."""
    REJECTED = "rejected"
    """The guard does not obey it, such as one without a signature."""
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    """A newer command came before it took effect."""
    UNSUPPORTED = "unsupported"
    FAILED = "failed"
    DETACHED = "detached"
    """The session has ended, or its process."""


PRESENCE: Final = frozenset({Status.ATTACHED, Status.DETACHED})
"""The answers of presence: they belong to no command."""

FINAL: Final = frozenset(
    {
        Status.RELEASED,
        Status.REJECTED,
        Status.EXPIRED,
        Status.SUPERSEDED,
        Status.UNSUPPORTED,
        Status.FAILED,
    }
)
"""The answers after which a guard does nothing more about a command."""


class Placed(Protocol):
    """What stands at a place on a topic."""

    @property
    def partition(self) -> int:
        """Partition that holds it."""

    @property
    def offset(self) -> int:
        """Offset on its partition."""


class PlacedCommand(Placed, Protocol):
    """The part of a command that tells whether it stands."""

    @property
    def scope(self) -> str:
        """Whom it is for: a `Scope`, or a word of a later version."""

    @property
    def action(self) -> str:
        """What is asked for: an `Action`, or a word of a later version."""

    @property
    def expires_at(self) -> int:
        """When it ends, ms since 1970."""


_Command = TypeVar("_Command", bound=PlacedCommand)


def place(record: Placed) -> tuple[int, int]:
    """Return what orders the records of one key: a later one has a greater place."""
    return record.partition, record.offset


def is_possible(scope: str, action: str) -> bool:
    """Tell whether a guard of this version knows what to do.

    >>> is_possible("session", "abort"), is_possible("all", "abort"), is_possible("session", "dance")
    (True, False, False)
    """
    return action in (frozenset(Action) if scope == Scope.SESSION else HOLDS)


def standing(commands: Iterable[_Command], now: int) -> list[_Command]:
    """Return the commands that count for a guard that begins, in their order.

    They are those in force, and pauses and resumes that superseded a pause in force though their own time is
    over: without them, the guard would pause the session again.

    Args:
        commands: Commands of any scopes that concern one session.
        now: Moment that is asked about, in milliseconds since 1970.
    """
    found: list[_Command] = []
    paused: set[str] = set()
    for command in sorted(commands, key=place):
        if command.expires_at > now:
            paused |= {command.scope} if command.action == Action.PAUSE else set()
        elif command.action not in HOLDS or command.scope not in paused:
            continue
        found.append(command)
    return found


def hold_key(agent_id: str) -> bytes:
    """Return the Kafka key of the holds of an agent.

    >>> hold_key("coder-7")
    b'agent/coder-7'
    """
    return f"agent/{agent_id}".encode()


HEADER: Final = "eddy-mac"
"""The header of a signature: ``v1 <key id> <hex>``, HMAC-SHA256 of the value as it is on the topic.

The id of a key is the beginning of its SHA-256: a guard with two keys knows with which a command is signed.
"""

_SIGNATURE_VERSION: Final = b"v1"
_KEY_ID_DIGITS: Final = 8
_SIGNATURE_PARTS: Final = 3


@unique
class Signature(_Word):
    """What a reader with keys finds; each value is why it does not obey, or empty."""

    VALID = ""
    ABSENT = "it is not signed"
    MALFORMED = "its signature cannot be read"
    UNKNOWN_KEY = "it is signed with another key"
    """With a key that this reader does not have."""
    WRONG = "its signature is wrong"
    """The value is not the one that was signed."""


def key_id(key: bytes) -> str:
    """Return by what a key is named.

    >>> key_id(b"a key of sixteen")
    '97e85fdf'
    """
    return sha256(key).hexdigest()[:_KEY_ID_DIGITS]


def signed(value: bytes, key: bytes) -> tuple[str, bytes]:
    """Return the header that signs a value."""
    mac = hmac.new(key, value, sha256).hexdigest()
    return HEADER, b" ".join((_SIGNATURE_VERSION, key_id(key).encode(), mac.encode()))


def verified(value: bytes, headers: Sequence[tuple[str, bytes | None]], keys: Iterable[bytes]) -> Signature:
    """Return whether a value is signed with one of the keys. The first header counts."""
    found = next((content for name, content in headers if name == HEADER), None)
    if found is None:
        return Signature.ABSENT
    parts = found.split(b" ")
    if len(parts) != _SIGNATURE_PARTS or parts[0] != _SIGNATURE_VERSION:
        return Signature.MALFORMED
    for key in keys:
        if parts[1] == key_id(key).encode():
            right = hmac.compare_digest(signed(value, key)[1], found)
            return Signature.VALID if right else Signature.WRONG
    return Signature.UNKNOWN_KEY


def refusal(value: bytes, headers: Sequence[tuple[str, bytes | None]], keys: Sequence[bytes]) -> str | None:
    """Return why a guard does not obey a command, None if it does. Without any key it obeys every one.

    >>> refusal(b"a command", [], []), refusal(b"a command", [], [b"a key of sixteen"])
    (None, 'it is not signed')
    """
    return (str(verified(value, headers, keys)) or None) if keys else None
