"""Which dead letters: by reason, by what is wrong, by session, by place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from schemas.reason import UndecodableError
from streams.operate.redrive.letter import DeadLetter
from streams.worker.batch import key_text

Decode = Callable[[DeadLetter], dict[str, Any]]
"""Reads the value of a letter; raises `UndecodableError`."""


class Selection(NamedTuple):
    """What a letter has to be. Nothing given, all are; of several reasons or problems one is enough."""

    reasons: frozenset[str] = frozenset()
    problems: frozenset[str] = frozenset()
    session: str | None = None
    places: frozenset[tuple[int, int]] = frozenset()
    """Partition and offset in the dead-letter topic."""

    def has(self, letter: DeadLetter, decode: Decode) -> bool:
        """Return whether the letter is one of them. The value is read for ``session`` alone."""
        if self.places and (letter.partition, letter.offset) not in self.places:
            return False
        if self.reasons and letter.counted_as not in self.reasons:
            return False
        if self.problems and self.problems.isdisjoint(letter.problems):
            return False
        return self.session is None or self.session in _sessions(letter, decode)


def _sessions(letter: DeadLetter, decode: Decode) -> set[object]:
    """Return the sessions a letter may belong to: its key says one, its value perhaps another."""
    found: set[object] = {key_text(letter.key)}
    try:
        named = decode(letter).get("session_id")
    except UndecodableError:
        return found
    return found | {named} if isinstance(named, str) else found
