"""Which format an input has, by its first bytes: the format that is surest, of equals the one tried first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.record import decoded
from streams.formats.adapters.registry import FORMATS

HEAD_BYTES: Final = 64 * 1024
"""Bytes of an input, unpacked, that are looked at first."""

AVRO: Final = "avro"
JSONL: Final = "jsonl"
TRAJECTORY: Final = "trajectory"
MESSAGES: Final = "messages"

_AVRO_MAGIC: Final = b"Obj\x01"
_MESSAGE: Final = frozenset({"key", "value", "value_base64", "timestamp", "about"})
_GUESS: Final = 10
"""How sure a format is of records that lack fields: any other format that fits is surer."""


class Own(NamedTuple):
    """A format in which Eddy itself writes records down."""

    name: str
    sniff: Callable[[bytes, str], int]


def _avro(head: bytes, _name: str) -> int:
    return CERTAIN if head and _AVRO_MAGIC.startswith(head[: len(_AVRO_MAGIC)]) else NO


def _trajectory(head: bytes, _name: str) -> int:
    fields = {"tool_call", "seq", "action_status"}
    return CERTAIN if any(fields <= each.keys() for each in _objects(head)) else NO


def _messages(head: bytes, _name: str) -> int:
    objects = _objects(head)
    if objects and all(each.keys() <= _MESSAGE for each in objects):
        return CERTAIN if any({"value", "value_base64"} & each.keys() for each in objects) else NO
    return NO


def _jsonl(head: bytes, _name: str) -> int:
    found = NO
    if b'"session_id"' not in head and b'"event_id"' not in head:
        return found
    for each in _objects(head):
        if {"session_id", "event_id", "action"} <= each.keys():
            return CERTAIN
        if "session_id" in each or {"event_id", "identity"} <= each.keys():
            found = _GUESS
    return found


OWN: Final[tuple[Own, ...]] = (
    Own(AVRO, _avro),
    Own(JSONL, _jsonl),
    Own(TRAJECTORY, _trajectory),
    Own(MESSAGES, _messages),
)

NAMES: Final[tuple[str, ...]] = (*(each.name for each in OWN), *(each.name for each in FORMATS))
"""Every format there is, in the order in which they are tried."""


def sniffed(head: bytes, name: str) -> str | None:
    r"""Return the name of the format that fits an input best, None if none fits.

    Args:
        head: its first bytes, unpacked.
        name: name or path of the input.

    >>> sniffed(b'{"session_id": "s", "event_id": "e", "action": {}}\n', "a.log")
    'jsonl'
    >>> sniffed(b"once upon a time", "a.log") is None
    True
    """
    tried: Sequence[Own | Format] = (*OWN, *FORMATS)
    head = head[:HEAD_BYTES].removeprefix(b"\xef\xbb\xbf")
    best, surest = None, NO
    for each in tried:
        sure = each.sniff(head, name)
        if sure > surest:
            best, surest = each.name, sure
            if sure >= CERTAIN:
                break
    return best


def sniffed_in_lines(lines: Iterable[bytes], name: str) -> str | None:
    r"""Return the name of the format of the first line that a format is certain of, None if there is none.

    A log may begin with many lines that name no format, or with one that is longer than the head.

    >>> sniffed_in_lines([b'{"type": "summary"}', b'{"type": "session", "version": 3, "id": "s"}'], "a.jsonl")
    'pi'
    """
    found = (_certain(line, name) for line in lines if line.startswith(b"{"))
    return next((each for each in found if each is not None), None)


def _certain(line: bytes, name: str) -> str | None:
    own = (each.name for each in OWN if each.sniff(line, name) >= CERTAIN)
    others = (
        each.name for each in FORMATS if each.kind is UnitKind.LINES and each.sniff(line, name) >= CERTAIN
    )
    return next(own, None) or next(others, None)


def nothing_fits(name: str) -> str:
    """Return what to say of an input that no format fits."""
    tried = ", ".join(NAMES)
    return f"{name} fits no format: tried {tried}. Name it with --format, or describe it with --map"


def _objects(head: bytes) -> list[dict[str, Any]]:
    """Return the objects at the head of an input; lines that are no objects are passed over."""
    found = [value for value in head_values(head) if isinstance(value, dict)]
    if not found:
        found = [value for line in head.splitlines() if isinstance(value := decoded(line), dict)]
    return found
