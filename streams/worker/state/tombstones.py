"""How long a changelog keeps tombstones, and what local state may have missed since.

Compaction removes a tombstone ``delete.retention.ms`` after it was written. State that was not brought up to
date in that time would keep what has been deleted.
"""

from __future__ import annotations

import logging

from aiokafka.errors import KafkaError

from streams.core.errors import InfrastructureError
from streams.kafka.client import connect
from streams.kafka.connection import Connection

CONFIG = "delete.retention.ms"

#: Kafka's own, for brokers that do not say.
DEFAULT_KEPT_MS = 24 * 3_600_000

#: Clocks differ, and a restore takes its time.
_MARGIN = 0.9

log = logging.getLogger(__name__)


async def kept_ms(connection: Connection, changelog: str) -> int:
    """Return how long the changelog keeps tombstones, ms; Kafka's default where the broker does not tell."""
    try:
        async with connect(connection) as brokers:
            [described] = await brokers.describe([changelog])
    except (KafkaError, InfrastructureError, ValueError, OSError) as error:
        log.warning(
            "The broker does not tell %s of %s (%s); %s h are assumed.",
            CONFIG,
            changelog,
            error,
            DEFAULT_KEPT_MS // 3_600_000,
        )
        return DEFAULT_KEPT_MS
    text = described.config.get(CONFIG, "")
    return int(text) if text.isdigit() else DEFAULT_KEPT_MS


def lacks_entries(offset: int, end: int) -> bool:
    """Tell whether state up to ``offset`` lacks what compaction may take away before the log's ``end``.

    It leaves the last entry of a log alone. Where nothing was written since, that entry may be the marker of
    a transaction, which who wrote it does not count.

    >>> [lacks_entries(7, end) for end in (8, 9, 10)]
    [False, False, True]
    """
    return offset + 2 < end


def may_have_missed(age_ms: float, kept: int) -> bool:
    """Tell whether state last up to date so long ago, and behind now, may have missed a deletion.

    >>> [may_have_missed(age, 1000) for age in (0, 900, 901, 5000)]
    [False, False, True, True]
    """
    return age_ms > kept * _MARGIN
