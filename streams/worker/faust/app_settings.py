"""How Faust is set up for the job: its own parts, and what it must not decide."""

from __future__ import annotations

from typing import Any

from mode import CrashingSupervisor

from streams.worker.faust import transport
from streams.worker.faust.credentials import faust_credentials
from streams.worker.faust.lean_assignor import LeanAssignor
from streams.worker.faust.recovery import RunTableManager
from streams.worker.options import EngineOptions


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
