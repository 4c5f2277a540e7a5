"""Options handed through to Faust and aiokafka: their names are checked before anything starts."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from faust.types.settings import Settings

from streams.core.errors import ConfigurationError

#: What `RunApp` decides itself; a job with another of these would be another job, or break its promises.
FIXED_IN_FAUST = frozenset(
    {
        "TableManager",
        "agent_supervisor",
        "broker",
        "broker_client_id",
        "broker_credentials",
        "datadir",
        "env_prefix",
        "processing_guarantee",
        "producer_acks",
        "stream_publish_on_commit",
        "stream_wait_empty",
        "table_standby_replicas",
        "topic_allow_declare",
        "topic_disable_leader",
        "worker_redirect_stdouts",
    }
)

#: What would commit by itself, read other bytes, or make another client.
FIXED_IN_CONSUMER = frozenset(
    {
        "auto_offset_reset",
        "client_id",
        "enable_auto_commit",
        "group_id",
        "group_instance_id",
        "isolation_level",
        "key_deserializer",
        "partition_assignment_strategy",
        "value_deserializer",
    }
)

#: What would weaken an acknowledgement, or write other bytes.
FIXED_IN_PRODUCER = frozenset(
    {"acks", "key_serializer", "partitioner", "transactional_id", "value_serializer"}
)


def check_pass_through(
    *, faust: Mapping[str, Any], consumer: Mapping[str, Any], producer: Mapping[str, Any]
) -> None:
    """Refuse what does not exist, which Faust would ignore and aiokafka answer with a stack trace.

    Raises:
        ConfigurationError: names the variable and the options.
    """
    _check("EDDY_FAUST", faust, Settings.SETTINGS.keys() - FIXED_IN_FAUST)
    _check("EDDY_CONSUMER", consumer, _keywords(AIOKafkaConsumer) - FIXED_IN_CONSUMER)
    _check("EDDY_PRODUCER", producer, _keywords(AIOKafkaProducer) - FIXED_IN_PRODUCER)


def _check(variable: str, given: Mapping[str, Any], known: Collection[str]) -> None:
    if unknown := sorted(given.keys() - known):
        raise ConfigurationError(
            f"{variable} names {', '.join(unknown)}: no such option, or one that Eddy sets itself. Remove it."
        )


def _keywords(client: type) -> set[str]:
    parameters = inspect.signature(client).parameters.values()
    return {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}
