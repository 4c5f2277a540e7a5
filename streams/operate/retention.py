"""How long topics may hold what was written to them, by their settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from topics.plan import ActualTopic

_UNTIL_COMPACTED: Final = "max.compaction.lag.ms"
_FOR_EVER: Final = 1 << 62


class TopicRemainder(NamedTuple):
    """How long a topic may hold what was written until now.

    Attributes:
        topic: Its name on the brokers.
        until_ms: By its config, ms since 1970; None where no limit is set.
        is_deleted: Whether readers see nothing any more, and only the bytes stay.
        is_known: Whether the brokers tell what the limit depends on.
    """

    topic: str
    until_ms: int | None
    is_deleted: bool
    is_known: bool = True


def remainders(
    described: Iterable[ActualTopic], deleted: Collection[str], now_ms: int
) -> Iterator[TopicRemainder]:
    """Yield how long topics may hold what was written until ``now_ms``, those that hold it for longest last.

    Brokers delete a segment when its newest record is old enough, and a segment takes records for up to
    ``segment.ms``. Where the bytes are of no reader, compaction may come first.

    >>> config = {"cleanup.policy": "delete", "retention.ms": "1000", "segment.ms": "500"}
    >>> [each.until_ms for each in remainders([ActualTopic("t", 1, 1, config)], (), 7)]
    [1507]
    """
    found = [_remainder(topic, now_ms, is_deleted=topic.name in deleted) for topic in described]
    yield from sorted(found, key=lambda each: (each.is_deleted, each.until_ms or _FOR_EVER, each.topic))


def _remainder(topic: ActualTopic, now_ms: int, *, is_deleted: bool) -> TopicRemainder:
    config, limits = topic.config, list[int]()
    policy = config.get("cleanup.policy", "")
    needed = ["cleanup.policy"]
    if "delete" in policy:
        needed += ["retention.ms", "segment.ms"]
        kept, segment = (_milliseconds(config.get(name)) for name in needed[-2:])
        limits += [] if kept is None or segment is None else [kept + segment]
    if "compact" in policy and is_deleted:
        needed.append(_UNTIL_COMPACTED)
        lag = _milliseconds(config.get(_UNTIL_COMPACTED))
        limits += [] if lag is None else [lag]
    until = now_ms + min(limits) if limits else None
    return TopicRemainder(topic.name, until, is_deleted, is_known=all(name in config for name in needed))


def _milliseconds(text: str | None) -> int | None:
    """Return a time in the config of a topic; None where it is unlimited or not known."""
    return int(text) if text is not None and text.isdigit() and int(text) < _FOR_EVER else None
