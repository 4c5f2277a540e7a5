"""Following `detector-config`: which settings are in force for records nobody has seen yet.

Every worker reads the whole topic, outside the consumer group, before it processes its first record, and then
follows it. Documents are applied one after another, each against the settings in force before it
(SEMANTICS 4.4), so every worker comes to the same result from the same topic.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import orjson
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.domain.detection_settings import DEFAULTS, DetectionSettings
from streams.domain.settings_document import resolve
from streams.errors import InfrastructureError
from streams.policy.reachability import reachability

_POLL_MS = 1000

log = logging.getLogger(__name__)


def read_document(value: bytes | None) -> tuple[int, dict[str, Any]]:
    """Return version and settings of a document as it stands on the topic.

    Raises:
        ValueError: it is no JSON object with an integer ``version`` of at least 1; the message says which.
    """
    if value is None:
        raise ValueError("a tombstone is no document")
    document = orjson.loads(value)
    if not isinstance(document, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - the caller handles one kind of error
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ValueError("`version` is not an integer of at least 1")
    return version, document


def apply_document(in_force: DetectionSettings, value: bytes | None) -> DetectionSettings:
    """Return the settings after one record of the topic; what is unusable is logged and changes nothing.

    >>> apply_document(DEFAULTS, b'{"version": 1, "entropy_window_size": 7}').entropy_window_size
    7
    >>> apply_document(DEFAULTS, b"{}").version
    0
    """
    try:
        version, document = read_document(value)
    except ValueError as error:
        log.warning("A record of detector-config is ignored: %s. Use `eddy config set`.", error)
        return in_force
    if version <= in_force.version:
        log.warning(
            "Settings version %s is ignored: version %s is in force and a change must have a higher one.",
            version,
            in_force.version,
        )
        return in_force
    settings, warnings = resolve(document, in_force, version)
    for warning in warnings:
        # Anybody may have written the name, and anything into it.
        log.warning("Setting %.80r: %s. Kept: %r.", warning.setting, warning.problem, warning.kept)
    return settings


def unreachable(settings: DetectionSettings) -> tuple[str, ...]:
    """Return a sentence for each rule and level that can never fire under ``settings``, but should.

    >>> from dataclasses import replace
    >>> unreachable(DEFAULTS)
    ()
    >>> len(unreachable(replace(DEFAULTS, pattern_window=3, pattern_theta=4)))
    2
    """
    return tuple(
        f"{reach.rule} can never reach {reach.level}: {reach.why}. Change the settings, or switch it off."
        for reach in reachability(settings)
        if not reach.reachable and not reach.disabled
    )


class ConfigFeed:
    """The settings in force, kept current by a task.

    Args:
        new_consumer: Makes a consumer without a group.
        topic: The settings topic; it has one partition.
    """

    def __init__(self, new_consumer: Callable[[], AIOKafkaConsumer], topic: str) -> None:
        self._new_consumer = new_consumer
        self._tp = TopicPartition(topic, 0)
        self.in_force = DEFAULTS

    async def follow(self, ready: asyncio.Event) -> None:
        """Read the topic to its end, set ``ready``, and go on following it until cancelled.

        Raises:
            InfrastructureError: the topic cannot be read.
        """
        try:
            async with self._new_consumer() as consumer:
                consumer.assign([self._tp])
                await consumer.seek_to_beginning(self._tp)
                end = (await consumer.end_offsets([self._tp]))[self._tp]
                while True:
                    before = self.in_force
                    fetched = await consumer.getmany(self._tp, timeout_ms=_POLL_MS)
                    for record in fetched.get(self._tp, ()):
                        self.in_force = apply_document(self.in_force, record.value)
                    starting = not ready.is_set()
                    if starting and await self._caught_up(consumer, end):
                        self._announce()
                        ready.set()
                    elif not starting and self.in_force is not before:
                        self._announce()
        except KafkaError as error:
            raise InfrastructureError(
                f"The settings topic {self._tp.topic} cannot be read: {error!r}. Check the brokers, and "
                "create the topic with `eddy topics apply`."
            ) from error

    async def _caught_up(self, consumer: AIOKafkaConsumer, end: int) -> bool:
        position: int = await consumer.position(self._tp)
        return position >= max(end, consumer.highwater(self._tp) or 0)

    def _announce(self) -> None:
        """Tell which settings are in force, and which of their rules can never fire (SEMANTICS 4.3)."""
        log.info("Settings version %s is in force.", self.in_force.version)
        for problem in unreachable(self.in_force):
            log.warning("%s", problem)
