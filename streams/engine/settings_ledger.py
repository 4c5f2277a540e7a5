"""Which settings a partition's records are processed under, by offset.

A change of settings takes effect between two runs. So that a replay after a crash sees the same settings at
the same offsets, each change is written to the partition's changelog with its first offset before the first
output under it, and kept until the committed offset has passed it (SEMANTICS 4.4).

A worker that takes a partition over cannot see which outputs its predecessor made before it died. It knows a
bound: offsets are *reserved* in the ledger, thousands at a time, before anything is put out for them. A
change it brings along takes effect behind that bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from streams.domain.detection_settings import DEFAULTS, DetectionSettings
from streams.domain.run import Run
from streams.domain.settings_document import resolve, to_document
from streams.errors import StateError

#: How far ahead of a run offsets are reserved: one acknowledged write for so many records.
RESERVED_AHEAD = 10_000

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """Settings in force from ``first_offset`` on."""

    first_offset: int
    settings: DetectionSettings


@dataclass(frozen=True, slots=True)
class SettingsLedger:
    """The settings of one partition, oldest first. Before the first entry the defaults hold.

    Outputs exist for no offset from ``reserved`` on.
    """

    entries: tuple[Entry, ...] = ()
    reserved: int = 0

    @property
    def newest(self) -> Entry:
        """The entry that holds for records nobody has seen yet."""
        return self.entries[-1] if self.entries else Entry(0, DEFAULTS)

    def prepare(
        self, run: Run, in_force: DetectionSettings, *, unseen: int, committed: int | None
    ) -> SettingsLedger:
        """Return the ledger that has to be durable before ``run`` is processed; itself when it is.

        Args:
            run: The next run of the partition.
            in_force: Adopted when they are newer than those of the ledger.
            unseen: No worker before this assignment can have put anything out from this offset on.
            committed: What the commit has passed is forgotten; None when that is not known.
        """
        newest, entries, reserved = self.newest, self.entries, self.reserved
        if in_force.version > newest.settings.version:
            first_offset = max(run.first_offset, unseen, newest.first_offset)
            entries = _after((*entries, Entry(first_offset, in_force)), committed)
        if run.next_offset > reserved:
            reserved = run.next_offset + RESERVED_AHEAD
        if entries is self.entries and reserved == self.reserved:
            return self
        return SettingsLedger(entries, reserved)

    def cut(self, run: Run) -> Iterator[tuple[Run, DetectionSettings]]:
        """Yield the run in parts, each with the settings its offsets are processed under."""
        settings = DEFAULTS
        start = 0
        for entry in self.entries:
            if entry.first_offset > run.last_offset:
                break
            end = start
            while run.messages[end].offset < entry.first_offset:
                end += 1
            if end > start:
                yield Run(run.topic, run.partition, run.messages[start:end]), settings
                start = end
            settings = entry.settings
        rest = run if start == 0 else Run(run.topic, run.partition, run.messages[start:])
        yield rest, settings

    def encode(self) -> bytes:
        """Return the bytes it is stored as."""
        entries = [
            [entry.first_offset, entry.settings.version, to_document(entry.settings)]
            for entry in self.entries
        ]
        return orjson.dumps([_FORMAT, self.reserved, entries])

    @classmethod
    def decode(cls, stored: bytes | None) -> SettingsLedger:
        """Return the ledger that `encode` stored; an empty one for None.

        Raises:
            StateError: the bytes are of a newer version, or damaged.
        """
        if stored is None:
            return cls()
        try:
            version, *content = orjson.loads(stored)
            if version != _FORMAT:
                raise StateError(
                    f"A settings ledger in the changelog has format {version}, this version of Eddy reads "
                    f"{_FORMAT}. Start the newer version again."
                )
            reserved, entries = content
        except (ValueError, TypeError) as error:
            raise StateError(
                f"A settings ledger cannot be read ({error}). Delete the data directory; when that does not "
                "help, the changelog holds what no version of Eddy wrote: write a tombstone for its key."
            ) from error
        return cls(
            tuple(
                Entry(first_offset, resolve(document, DEFAULTS, settings_version)[0])
                for first_offset, settings_version, document in entries
            ),
            reserved,
        )


def _after(entries: tuple[Entry, ...], committed: int | None) -> tuple[Entry, ...]:
    """Return the entries without those that no offset from ``committed`` on needs."""
    kept = list(entries)
    while committed is not None and len(kept) > 1 and kept[1].first_offset <= committed:
        kept.pop(0)
    return tuple(kept)
