"""Reading alerts."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

from eddy_client.alert import Alert
from eddy_client.alert_decoder import AlertDecoder, UnreadableAlertError

log = logging.getLogger("eddy_client")

REMEMBERED = 10_000
"""Ids of alerts by which a repetition is found."""

_POLL_S = 1.0


def alerts(
    servers: str,
    *,
    topic: str = "session-alerts",
    group: str | None = None,
    from_beginning: bool = False,
    registry_url: str | None = None,
    kafka: Mapping[str, Any] | None = None,
    idle_s: float | None = None,
) -> Iterator[Alert]:
    """Yield alerts as they come, each once.

    Without a group every reader gets all alerts, from now on. With a group its readers share the partitions,
    and where one stopped is remembered: an alert counts as read when the next one is asked for, so after a
    crash the last one comes again. An alert that cannot be read is logged and passed over.

    Args:
        servers: Kafka brokers, `host:port` separated by commas.
        topic: The topic of the alerts.
        group: The consumer group.
        from_beginning: Begin with the oldest alert there is, where nothing is remembered.
        registry_url: The Schema Registry of the job, if it has one.
        kafka: Options of librdkafka, such as `security.protocol`.
        idle_s: End after so many seconds without an alert; by default never.

    Raises:
        ImportError: the extra `kafka`, or for alerts in Avro `avro`, is not installed.
        KafkaException: brokers refuse something, such as a login.
    """
    try:
        from confluent_kafka import (
            OFFSET_BEGINNING,
            OFFSET_END,
            Consumer,
            KafkaError,
            KafkaException,
            TopicPartition,
        )
    except ImportError as error:
        raise ImportError("Reading from Kafka needs an extra: pip install 'eddy-client[kafka]'.") from error
    start = "earliest" if from_beginning else "latest"
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "client.id": "eddy-client",
            "group.id": group or "eddy-client-alone",
            "enable.auto.commit": False,
            "auto.offset.reset": start,
            "isolation.level": "read_committed",
            "reconnect.backoff.max.ms": 30_000,
            **(kafka or {}),
        }
    )
    decoder, seen, silent_s = AlertDecoder(registry_url), _Seen(), 0.0
    try:
        if group is None:
            found = consumer.list_topics(topic, timeout=30).topics[topic]
            if found.error is not None:
                raise KafkaException(found.error)
            offset = OFFSET_BEGINNING if from_beginning else OFFSET_END
            consumer.assign([TopicPartition(topic, each, offset) for each in found.partitions])
        else:
            consumer.subscribe([topic])
        while idle_s is None or silent_s < idle_s:
            message = consumer.poll(_POLL_S if idle_s is None else min(_POLL_S, idle_s))
            if message is None:
                silent_s += _POLL_S if idle_s is None else min(_POLL_S, idle_s)
                continue
            if (problem := message.error()) is not None:
                if problem.fatal() or problem.code() in _refusals(KafkaError):
                    raise KafkaException(problem)
                continue
            silent_s = 0.0
            alert = _read(decoder, message)
            if alert is not None and seen.is_new(alert.alert_id):
                yield alert
            if group is not None:
                consumer.commit(message, asynchronous=False)
    finally:
        consumer.close()


def _read(decoder: AlertDecoder, message: Any) -> Alert | None:
    value = message.value()
    if value is None:
        return None
    try:
        return Alert.of(decoder.decode(value, message.headers() or ()))
    except (UnreadableAlertError, KeyError, ValueError, EOFError) as error:
        log.warning(
            "An alert cannot be read (%s[%d] at %d): %s",
            message.topic(),
            message.partition(),
            message.offset(),
            error,
        )
        return None


def _refusals(codes: Any) -> set[int]:
    """Return the errors that time does not mend."""
    return {
        codes.UNKNOWN_TOPIC_OR_PART,
        codes.TOPIC_AUTHORIZATION_FAILED,
        codes.GROUP_AUTHORIZATION_FAILED,
        codes.SASL_AUTHENTICATION_FAILED,
    }


class _Seen:
    """The newest ids."""

    def __init__(self) -> None:
        self._ids: OrderedDict[str, None] = OrderedDict()

    def is_new(self, alert_id: str) -> bool:
        """Tell whether an id has not come before, and remember it."""
        if alert_id in self._ids:
            return False
        self._ids[alert_id] = None
        if len(self._ids) > REMEMBERED:
            self._ids.popitem(last=False)
        return True
