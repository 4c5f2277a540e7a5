"""Whether an agent was stuck in a session, and since which record, as somebody marked it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

Stretch = tuple[int, int]
"""First and last record of a stretch, from 0."""

_STUCK: Final = {"yes": True, True: True, "no": False, False: False}


@dataclass(frozen=True, slots=True)
class StuckLabel:
    """What a reader, or several of one mind, said about a session.

    Attributes:
        stuck: whether the agent was stuck; None where readers were unsure or disagreed.
        onset: the first record of the pattern, from 0: the first repeat, not the original. None unless stuck.
        stretches: where it was stuck; empty for "from the onset to the end".
        read: how many records, from the first, the reader has seen; None for all.
    """

    stuck: bool | None
    onset: int | None = None
    stretches: tuple[Stretch, ...] = ()
    read: int | None = None

    def misfit(self, records: int) -> str | None:
        """Tell what is wrong with this label for a session of that many records."""
        if self.onset is not None and self.read is not None and self.onset >= self.read:
            return f"labelled stuck since record {self.onset}, of 0 to {self.read - 1} that were read"
        needed = max(self.read or 0, 0 if self.onset is None else self.onset + 1)
        return (
            None if needed <= records else f"labelled stuck by {needed} records, of which {records} are there"
        )

    def seen(self, records: int) -> int:
        """Return how many records of a session of that many the label is about."""
        return records if self.read is None else self.read

    def marked(self, records: int) -> frozenset[int]:
        """Return the records on which the agent was stuck, in a session of that many.

        >>> sorted(StuckLabel(True, 1, ((1, 2), (4, 9)), read=6).marked(8))
        [1, 2, 4, 5]
        """
        if self.onset is None:
            return frozenset()
        seen = self.seen(records)
        stretches = self.stretches or ((self.onset, seen - 1),)
        # A label may end a stretch far behind the session, to say "to the end".
        return frozenset(at for first, last in stretches for at in range(first, min(last + 1, seen)))


def stuck_label(line: Mapping[str, Any]) -> StuckLabel | None:
    """Read what a label line says about being stuck; None when it says nothing.

    ``stuck`` is ``yes`` or ``no``, or true or false; any other word says that it is disputed. ``onset`` is
    the first record of the pattern. ``intervals``, or those of all ``readers``, are the stretches.
    ``records`` is how many records were read.

    Raises:
        ValueError: a field holds what it cannot; the text names it.

    >>> stuck_label({"stuck": "yes", "onset": 4})
    StuckLabel(stuck=True, onset=4, stretches=(), read=None)
    >>> stuck_label({"stuck": "unsure", "onset": None}).stuck is None
    True
    """
    word = line.get("stuck")
    if word is None:
        return None
    read = _position(line, "records") if line.get("records") is not None else None
    stuck = _STUCK.get(word) if isinstance(word, str | bool) else None
    if not stuck:
        return StuckLabel(stuck, read=read)
    return StuckLabel(stuck, _position(line, "onset"), tuple(_stretches(line)), read)


def _position(line: Mapping[str, Any], field: str) -> int:
    value = line.get(field)
    if not _is_position(value):
        raise ValueError(f"{field} must be a whole number, 0 or more")
    return value


def _stretches(line: Mapping[str, Any]) -> Iterator[Stretch]:
    readers = line.get("readers")
    told = [line, *readers] if isinstance(readers, list) else [line]
    for each in told:
        intervals = each.get("intervals") if isinstance(each, Mapping) else None
        for stretch in intervals if isinstance(intervals, list) else ():
            if not (isinstance(stretch, list) and len(stretch) == 2 and all(map(_is_position, stretch))):
                raise ValueError("intervals must be a list of [first record, last record], from 0")
            first, last = stretch
            yield first, last


def _is_position(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
