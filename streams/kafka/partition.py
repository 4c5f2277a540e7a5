"""The partition that Kafka's own clients choose for a key."""

from __future__ import annotations

from aiokafka.partitioner import murmur2

_POSITIVE = 0x7FFFFFFF


def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of a key on a topic with so many; librdkafka's default is another one.

    >>> [partition_of(key, 8) for key in (b"s-17", b"agent/coder-7", b"all")]
    [3, 2, 0]
    """
    return int(murmur2(key) & _POSITIVE) % partitions
