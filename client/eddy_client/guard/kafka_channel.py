"""Commands from Kafka, acks to Kafka."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from eddy_client.alert_decoder import AlertDecoder, UnreadableAlertError
from eddy_client.guard.channel import AlreadyApplied, Heard
from eddy_client.guard.command import Command
from eddy_client.protocol import refusal
from eddy_client.rare_log import RareLog

log = logging.getLogger("eddy_client.guard")

COMMANDS, ACKS = "session-commands", "session-command-acks"
LONGEST_COMMAND_S = 24 * 3_600
"""No command is in force for longer: so far back a guard reads when it starts."""

_ALIVE_EVERY_S = 10.0
_REQUEST_S = 5.0
_AT_ONCE = 500

_FOR_GOOD = ("MSG_SIZE_TOO_LARGE", "TOPIC_AUTHORIZATION_FAILED", "POLICY_VIOLATION", "INVALID_RECORD")
"""What brokers answer to an ack that they will not take later either."""


_REFUSALS = ("TOPIC_AUTHORIZATION_FAILED", "UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID")
"""What brokers answer where no command can be heard, although they are there."""


def required() -> None:
    """Check that the extra is installed.

    Raises:
        ImportError: it is not.
    """
    try:
        import confluent_kafka  # noqa: F401
        import fastavro  # noqa: F401
    except ImportError as error:
        raise ImportError("A guard on Kafka needs an extra: pip install 'eddy-client[guard]'.") from error


class KafkaChannel:
    """Reads every command there is, in no group, and writes acks beside them.

    Args:
        servers: Brokers, `host:port` separated by commas.
        keys: Of the commands' signatures; without any, unsigned ones are taken.
        topic_prefix: Before the names of the topics.
        options: Of librdkafka; they win over ours.

    Raises:
        KafkaException: no broker answers.
    """

    def __init__(
        self, servers: str, keys: Sequence[bytes], topic_prefix: str, options: Mapping[str, Any]
    ) -> None:
        from confluent_kafka import Consumer, Producer

        self._keys, self._commands, self._acks = keys, topic_prefix + COMMANDS, topic_prefix + ACKS
        self._readers = {
            self._commands: AlertDecoder(subject=f"{COMMANDS}-value"),
            self._acks: AlertDecoder(subject=f"{ACKS}-value"),
        }
        logger = logging.getLogger("eddy_client.librdkafka")
        logger.addFilter(RareLog())
        shared = {"bootstrap.servers": servers, "client.id": "eddy-guard", **options}
        self._consumer = Consumer(
            {
                "group.id": "eddy-guard",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 100,
                **shared,
            },
            logger=logger,
        )
        self._producer = Producer(
            {"partitioner": "murmur2_random", "enable.idempotence": True, "linger.ms": 5, **shared},
            logger=logger,
        )
        #: Acks that the producer has given up, to be sent again.
        self._unsent: list[Mapping[str, Any]] = []
        try:
            self._behind = self._assign()
        except BaseException:
            self._consumer.close()
            raise
        self.heard_at = self._asked_at = time.monotonic()
        #: Commands that wait until the acks before them are known.
        self._held: list[Command] | None = [] if self._behind else None

    @property
    def is_current(self) -> bool:
        """Whether all that was commanded before is known."""
        return self._held is None

    def knows(self, session_id: str) -> bool:
        """Whether all that was commanded before is known: for every session, or for none."""
        del session_id
        return self.is_current

    def watch(self, sessions: Collection[tuple[str, str | None]]) -> None:
        """Do nothing: every command is read, whatever the sessions are."""

    def step(self, within: float) -> Sequence[Heard]:
        """Wait for so many seconds at most; return what came.

        Raises:
            KafkaException: the brokers let nobody read, or one of them does not answer.
        """
        from confluent_kafka import KafkaException

        found: list[Heard] = []
        was_current = self.is_current
        for message in self._consumer.consume(_AT_ONCE, within):
            if (error := message.error()) is not None:
                if error.name() in _REFUSALS:
                    raise KafkaException(error)
                log.debug("Kafka: %s", error)
                continue
            self.heard_at = time.monotonic()
            heard = self._read(message, is_live=was_current)
            if isinstance(heard, Command) and self._held is not None:
                self._held.append(heard)
            elif heard is not None:
                found.append(heard)
            place = message.topic(), message.partition()
            if message.offset() + 1 >= self._behind.get(place, 0):
                self._behind.pop(place, None)
        found += self._released()
        self._producer.poll(0)
        self._send_again()
        self._ask()
        return found

    def send(self, acks: Sequence[Mapping[str, Any]]) -> None:
        """Hand acks over to the producer. One that it cannot take for good keeps no other back."""
        from confluent_kafka import KafkaException

        for ack in acks:
            try:
                self._producer.produce(
                    self._acks,
                    key=ack["session_id"].encode(),
                    value=json.dumps(ack, separators=(",", ":")).encode(),
                    on_delivery=partial(self._delivered, ack),
                )
            except KafkaException as error:  # noqa: PERF203 - each for itself
                if error.args[0].name() not in _FOR_GOOD:
                    raise
                self._delivered(ack, error.args[0], None)
        self._producer.poll(0)

    def close(self, within: float) -> Sequence[Mapping[str, Any]]:
        """Wait for the brokers' answers, for so long at most; return the acks that they have not taken."""
        if self._producer.flush(within):
            self._producer.purge()
            self._producer.flush(_REQUEST_S)  # which tells at once what was purged
        self._consumer.close()
        return self._unsent

    def _send_again(self) -> None:
        unsent, self._unsent = self._unsent, []
        try:
            self.send(unsent)
        except Exception:
            self._unsent += unsent
            raise

    def _delivered(self, ack: Mapping[str, Any], error: Any, _: Any) -> None:
        """Keep an ack that the brokers have not taken, unless they never will."""
        if error is None:
            return
        if error.name() in _FOR_GOOD:
            log.warning(
                "An acknowledgement (%s, session %.200s) is left out: %s",
                ack["status"],
                ack["session_id"],
                error.str(),
            )
        else:
            self._unsent.append(ack)

    def _assign(self) -> dict[tuple[str, int], int]:
        """Begin so far back that no command in force is missed; return where each partition ends now."""
        from confluent_kafka import OFFSET_END, KafkaException, TopicPartition

        since = int((time.time() - LONGEST_COMMAND_S) * 1000)
        known = self._consumer.list_topics(timeout=_REQUEST_S).topics
        wanted = []
        for topic in (self._commands, self._acks):
            found = known.get(topic)
            if found is None or found.error is not None:
                raise KafkaException(f"There is no topic {topic}: `eddy topics apply` creates it.")
            wanted += [TopicPartition(topic, partition, since) for partition in found.partitions]
        # The ends first: what is written between the two questions lies behind these ends, and is read.
        watermarks = [self._consumer.get_watermark_offsets(place, timeout=_REQUEST_S) for place in wanted]
        begins = self._consumer.offsets_for_times(wanted, timeout=_REQUEST_S)
        ends: dict[tuple[str, int], int] = {}
        for place, (low, high) in zip(begins, watermarks, strict=True):
            if place.error is not None:  # its offset says "the end", which would pass commands over
                raise KafkaException(place.error)
            # Without a record since then, the answer is the end.
            begin = high if place.offset in (OFFSET_END, -1) else max(place.offset, low)
            place.offset = begin
            if begin < high:
                ends[place.topic, place.partition] = high
        self._consumer.assign(begins)
        self._places = begins
        return ends

    def _released(self) -> list[Command]:
        """Return the commands that waited, once everything before them is known."""
        if self._held is None:
            return []
        if self._behind:
            # A partition may end in records that are for no reader, such as those of an aborted transaction.
            for place in self._consumer.position(self._places):
                if place.offset >= self._behind.get((place.topic, place.partition), 0):
                    self._behind.pop((place.topic, place.partition), None)
        if self._behind:
            return []
        found, self._held = self._held, None
        return found

    def _ask(self) -> None:
        """Ask a broker something now and then: silence of a topic is not silence of the channel.

        Each partition has its turn: what others say does not tell whether its broker can be heard.
        """
        now = time.monotonic()
        if now - self._asked_at < _ALIVE_EVERY_S:
            return
        self._asked_at = now
        self._places.append(asked := self._places.pop(0))
        self._consumer.get_watermark_offsets(asked, timeout=_REQUEST_S)
        self.heard_at = time.monotonic()

    def _read(self, message: Any, *, is_live: bool) -> Heard | None:
        value, headers = message.value(), message.headers() or ()
        if value is None:
            return None
        try:
            fields = self._readers[message.topic()].decode(value, headers)
            if message.topic() == self._acks:
                return self._given(fields)
            return Command.of(
                fields,
                partition=message.partition(),
                offset=message.offset(),
                written_at=max(0, message.timestamp()[1]),
                is_live=is_live,
                refusal=refusal(value, headers, self._keys),
            )
        except (UnreadableAlertError, ValueError, KeyError, EOFError, TypeError) as error:
            log.warning(
                "A record of %s[%d] at %d cannot be read: %s",
                message.topic(),
                message.partition(),
                message.offset(),
                error,
            )
            return None

    @staticmethod
    def _given(fields: Mapping[str, Any]) -> AlreadyApplied | None:
        if fields["status"] == "applied" and fields.get("command_id"):
            return AlreadyApplied(fields["session_id"], fields["command_id"])
        return None
