"""Which changed values of a partition are not written yet, and from which record on a successor reads again.

To write a session with every run would make most of what a worker sends: a session that is met ten times in a
minute is written ten times. So changed sessions stay in memory for an interval and are written once:

    current     what the runs of this interval have changed, as they left it
    sealed      what those of the last one had changed, as it was when that ended; written a slice at a time

What was put out is never put out again, and never missing. Each epoch leaves a `CheckpointMark` in the
changelog: up to where outputs exist, and from where on records have changed sessions that are not written.
After a crash the next owner of the partition reads from there. It judges what the mark says was put out, and
puts out nothing for it (specification 4.4: the same records under the same settings give the same sessions).

An interval is written before the next one is sealed, in the order of the source. So along the changelog the
offsets of the source only rise, which is how a restore knows what counts
(`streams.worker.state.restore.LatestRecords`); only a session that is told to be silent, or removed, is
written behind that, and is compared there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import islice
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import orjson

from streams.core.errors import StateError

#: The key of a partition's mark in the changelog of the sessions.
MARK_KEY: Final = b"mcheckpoint"

_FORMAT: Final = 1

#: The share of an interval after which the one before it is written.
_WRITTEN_WITHIN: Final = 0.5

V = TypeVar("V")


class CheckpointMark(NamedTuple):
    """How far a partition is, beyond what its written sessions say.

    Attributes:
        processed: the offset up to which outputs exist.
        since: the first offset whose session may lack it as it stands in the changelog; None when none does.
    """

    processed: int
    since: int | None = None

    def encode(self) -> bytes:
        """Return the bytes it is stored as.

        >>> CheckpointMark(12, since=7).encode()
        b'[1,12,7]'
        """
        return orjson.dumps([_FORMAT, self.processed, self.since])

    @classmethod
    def decode(cls, stored: bytes | None) -> CheckpointMark | None:
        """Return what `encode` stored; None for None.

        Raises:
            StateError: the bytes are of a newer version, or damaged.
        """
        if stored is None:
            return None
        try:
            content: Any = orjson.loads(stored)
        except ValueError:
            content = None
        match content:
            case [1, int(processed), int(since)] if 0 <= since <= processed:
                return cls(processed, since)
            case [1, int(processed), None] if processed >= 0:
                return cls(processed)
            case _:
                raise StateError(
                    f"The record {MARK_KEY.decode()} of the changelog of the sessions cannot be read: "
                    f"{stored[:80]!r}. If an older version of Eddy was started on the state of a newer one, "
                    "start the newer one again; else stop the workers, write a tombstone for its key and "
                    "delete the data directory: the partition goes on at the committed offset, and sessions "
                    "lack what was not written."
                )


def outdated_mark(stored: bytes, known: bytes) -> bool:
    """Tell whether a mark is one from before another: a worker that was taken for dead may write it last.

    >>> outdated_mark(b"[1,12,7]", b"[1,20,9]"), outdated_mark(b"[1,20,9]", b"[1,20,null]")
    (True, False)
    """
    try:
        before, after = CheckpointMark.decode(stored), CheckpointMark.decode(known)
    except StateError:  # who decodes it says so
        return False
    return before is not None and after is not None and before.processed < after.processed


def passed(committed: int | None, since: int | None) -> int | None:
    """Return the offset below which no record is read again; None when that is not known.

    >>> passed(12, None), passed(12, 7), passed(None, 7)
    (12, 7, None)
    """
    return committed if committed is None or since is None else min(committed, since)


class _Position(Protocol):
    """What a run says of where it stands."""

    @property
    def first_offset(self) -> int: ...

    @property
    def next_offset(self) -> int: ...


class Unsaved(Generic[V]):
    """The values of one partition that are changed and not written.

    Args:
        mark: The mark that was found in the changelog, None without one.
        order: Returns of a value the offset of its newest record in the source.
        interval_s: What changes stays unwritten for so long, and half of that again; 0 writes it at once.
    """

    __slots__ = (
        "_began_at",
        "_current",
        "_interval_s",
        "_order",
        "_position",
        "_sealed",
        "_sealed_at",
        "_sealed_end",
        "_sealed_size",
        "mark",
        "since",
    )

    def __init__(self, mark: CheckpointMark | None, order: Callable[[V], int], interval_s: float) -> None:
        #: As it was last written.
        self.mark = mark
        #: The first offset that a successor would have to read again; None when there is none.
        self.since: int | None = None if mark is None else mark.since
        self._order = order
        self._interval_s = interval_s
        self._position = -1 if self.since is None else self.since
        self._current: dict[str, V] = {}
        self._began_at = 0.0
        self._sealed: dict[str, V] = {}
        self._sealed_at = 0.0
        self._sealed_end = self._sealed_size = 0

    def __len__(self) -> int:
        return len(self._current) + len(self._sealed)

    def __contains__(self, name: object) -> bool:
        return name in self._current or name in self._sealed

    @property
    def is_marked(self) -> bool:
        """Whether epochs leave marks: values wait, or an earlier owner has left some that have to be made."""
        return self._interval_s > 0 or self.since is not None

    def quiet_until(self, committed: int | None) -> int:
        """Return the offset up to which nothing may be put out: it was.

        Args:
            committed: The committed offset. Where somebody has moved it beyond what is to be read again,
                nothing before it is put out either.
        """
        if self.mark is None:
            return -1
        return max(self.mark.processed, -1 if self.mark.since is None or committed is None else committed)

    def get(self, name: str) -> V | None:
        """Return a value that is not written, as it is now; None when it is as written."""
        return self._current.get(name) or self._sealed.get(name)

    def take(self, changed: Mapping[str, V], run: _Position, now: float) -> None:
        """Take what a run has changed, which is put out; ``now`` in seconds, by a monotonic clock."""
        self._position = run.next_offset
        if not changed:
            return
        if self.since is None:
            self.since = run.first_offset
        if not self._current:
            self._began_at = now
        self._current.update(changed)

    def due(self, now: float, most: int) -> dict[str, V]:
        """Return what is to be written by now, in the order of the source.

        Args:
            now: As `take` has it.
            most: Values that may wait; more are written sooner.
        """
        crowded = len(self) > most
        if not self._sealed:
            if not self._current or not (crowded or now - self._began_at >= self._interval_s):
                return {}
            self._seal(now)
        written_within = self._interval_s * _WRITTEN_WITHIN
        if crowded or written_within <= 0:
            return dict(self._sealed)
        left = max(0.0, 1 - (now - self._sealed_at) / written_within)
        return dict(islice(self._sealed.items(), max(0, len(self._sealed) - int(self._sealed_size * left))))

    def next_ones(self, now: float) -> dict[str, V]:
        """Return what has to be written before anything else can be, at the end of an owner."""
        if not self._sealed and self._current:
            self._seal(now)
        return dict(self._sealed)

    def mark_with(self, run: _Position, changed: Collection[str]) -> CheckpointMark:
        """Return the mark that holds once ``run`` is put out, and what it has changed waits."""
        processed = -1 if self.mark is None else self.mark.processed
        since = run.first_offset if self.since is None and changed else self.since
        return CheckpointMark(max(processed, run.next_offset), since)

    def mark_without(self, written: Collection[str]) -> CheckpointMark:
        """Return the mark that holds once these are written, the first of those that wait."""
        processed = max(-1 if self.mark is None else self.mark.processed, self._position)
        if len(written) < len(self._sealed):
            return CheckpointMark(processed, self.since)
        if self._current:
            return CheckpointMark(processed, self._sealed_end)
        # What an earlier owner has put out is read again up to there.
        return CheckpointMark(processed, None if self._position >= processed else self._position)

    def saved(self, written: Collection[str], mark: CheckpointMark) -> None:
        """Take note that these are written, and that `mark_without` them holds."""
        for name in written:
            del self._sealed[name]
        self.mark, self.since = mark, mark.since

    def _seal(self, now: float) -> None:
        order = self._order
        self._sealed = dict(sorted(self._current.items(), key=lambda item: order(item[1])))
        self._sealed_at, self._sealed_end, self._sealed_size = now, self._position, len(self._sealed)
        self._current = {}
