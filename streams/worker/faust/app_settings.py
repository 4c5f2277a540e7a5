"""How Faust is set up for the job: its own parts, and what it must not decide.

Faust gives every member the whole assignment of the group, so that web requests find the worker that has a
key. Members send it back, all of them, when they join again: members times partitions, uncompressed. The
broker keeps what they send in one record, and refuses the group if that is larger than `message.max.bytes`,
1 MiB by default: with 512 partitions, from 64 workers on. Nothing here asks for the map.
"""

from __future__ import annotations

from typing import Any

import faust
from faust.assignor.partition_assignor import PartitionAssignor
from faust.types.assignor import HostToPartitionMap
from faust.types.auth import CredentialsT
from mode import CrashingSupervisor

from streams.kafka.connection import Connection
from streams.worker.faust import transport
from streams.worker.faust.recovery import RunTableManager
from streams.worker.options import EngineOptions


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
