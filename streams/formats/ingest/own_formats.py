"""The formats in which Eddy itself writes records down, as those of other programs are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from io import BufferedReader, BytesIO
from typing import Any, Final, NamedTuple

from streams.core.domain.twins import known_fields
from streams.core.domain.validation import problems
from streams.core.entry import Entry
from streams.core.errors import ConfigurationError
from streams.formats import avro_container, jsonl, recorded_messages, trajectory
from streams.formats.adapters.adapter import CERTAIN, NO, Format, IntakeReason, Problem, UnitKind
from streams.formats.adapters.registry import FORMATS
from streams.formats.adapters.sniffing import sniffed

AUTO: Final = "auto"
_MOST_NAMED: Final = 5
Read = Callable[[Any], Iterator[Entry]]


class _Own:
    """Reads units without remembering anything of them."""

    def __init__(self, read: Read, name: str) -> None:
        self.ignored: Counter[str] = Counter()
        self._read, self._name = read, name

    def feed(self, unit: bytes) -> Iterator[Entry | Problem]:
        """Yield the records of a unit."""
        try:
            for entry in self._read(BufferedReader(BytesIO(unit))):
                if entry.value is None:
                    yield Problem(self._name, IntakeReason.UNREADABLE, entry.problem or "no record")
                elif wrong := _wrong(entry):
                    yield Problem(self._name, IntakeReason.UNKNOWN_SHAPE, f"no decision log: {wrong}")
                else:
                    yield entry
        except ConfigurationError as error:
            yield Problem(self._name, IntakeReason.UNREADABLE, str(error))

    def close(self) -> Iterator[Entry | Problem]:
        """Yield nothing: nothing waits."""
        return iter(())

    def state(self) -> bytes:
        """Return nothing that matters."""
        return b"{}"


def _wrong(entry: Entry) -> str:
    """Return what keeps the job from accepting a record, nothing if it accepts it."""
    value = entry.value
    if value is None or (known_fields(value) is not None and entry.key == value["session_id"]):
        return ""
    return ", ".join(problems(value)[:_MOST_NAMED]) or "the key is not the session_id"


def _resumed(read: Read, name: str, _state: bytes) -> _Own:
    return _Own(read, name)


def _format(name: str, kind: UnitKind, read: Read) -> Format:
    def sniff(head: bytes, path: str) -> int:
        return CERTAIN if sniffed(head, path) == name else NO

    return Format(name, kind, sniff, partial(_Own, read), partial(_resumed, read))


OWN: Final = (
    _format("jsonl", UnitKind.LINES, jsonl.read),
    _format("avro", UnitKind.DOCUMENT, avro_container.read),
    _format("trajectory", UnitKind.DOCUMENT, trajectory.read),
    _format("messages", UnitKind.DOCUMENT, recorded_messages.read),
)

EVERY: Final[tuple[Format, ...]] = (*OWN, *FORMATS)
"""Every format that can be carried on."""

_NAMED: Final = {each.name: each for each in EVERY}


class FormatChoice(NamedTuple):
    """How formats are found.

    Attributes:
        forms: all that may be.
        choose: finds one by the first bytes of an input and its name.
    """

    forms: tuple[Format, ...]
    choose: Callable[[bytes, str], Format | None]


def choice(name: str, mapped: Format | None = None) -> FormatChoice:
    """Return how formats are found: by what is in an input, or always the one that was named or mapped."""
    if mapped is not None:
        return FormatChoice((*EVERY, mapped), lambda _head, _name: mapped)
    if name != AUTO:
        return FormatChoice(EVERY, lambda _head, _name: _NAMED[name])

    def choose(head: bytes, path: str) -> Format | None:
        found = sniffed(head, path)
        return None if found is None else _NAMED.get(found)

    return FormatChoice(EVERY, choose)
