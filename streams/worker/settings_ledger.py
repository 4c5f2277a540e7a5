"""Which settings a partition's records are processed under, by offset.

A change of settings takes effect between two runs. So that a replay after a crash sees the same settings at
the same offsets, each change is written to the partition's changelog with its first offset before the first
output under it, and kept until the committed offset has passed it (specification 4.4).

The settings that are tried out (`streams.core.settings_document`) change by the same rule, in entries
of their own.

A worker that takes a partition over cannot see which outputs its predecessor made before it died. It knows a
bound: offsets are *reserved* in the ledger, thousands at a time, before anything is put out for them. A
change it brings along takes effect behind that bound.

All these offsets are of one topic, which the ledger names by Kafka's id (`streams.worker.state.origin`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import orjson

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.run import Run
from streams.core.errors import StateError
from streams.core.settings_document import Shadow, ShadowDocument, follows, resolve, to_document

#: How far ahead of a run offsets are reserved: one acknowledged write for so many records.
RESERVED_AHEAD = 10_000

#: Format 1 has no shadow, format 2 no topic id.
_FORMAT = 3
#: The same, where sessions may be behind what was put out (`streams.worker.state.checkpoint`). A version of
#: Eddy that would not read their records again does not read this either.
_BEHIND = 4
_ADDED: dict[Any, list[Any]] = {1: [[], None], 2: [None], _FORMAT: [], _BEHIND: []}
_NO_SHADOW = ShadowDocument()


class _FromOffset(Protocol):
    """What holds from an offset on."""

    @property
    def first_offset(self) -> int: ...


E = TypeVar("E", bound=_FromOffset)


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """Settings in force from ``first_offset`` on."""

    first_offset: int
    settings: DetectionSettings


@dataclass(frozen=True, slots=True)
class ShadowEntry:
    """What is tried out from ``first_offset`` on, and since when something has been without a break."""

    first_offset: int
    since: int
    document: ShadowDocument

    @property
    def shadow(self) -> Shadow | None:
        """What is tried out; None when nothing is."""
        settings = self.document.settings
        return None if settings is None else Shadow(settings, self.since)


@dataclass(frozen=True, slots=True)
class SettingsLedger:
    """The settings of one partition, oldest first. Before the first entry the defaults hold, and no shadow.

    Outputs exist for no offset from ``reserved`` on. ``source`` is the id of the topic whose offsets these
    are, None when no worker has known it yet. ``behind`` says that sessions may lack records that were put
    out.
    """

    entries: tuple[LedgerEntry, ...] = ()
    reserved: int = 0
    shadows: tuple[ShadowEntry, ...] = ()
    source: str | None = None
    behind: bool = False

    @property
    def newest(self) -> LedgerEntry:
        """The entry that holds for records still to come."""
        return self.entries[-1] if self.entries else LedgerEntry(0, DEFAULTS)

    @property
    def newest_shadow(self) -> ShadowDocument:
        """What is tried out on records still to come."""
        return self.shadows[-1].document if self.shadows else _NO_SHADOW

    def prepare(
        self,
        run: Run,
        in_force: DetectionSettings,
        *,
        shadow: ShadowDocument = _NO_SHADOW,
        unseen: int,
        committed: int | None,
        source: str | None = None,
        behind: bool = False,
    ) -> SettingsLedger:
        """Return the ledger that has to be durable before ``run`` is processed; itself when it is.

        Args:
            run: The next run of the partition.
            in_force: Adopted when they are newer than those of the ledger.
            shadow: Adopted when it is newer and says something else.
            unseen: No worker before this assignment can have put anything out from this offset on.
            committed: What the commit has passed is forgotten; None when that is not known.
            source: The id of the run's topic, None when it has none; taken note of where there is none yet.
            behind: Whether sessions may be behind what is put out from now on.
        """
        newest, entries, shadows, reserved = self.newest, self.entries, self.shadows, self.reserved
        if follows(in_force.version, newest.settings.version):
            first_offset = max(run.first_offset, unseen, newest.first_offset)
            entries = _after((*entries, LedgerEntry(first_offset, in_force)), committed)
        known = self.newest_shadow
        if shadow.position > known.position and shadow.settings != known.settings:
            shadows = _after((*shadows, self._begun(shadow, max(run.first_offset, unseen))), committed)
        if run.next_offset > reserved:
            reserved = run.next_offset + RESERVED_AHEAD
        source = self.source or source
        if (
            entries is self.entries
            and shadows is self.shadows
            and reserved == self.reserved
            and source == self.source
            and behind == self.behind
        ):
            return self
        return SettingsLedger(entries, reserved, shadows, source, behind)

    def _begun(self, document: ShadowDocument, earliest: int) -> ShadowEntry:
        if not self.shadows:
            return ShadowEntry(earliest, earliest, document)
        before = self.shadows[-1]
        first_offset = max(earliest, before.first_offset)
        goes_on = before.document.settings is not None
        return ShadowEntry(first_offset, before.since if goes_on else first_offset, document)

    def cut(self, run: Run) -> Iterator[tuple[Run, DetectionSettings, Shadow | None]]:
        """Yield the run in parts, each with the settings and the shadow its offsets are processed under."""
        for part, entry in _cut(run, self.entries):
            settings = DEFAULTS if entry is None else entry.settings
            for piece, tried in _cut(part, self.shadows):
                yield piece, settings, None if tried is None else tried.shadow

    def encode(self) -> bytes:
        """Return the bytes it is stored as."""
        entries = [
            [entry.first_offset, entry.settings.version, to_document(entry.settings)]
            for entry in self.entries
        ]
        shadows = [
            [entry.first_offset, entry.since, document.position, document.version, _written(document)]
            for entry in self.shadows
            for document in [entry.document]
        ]
        return orjson.dumps(
            [_BEHIND if self.behind else _FORMAT, self.reserved, entries, shadows, self.source]
        )

    @classmethod
    def decode(cls, stored: bytes | None) -> SettingsLedger:
        """Return the ledger that `encode` stored; an empty one for None.

        Raises:
            StateError: the bytes are of a newer version, or damaged.
        """
        if stored is None:
            return cls()
        try:
            loaded: list[Any] = orjson.loads(stored)
            version, *content = loaded
            if version not in _ADDED:
                raise StateError(
                    f"A settings ledger in the changelog has format {version}, this version of Eddy reads "
                    f"1 to {_BEHIND}. Start the newer version again."
                )
            # What the formats before this one did not have.
            reserved, entries, shadows, source = [*content, *_ADDED[version]]
            return cls(
                tuple(
                    LedgerEntry(first_offset, resolve(document, DEFAULTS, settings_version)[0])
                    for first_offset, settings_version, document in entries
                ),
                reserved,
                tuple(
                    ShadowEntry(first_offset, since, _read(position, shadow_version, document))
                    for first_offset, since, position, shadow_version, document in shadows
                ),
                _checked(source),
                version == _BEHIND,
            )
        except (ValueError, TypeError, AttributeError) as error:
            raise StateError(
                f"A settings ledger cannot be read ({error}). Delete the data directory; when that does not "
                "help, the changelog holds what no version of Eddy wrote: write a tombstone for its key."
            ) from error


def outdated_ledger(stored: bytes, known: bytes) -> bool:
    """Tell whether a ledger is one from before another: a worker that was taken for dead may write it last.

    Each version follows the one before it, and what is reserved only grows. Where neither ledger has the
    newer settings and the newer trial, cannot be known. What is of another version of Eddy, or damaged, is
    left to who decodes it.

    >>> before = b'[3,100,[[0,5,{}]],[],"id"]'
    >>> outdated_ledger(before, b'[3,90,[[0,5,{}],[60,6,{}]],[],"id"]')
    True
    >>> outdated_ledger(before, b'[3,90,[[0,5,{}]],[],"id"]'), outdated_ledger(before, before)
    (False, False)
    """
    if (old := _age(stored)) is None or (new := _age(known)) is None:
        return False
    (version, position, reserved, source), (other, tried, up_to, of) = old, new
    if source != of and None not in {source, of}:
        return False
    newer = follows(other, version)
    return (
        (newer or version == other) and position <= tried and (newer or position < tried or reserved < up_to)
    )


def _age(stored: bytes) -> tuple[int, int, int, str | None] | None:
    """Return the newest version, the position of the newest trial, what is reserved, and of which topic."""
    try:
        loaded: list[Any] = orjson.loads(stored)
        reserved, entries, shadows, source = [*loaded[1:], *_ADDED[loaded[0]]]
        version = entries[-1][1] if entries else 0
        position = shadows[-1][2] if shadows else 0
    except (ValueError, TypeError, LookupError):
        return None
    known = all(type(number) is int for number in (version, position, reserved))
    return (version, position, reserved, source) if known and isinstance(source, str | None) else None


def _checked(source: object) -> str | None:
    if source is None or isinstance(source, str):
        return source
    raise ValueError("the id of the topic is no text")


def _written(document: ShadowDocument) -> dict[str, object] | None:
    return None if document.settings is None else to_document(document.settings)


def _read(position: int, version: int, written: dict[str, Any] | None) -> ShadowDocument:
    settings = None if written is None else resolve(written, DEFAULTS, version)[0]
    return ShadowDocument(position, version, settings)


def _cut(run: Run, entries: Sequence[E]) -> Iterator[tuple[Run, E | None]]:
    """Yield the run in parts, each with the entry that holds for it; None before the first."""
    holds: E | None = None
    start = 0
    for entry in entries:
        if entry.first_offset > run.last_offset:
            break
        end = start
        while run.messages[end].offset < entry.first_offset:
            end += 1
        if end > start:
            yield Run(run.topic, run.partition, run.messages[start:end]), holds
            start = end
        holds = entry
    yield (run if start == 0 else Run(run.topic, run.partition, run.messages[start:])), holds


def _after(entries: tuple[E, ...], committed: int | None) -> tuple[E, ...]:
    """Return the entries without those that no offset from ``committed`` on needs."""
    kept = list(entries)
    while committed is not None and len(kept) > 1 and kept[1].first_offset <= committed:
        kept.pop(0)
    return tuple(kept)
