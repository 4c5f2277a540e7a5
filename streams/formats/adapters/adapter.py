"""What reads one format: units of bytes in, DecisionLogs and problems out.

An adapter never raises, whatever the bytes are, and its memory is bounded. In ``ignored`` it counts what it
leaves out by design: lines of a type that says nothing of a step. It yields a `Problem` for what it cannot
use. Only Eddy's own formats have inputs that cannot be read past an error: they raise `ConfigurationError`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import partial
from typing import BinaryIO, Final, NamedTuple, Protocol

from streams.core.entry import Entry

MOST_OPEN_CALLS: Final = 10_000
"""Calls of one input that wait for their results. The oldest of more is reported as unanswered."""

MOST_KINDS: Final = 200
"""Kinds of what was left out that are counted by name; more are ``other kinds``."""

LONGEST_UNIT: Final = 32 * 1024 * 1024
"""Bytes of one unit that an adapter takes. A longer one is `Reason.UNREADABLE`."""

LONGEST_DOCUMENT: Final = 128 * 1024 * 1024
"""Bytes of one document of JSON lines that an adapter takes. Each of its lines has the limit of a unit."""

_OTHER_KINDS: Final = "other kinds"

CERTAIN: Final = 100
PERHAPS: Final = 50
NO: Final = 0


class UnitKind(StrEnum):
    """What an adapter is fed with: one line, the whole document, one OTLP request, or a whole container."""

    LINES = "lines"
    DOCUMENT = "document"
    REQUESTS = "requests"
    CONTAINER = "container"


class IntakeReason(StrEnum):
    """Why something in an input gave no record, or a poorer one."""

    UNREADABLE = "unreadable"  # not the bytes of this format
    UNKNOWN_SHAPE = "unknown_shape"  # readable, and neither a known type nor one that may be ignored
    ORPHAN_RESULT = "orphan_result"  # a result without its call
    UNANSWERED = "unanswered"  # a call without its result
    NO_CONTENT = "no_content"  # a call whose arguments were not captured
    NO_PRICE = "no_price"  # tokens of a model that the prices do not have


class ReasonCounts(Counter[str]):
    """Counts of what was left out. Their names come from the input: at most `MOST_KINDS` are kept."""

    def __setitem__(self, kind: str, count: int) -> None:
        """Set a count; that of a kind too many is added to the others."""
        if len(self) >= MOST_KINDS and kind not in self:
            kind, count = _OTHER_KINDS, self[_OTHER_KINDS] + count
        super().__setitem__(kind, count)


class Problem(NamedTuple):
    """One thing an adapter could not use.

    ``where`` names the session, call or unit; ``detail`` says in a few words what was there. Both may hold
    text that an agent wrote.
    """

    where: str
    reason: IntakeReason
    detail: str


class Adapter(Protocol):
    """Reads the units of one input in their order."""

    ignored: Counter[str]
    """What was left out by design, by type."""

    def feed(self, unit: bytes) -> Iterator[Entry | Problem]:
        """Yield what one unit completes. Never raises; the caller exhausts the iterator."""
        ...

    def close(self) -> Iterator[Entry | Problem]:
        """Yield what still waits: the calls without a result, the words of the last turn."""
        ...

    def state(self) -> bytes:
        """Return what `Format.resume` needs to continue after the units fed so far."""
        ...


class Format(NamedTuple):
    """One format: its name, its units, how an input of it is recognised, and its adapter.

    Attributes:
        name: as `--format` takes it: ``claude-code``.
        kind: the units its adapter is fed with.
        sniff: from the first 64 kB, unpacked, and the name of the input: `NO`, `PERHAPS` or `CERTAIN`. Never
            raises.
        start: a new adapter of the input of this name.
        resume: the adapter that `Adapter.state` describes; a new one where the state is not of this format.
        folder: where the program keeps its logs below the home folder, as a glob; None if nowhere.
        also: further such globs, below which the program puts logs aside.
        parts: the files that are one input together, as a glob below their folder: each is one unit, in the
            order of their names, and the input is named after the first. None if each file is an input.
        own: whether Eddy itself writes it: a unit is a record, accepted or not, and what a record is not
            is an entry without a value.
        container: reads a container from its stream, however large it is. For that kind alone.
    """

    name: str
    kind: UnitKind
    sniff: Callable[[bytes, str], int]
    start: Callable[[str], Adapter]
    resume: Callable[[str, bytes], Adapter]
    folder: str | None = None
    also: tuple[str, ...] = ()
    parts: str | None = None
    own: bool = False
    container: Callable[[BinaryIO], Iterator[Entry]] | None = None

    @property
    def folders(self) -> tuple[str, ...]:
        """Return every glob below which the program keeps its logs."""
        return () if self.folder is None else (self.folder, *self.also)


ReadUnit = Callable[[bytes, int], Iterator[Entry]]
"""Yields the entries of a unit, given its number from 1. Raises `ConfigurationError` where reading ends."""


class OwnAdapter:
    """Reads a format of Eddy's own: nothing of a unit but its number matters to the next.

    Args:
        read: Yields the entries of one unit.
        name: Name of the input; entries do not depend on it.
        state: What an earlier adapter of the same input returned as its state.
    """

    def __init__(self, read: ReadUnit, name: str, state: bytes = b"") -> None:
        self.name = name
        self.ignored: Counter[str] = Counter()
        self._read = read
        self._units = int(state) if state.isdigit() else 0

    def feed(self, unit: bytes) -> Iterator[Entry | Problem]:
        """Yield the entries of a unit.

        Raises:
            ConfigurationError: the input cannot be read past this unit.
        """
        self._units += 1
        return self._read(unit, self._units)

    def close(self) -> Iterator[Entry | Problem]:
        """Yield nothing: nothing waits."""
        return iter(())

    def state(self) -> bytes:
        """Return how many units there were."""
        return b"%d" % self._units


def own_format(name: str, kind: UnitKind, sniff: Callable[[bytes, str], int], read: ReadUnit) -> Format:
    """Return a format of Eddy's own.

    Args:
        name: Name as `--format` takes it.
        kind: Units that `read` is given.
        sniff: Recognises an input by its first bytes, as `Format.sniff` does.
        read: Yields the entries of one unit.
    """
    start = partial(OwnAdapter, read)
    return Format(name, kind, sniff, start, start, own=True)
