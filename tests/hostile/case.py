"""One thing that somebody may send, and what has to become of it.

An entry in a catalogue is all that a case needs. The test sends it, then an ordinary record behind it, and
asserts of every case: that the worker lives, that the ordinary record is judged, that each record which went
in came out as a judgement or as a dead letter, and that the letters are those the case names.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from schemas.reason import Reason
from streams.core.domain.record import Outgoing
from tests.hostile.ground import Ground


@dataclass(frozen=True)
class Letter:
    """A dead letter that has to be there, for the record of this offset.

    ``headers`` are those of the message itself; ``says`` are headers of Eddy with what they must hold.
    """

    offset: int
    reason: Reason
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()
    says: Mapping[str, str] = field(default_factory=dict)


Attack = Callable[[Ground, str], Awaitable[Iterable[Letter]]]
"""Sends what is hostile into the partition of a session of its own, and says which letters that gives."""


@dataclass(frozen=True)
class Case:
    """A name for people, and what is sent."""

    name: str
    attack: Attack


def sent(reason: Reason, *records: Callable[[str], Outgoing]) -> Attack:
    """Return an attack by an ordinary producer: each record must come back as a letter with all it had."""

    async def attack(ground: Ground, session: str) -> list[Letter]:
        made = [record(session) for record in records]
        offsets = await ground.send(*made)
        return [
            Letter(offset, reason, record.key, record.value, record.headers)
            for offset, record in zip(offsets, made, strict=True)
        ]

    return attack
