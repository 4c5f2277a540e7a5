"""A record as stored, which of a fetch can be read, and what it means that brokers do not answer."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from streams.core.domain.record import Unreadable
from streams.core.errors import InfrastructureError


class Stored(NamedTuple):
    """A record read back. ``timestamp`` in ms since 1970; in Kafka the value of a header may be null."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


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
        elif record.is_logged:
            log.warning(
                "%s[%s]: the record at offset %s cannot be read and is left out: %s.%s",
                tp.topic,
                tp.partition,
                record.offset if record.last is None else f"{record.offset} and all up to {record.last}",
                record.detail,
                f" {advice}" if advice else "",
            )


@contextmanager
def answered(what: str) -> Iterator[None]:
    """Let a block that asks brokers fail with an error of Eddy's.

    Args:
        what: What they are asked for.

    Raises:
        InfrastructureError: they do not answer, or refuse.
    """
    try:
        yield
    except (KafkaError, OSError) as error:
        raise InfrastructureError(
            f"The brokers do not tell {what}: {error!r}. Check that they run, and what this user may read."
        ) from error
