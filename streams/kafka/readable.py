"""The records of a fetch that can be read."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence

from aiokafka.structs import TopicPartition

from streams.core.domain.unreadable import Unreadable
from streams.kafka.stored import Stored

log = logging.getLogger(__name__)


def readable(
    tp: TopicPartition, fetched: Mapping[TopicPartition, Sequence[Stored | Unreadable]], advice: str = ""
) -> Iterator[Stored]:
    """Yield the records of a partition that can be read; log a line about each other one.

    Args:
        tp: The partition to take records of.
        fetched: What a poll returned.
        advice: A sentence for the operator, behind each line.
    """
    for record in fetched.get(tp, ()):
        if isinstance(record, Stored):
            yield record
        elif record.told:
            log.warning(
                "%s[%s]: the record at offset %s cannot be read and is left out: %s.%s",
                tp.topic,
                tp.partition,
                record.offset if record.last is None else f"{record.offset} and all up to {record.last}",
                record.detail,
                f" {advice}" if advice else "",
            )
