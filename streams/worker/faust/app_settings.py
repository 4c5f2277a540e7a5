"""How Faust is set up for the job: its own parts, and what it must not decide.

Faust gives every member the whole assignment of the group, so that web requests find the worker that has a
key. Members send it back, all of them, when they join again: members times partitions, uncompressed. The
broker keeps what they send in one record, and refuses the group if that is larger than `message.max.bytes`,
1 MiB by default: with 512 partitions, from 64 workers on. Nothing here asks for the map.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from typing import Any

import faust
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from faust.assignor.partition_assignor import PartitionAssignor
from faust.types.assignor import HostToPartitionMap
from faust.types.auth import CredentialsT
from faust.types.settings import Settings
from mode import CrashingSupervisor

from streams.core.errors import ConfigurationError
from streams.kafka.connection import Connection
from streams.worker.faust import transport
from streams.worker.faust.recovery import RunTableManager
from streams.worker.options import EngineOptions

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


class LeanAssignor(PartitionAssignor):
    """Assigns as Faust does. Members remember their own partitions, and keep those for that.

    Workers with Faust's own assignor may be in the same group: whoever leads it decides what is in the map,
    and an empty one is as good.
    """

    def _get_changelog_distribution(self, assignments: object) -> HostToPartitionMap:  # noqa: ARG002
        return {}

    def _get_external_topic_distribution(self, assignments: object) -> HostToPartitionMap:  # noqa: ARG002
        return {}


def faust_credentials(connection: Connection) -> CredentialsT | None:
    """Return what `faust.App(broker_credentials=...)` takes, None for plaintext.

    Raises:
        ConfigurationError: a certificate or key file cannot be read.
    """
    context = connection.ssl_context()
    if (provider := connection.token_provider()) is not None:
        return faust.OAuthCredentials(oauth_cb=provider, ssl_context=context)
    if connection.security_protocol.startswith("SASL"):
        return faust.SASLCredentials(
            username=connection.sasl_username,
            password=connection.sasl_password,
            mechanism=connection.sasl_mechanism,
            ssl_context=context,
        )
    return faust.SSLCredentials(context) if context is not None else None


def app_settings(options: EngineOptions) -> dict[str, Any]:
    """Return the keyword arguments of `faust.App`.

    Raises:
        ConfigurationError: a certificate or key file cannot be read.
    """
    return {
        "broker": [f"{transport.SCHEME}://{server}" for server in options.connection.servers],
        "broker_credentials": faust_credentials(options.connection),
        "broker_client_id": options.connection.client_id,
        "datadir": str(options.directory / "faust"),
        "agent_supervisor": CrashingSupervisor,
        "TableManager": RunTableManager,
        "PartitionAssignor": LeanAssignor,
        "topic_disable_leader": True,
        "topic_allow_declare": False,
        "table_standby_replicas": options.standby_replicas,
        "worker_redirect_stdouts": False,
        # Faust prefers variables such as BROKER_URL to its arguments: those mean other programs.
        "env_prefix": "EDDY_FAUST_",
        **options.faust,
    }
