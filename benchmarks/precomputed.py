"""What comes of a workload, computed beforehand: everybody is compared with it, and the floor writes it.

With it the engines can also be measured alone: a contender that looks the outcome of a record up instead
of judging it does everything else as it always does.
"""

from __future__ import annotations

import gc
import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

from streams.core.domain.session import Session


class Entry(NamedTuple):
    """What comes of one record: (topic, value) each, and the session after the run it stands in."""

    outputs: list[tuple[str, bytes]]
    session: Session


@dataclass(slots=True)
class Precomputed:
    """By partition, one entry per input record from offset ``first`` on; ``headers`` by topic."""

    first: dict[int, int] = field(default_factory=dict)
    entries: dict[int, list[Entry]] = field(default_factory=dict)
    headers: dict[str, list[tuple[str, bytes]]] = field(default_factory=dict)

    def entry(self, partition: int, offset: int) -> Entry:
        """Return what comes of a record."""
        return self.entries[partition][offset - self.first[partition]]

    def outputs(self, keys: dict[int, list[bytes]]) -> dict[tuple[str, int], list[tuple[bytes, bytes]]]:
        """Return (key, value) in order by (topic, partition), given the keys of the input."""
        found: dict[tuple[str, int], list[tuple[bytes, bytes]]] = {}
        for partition, entries in self.entries.items():
            for key, entry in zip(keys[partition], entries, strict=True):
                for topic, value in entry.outputs:
                    found.setdefault((topic, partition), []).append((key, value))
        return found

    def save(self, file: Path) -> None:
        """Write it down for a contender."""
        file.write_bytes(pickle.dumps(self))

    @classmethod
    def load(cls, file: str) -> Self:
        """Read what `save` wrote, and keep the garbage collector away from it: it belongs to no engine."""
        known: Self = pickle.loads(Path(file).read_bytes())
        gc.collect()
        gc.freeze()
        return known
