"""Which records of a changelog partition count: of each key the one of the most records of the source.

The last writer is not always right: a worker that was considered dead may write after its successor, and a
replay writes again. Epochs write in the order of the source (`TableFormat.order`), so along the changelog the
offsets of the source only fall where one of these has written. A record at or above every offset before it
cannot be outdated; only the others are compared with what is known of their key, which costs a look-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from streams.worker.state.changelog import Restorable, TableFormat, removed_value
from streams.worker.state.store import PartitionStore


class ChangelogRecord(Restorable, Protocol):
    """A record of the changelog."""

    @property
    def headers(self) -> Iterable[tuple[str, bytes | None]]:
        """The headers; for those of a tombstone see `removed_value`."""


class LatestRecords:
    """Follows one partition of a changelog from where its database ends.

    Args:
        form: The format of the table.
        store: The database. If it is not empty, the highest offsets are unknown and all is compared.
    """

    def __init__(self, form: TableFormat[Any], store: PartitionStore) -> None:
        self._outdated = form.outdated
        self._source = form.source
        self._store = store
        self._highest: dict[bytes, int] | None = {} if store.is_empty() else None

    def of(self, records: Sequence[ChangelogRecord]) -> Sequence[ChangelogRecord]:
        """Return the records that count, in their order. The last one of a key holds.

        Args:
            records: The next of the partition; the database holds what counts of those before.
        """
        if self._highest is not None:
            doubtful = self._doubtful(records, self._highest)
            if not doubtful:
                return records
        else:
            doubtful = list(dict.fromkeys(record.key for record in records))
        return self._compared(records, doubtful)

    def _doubtful(self, records: Sequence[ChangelogRecord], highest: dict[bytes, int]) -> list[bytes]:
        """Return the keys of which a record may be outdated."""
        source, doubtful = self._source, []
        for record in records:
            value = record.value
            if value is None and (value := removed_value(record.headers)) is None:
                continue  # a tombstone that another program wrote always counts
            found = source(record.key, value)
            if found is None:
                doubtful.append(record.key)
                continue
            partition, offset = found
            if offset >= highest.get(partition, -1):
                highest[partition] = offset
            else:
                doubtful.append(record.key)
        return doubtful

    def _compared(
        self, records: Sequence[ChangelogRecord], keys: Sequence[bytes]
    ) -> Sequence[ChangelogRecord]:
        known = dict(zip(keys, self._store.get_many(keys), strict=True))
        outdated, counting = self._outdated, []
        for record in records:
            key = record.key
            if key in known:
                before = known[key]
                # A tombstone of ours says how far the state was that went, as the state itself would.
                value = removed_value(record.headers) if record.value is None else record.value
                if value is not None and before is not None and outdated(key, value, before):
                    continue
                known[key] = value
            counting.append(record)
        return counting
