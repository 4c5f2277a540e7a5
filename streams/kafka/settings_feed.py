"""Following `detector-config` and `shadow-config`: the settings for records that are still to come.

Every worker reads both topics whole, outside the consumer group, before it processes its first record, and
then follows them. Documents are applied one after another, each against those in force before it
(specification 4.4), so every worker reaches the same result from the same topic.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.errors import InfrastructureError
from streams.core.proof import ProofFinding, prove, sentence
from streams.core.settings_document import LARGEST_VERSION, ShadowDocument, follows, is_empty, resolve
from streams.kafka.patches.careful_fetch import CarefulConsumer
from streams.kafka.stored import readable

_POLL_MS = 1000

#: Bytes of a document on the topic. Each partition keeps the settings of the offsets that the commit
#: has not passed in one record of its changelog, and reads what names tools with each new name.
LARGEST_DOCUMENT = 256 << 10

#: Log lines for one document, which can have 40,000 parts that are no settings.
_MOST_WARNINGS = 20

_ADVICE = "Publish the settings with `eddy config set`."

log = logging.getLogger(__name__)


def read_document(value: bytes | None) -> tuple[int, dict[str, Any]]:
    """Return version and settings of a document on the topic.

    Raises:
        ValueError: it is larger than `LARGEST_DOCUMENT`, or no JSON object with an integer ``version`` from 1
            to 2^53; the message says which.
    """
    if value is None:
        raise ValueError("a tombstone is no document")
    if len(value) > LARGEST_DOCUMENT:
        raise ValueError(f"it has {len(value)} bytes, a document may have {LARGEST_DOCUMENT}")
    document = orjson.loads(value)
    if not isinstance(document, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - the caller handles one kind of error
    version = document.get("version")
    if type(version) is not int or not 1 <= version <= LARGEST_VERSION:
        raise ValueError(f"`version` is not an integer from 1 to {LARGEST_VERSION}")
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
    if not follows(version, in_force.version):
        log.warning(
            "Settings version %s is ignored: it does not follow version %s, which is in force. Use "
            "`eddy config set`, which gives the next version.",
            version,
            in_force.version,
        )
        return in_force
    return _resolved(document, in_force, version)


def apply_shadow(tried: ShadowDocument, value: bytes | None, offset: int) -> ShadowDocument:
    """Return what is tried out after one record of `shadow-config`, as `apply_document` for the settings.

    A document without any setting ends the trial, and so does a tombstone; after that versions may begin
    anew. The first document of a trial is read against the defaults, each later one against the one before.

    >>> tried = apply_shadow(ShadowDocument(), b'{"version": 1, "entropy_window_size": 7}', 0)
    >>> tried.settings.entropy_window_size
    7
    >>> apply_shadow(tried, b'{"version": 2, "changed": {"by": "ann"}}', 1)
    ShadowDocument(position=2, version=2, settings=None)
    >>> apply_shadow(tried, None, 1)
    ShadowDocument(position=2, version=0, settings=None)
    """
    if value is None:
        return ShadowDocument(offset + 1)
    try:
        version, document = read_document(value)
    except ValueError as error:
        log.warning("A record of shadow-config is ignored: %s. Use `eddy config shadow set`.", error)
        return tried
    if not follows(version, tried.version):
        log.warning(
            "Shadow settings version %s is ignored: it does not follow version %s, which there was already. "
            "Use `eddy config shadow set`, which gives the next version.",
            version,
            tried.version,
        )
        return tried
    if is_empty(document):
        return ShadowDocument(offset + 1, version)
    return ShadowDocument(offset + 1, version, _resolved(document, tried.settings or DEFAULTS, version))


def _resolved(document: dict[str, Any], in_force: DetectionSettings, version: int) -> DetectionSettings:
    settings, warnings = resolve(document, in_force, version)
    for warning in warnings[:_MOST_WARNINGS]:
        # Anybody may have written the name, and anything into it. What is kept can be as long as a document.
        log.warning("Setting %.80r: %s. Kept: %.200r.", warning.setting, warning.problem, warning.kept)
    if len(warnings) > _MOST_WARNINGS:
        log.warning("And %s more parts of the document are not taken.", len(warnings) - _MOST_WARNINGS)
    return settings


async def announce_proofs(settings: DetectionSettings, about: str = "") -> None:
    """Log which rules and levels can never fire under ``settings`` but should (specification 4.3).

    Each rule proves itself by its shortest sequence; that takes some 50 ms, so it happens in a thread.
    """
    proofs = await asyncio.to_thread(prove, settings)
    proven = [proof for proof in proofs if proof.finding is ProofFinding.PROVEN]
    log.debug("%s%s of %s rules and levels proved that they can fire.", about, len(proven), len(proofs))
    for proof in proofs:
        if proof.is_dead:
            log.warning("%s%s. Change the settings, or switch it off.", about, sentence(proof))
        elif proof.finding is ProofFinding.TOO_LONG:
            log.debug("%s%s.", about, sentence(proof))


class ConfigFeed:
    """The settings in force and those that are tried out, kept current by a task.

    Args:
        new_consumer: Makes a consumer without a group.
        topic: The settings topic; it has one partition.
        shadow_topic: The topic of the settings that are tried out; likewise.
    """

    def __init__(self, new_consumer: Callable[[], CarefulConsumer], topic: str, shadow_topic: str) -> None:
        self._new_consumer = new_consumer
        self._live = TopicPartition(topic, 0)
        self._tried = TopicPartition(shadow_topic, 0)
        self.in_force = DEFAULTS
        self.shadow = ShadowDocument()

    async def follow(self, ready: asyncio.Event) -> None:
        """Read the topics to their ends, set ``ready``, and follow them until cancelled.

        Raises:
            InfrastructureError: they cannot be read.
        """
        topics = [self._live, self._tried]
        try:
            async with self._new_consumer() as consumer:
                consumer.assign(topics)
                await consumer.seek_to_beginning(*topics)
                ends = await consumer.end_offsets(topics)
                while True:
                    before = self.in_force, self.shadow
                    fetched = await consumer.getmany(*topics, timeout_ms=_POLL_MS)
                    for record in readable(self._live, fetched, _ADVICE):
                        self.in_force = apply_document(self.in_force, record.value)
                    for record in readable(self._tried, fetched, _ADVICE):
                        self.shadow = apply_shadow(self.shadow, record.value, record.offset)
                    starting = not ready.is_set()
                    if starting and await self._caught_up(consumer, ends):
                        await self._place_nothing(consumer)
                        await self._announce()
                        await self._announce_shadow()
                        ready.set()
                    elif not starting:
                        if self.in_force is not before[0]:
                            await self._announce()
                        if self.shadow is not before[1]:
                            await self._announce_shadow()
        except KafkaError as error:
            raise InfrastructureError(
                f"The settings topics {self._live.topic} and {self._tried.topic} cannot be read: {error!r}. "
                "Check the brokers, and create the topics with `eddy topics apply`."
            ) from error

    async def _caught_up(self, consumer: CarefulConsumer, ends: Mapping[TopicPartition, int]) -> bool:
        for tp, end in ends.items():
            position: int = await consumer.position(tp)
            if position < max(end, consumer.highwater(tp) or 0):
                return False
        return True

    async def _place_nothing(self, consumer: CarefulConsumer) -> None:
        """Date "nothing is tried out" where compaction has removed the record that said so."""
        if self.shadow.position == 0:
            self.shadow = ShadowDocument(await consumer.position(self._tried))

    async def _announce(self) -> None:
        """Tell which settings are in force, and which of their rules can never fire."""
        if self.in_force.version == 0:
            log.info("The default settings are in force: none were published.")
        else:
            log.info("Settings version %s is in force.", self.in_force.version)
        await announce_proofs(self.in_force)

    async def _announce_shadow(self) -> None:
        """Tell what is tried out; a worker that tries nothing out and never has says nothing."""
        settings = self.shadow.settings
        if settings is None:
            if self.shadow.position > 0:
                log.info("No shadow settings are tried out.")
            return
        log.info("Shadow settings version %s is tried out.", settings.version)
        await announce_proofs(settings, "In the shadow settings, ")
