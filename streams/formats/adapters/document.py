"""What adapters of whole documents share: the values of a document, one after the other, and an empty state.

A document is one JSON value, or JSON lines. Everything it says is yielded at once, so nothing is kept for
the next one. A document that has grown is read again from its beginning and gives the same event ids.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, Self

import orjson

from streams.formats.adapters.adapter import (
    LONGEST_DOCUMENT,
    LONGEST_UNIT,
    IntakeReason,
    Problem,
    ReasonCounts,
)
from streams.formats.adapters.log import Found
from streams.formats.adapters.record import UNDECODABLE, decoded

_BLANK: Final = re.compile(rb"\s+")
_SUFFIXES: Final = (".gz", ".zst", ".jsonl", ".ndjson", ".json", ".traj", ".csv")
_NAMES_OF_ALL: Final = frozenset({"api_conversation_history", "trajectory", "messages", "events"})


class DocumentValue(NamedTuple):
    """One value of a document. ``number`` is that of its line, None if it is the whole document."""

    value: Any
    number: int | None


class DocumentAdapter(ABC):
    """An adapter whose units are whole documents. A format implements `read`.

    Attributes:
        name: of the input, for problems and for sessions that have no id of their own.
        ignored: what was left out by design, by type.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.ignored: Counter[str] = ReasonCounts()

    @abstractmethod
    def read(self, parts: Iterator[DocumentValue]) -> Found:
        """Yield what the values of one document say."""

    def feed(self, unit: bytes) -> Found:
        """Yield what one document says."""
        if len(unit) > LONGEST_DOCUMENT:
            yield Problem(self.name, IntakeReason.UNREADABLE, f"{len(unit):,} bytes: longer than is read")
            return
        if len(unit) > LONGEST_UNIT and not _is_lines(unit):
            longest = f"{len(unit):,} bytes: longer than the {LONGEST_UNIT:,} that are read of one value"
            yield Problem(self.name, IntakeReason.UNREADABLE, longest)
            return
        damaged: list[int] = []
        too_long: list[int] = []
        yield from self.read(self._parts(unit, damaged, too_long))
        if damaged:
            yield Problem(self.name, IntakeReason.UNREADABLE, _not_json(damaged))
        if too_long:
            longest = f"line {too_long[0]:,} is longer than the {LONGEST_UNIT:,} bytes that are read"
            yield Problem(self.name, IntakeReason.UNREADABLE, longest)

    def _parts(self, unit: bytes, damaged: list[int], too_long: list[int]) -> Iterator[DocumentValue]:
        whole = decoded(unit) if len(unit) <= LONGEST_UNIT else UNDECODABLE
        if whole is not UNDECODABLE:
            yield DocumentValue(whole, None)
            return
        begin, number = 0, 0
        while begin < len(unit):
            end = unit.find(b"\n", begin)
            end = len(unit) if end < 0 else end
            line, begin, number = unit[begin:end], end + 1, number + 1
            if not line.strip():
                continue
            if len(line) > LONGEST_UNIT:
                too_long.append(number)
                continue
            value = decoded(line)
            if isinstance(value, dict | list):
                yield DocumentValue(value, number)
            else:
                damaged.append(number)

    def close(self) -> Found:
        """Yield nothing: a document leaves nothing open."""
        return iter(())

    def leave_out(self, kind: str, count: int) -> None:
        """Count what is left out by design, if there was any."""
        if count > 0:
            self.ignored[kind] += count

    def unknown(self, where: str, detail: str) -> Problem:
        """Return the problem of a shape that the format does not have."""
        return Problem(where, IntakeReason.UNKNOWN_SHAPE, detail[:200])

    def state(self) -> bytes:
        """Return what was counted."""
        return orjson.dumps({"ignored": self.ignored})

    @classmethod
    def resume(cls, name: str, state: bytes) -> Self:
        """Return a new adapter that continues to count."""
        adapter = cls(name)
        try:
            adapter.ignored.update(orjson.loads(state)["ignored"])
        except (ValueError, TypeError, KeyError):
            return cls(name)
        return adapter


def _is_lines(unit: bytes) -> bool:
    r"""Tell whether a document is JSON lines: one of its first two lines is a value, or too long to tell.

    >>> _is_lines(b'{"a": 1}\n{"a": 2}'), _is_lines(b'[\n  {"a": 1},\n')
    (True, False)
    """
    begin = 0
    for _ in range(2):
        blank = _BLANK.match(unit, begin)
        begin = begin if blank is None else blank.end()
        end = unit.find(b"\n", begin)
        end = len(unit) if end < 0 else end
        if end - begin > LONGEST_UNIT or isinstance(decoded(unit[begin:end]), dict | list):
            return True
        begin = end + 1
    return False


def _not_json(lines: list[int]) -> str:
    number = f"{len(lines):,} lines are" if len(lines) > 1 else "a line is"
    return f"{number} not JSON, line {lines[0]:,} the first"


def session_of(name: str) -> str:
    """Return the session of an input without an id: the name of its file, or of the folder above.

    The folder, if every session of the program has a file of the same name.

    >>> session_of("runs/django-11099.traj.json"), session_of("tasks/1795/api_conversation_history.json")
    ('django-11099', '1795')
    """
    parts = [part for part in name.replace("\\", "/").split("/") if part]
    stem = parts.pop() if parts else "input"
    while True:
        suffix = next((each for each in _SUFFIXES if stem.endswith(each) and stem != each), None)
        if suffix is None:
            break
        stem = stem[: -len(suffix)]
    return parts[-1] if parts and stem in _NAMES_OF_ALL else stem
