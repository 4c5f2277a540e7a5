"""Every query of the dashboards and every rule, asked of a Prometheus that scrapes real processes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from aiohttp.test_utils import TestServer

from deploy.grafana.dashboards import BOARDS
from schemas.codec import Codec
from streams.console.app import application
from streams.console.live_console import live_console
from streams.console.settings import ConsoleSettings
from streams.kafka.client import connect
from streams.kafka.clock import now_ms
from streams.kafka.connection import Connection
from tests.deploy.test_alert_rules import metrics_of
from tests.integration.load import load
from tests.integration.prometheus import PROGRAM, Prometheus
from tests.integration.receiver import Receiver, notifying
from tests.integration.spans import Bridges, agents
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.any_broker,
    pytest.mark.skipif(PROGRAM is None, reason="prometheus is missing; as root: apt-get install prometheus"),
]

RECORDS = 1_500

#: What Grafana puts in for its variables.
VARIABLES = {
    "$__rate_interval": "20s",
    "$__range": "1h",
    "$job": "eddy.*",
    "$agent": ".*",
}
#: What no process of this test has counted: nothing went wrong, nobody stands by, the broker tells no time.
NEVER = {
    "eddy_clock_ahead_seconds",
    "eddy_records_lost_total",
    "eddy_redated_records_total",
    "eddy_state_set_aside_total",
    "eddy_standby_lag_seconds",
    "eddy_standby_records_total",
    "eddy_shadow_differences_total",
    "eddy_sessions_removed_total",
    "eddy_bridge_dead_letters_total",
    "eddy_restored_records_total",
    "eddy_restore_seconds",
    "eddy_console_unreadable_total",
    "eddy_notify_gone",
}


def queries() -> Iterator[str]:
    for board in BOARDS:
        for charts in board.sections.values():
            for chart in charts:
                yield from (query.expression for query in chart.queries)


def filled_in(expression: str) -> str:
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    return expression


async def test_every_query_finds_what_processes_expose_and_every_rule_can_be_evaluated(
    stage: Stage, receiver: Receiver, tmp_path: Path
) -> None:
    settings = ConsoleSettings(
        _env_file=None, console_dir=tmp_path / "console", web_port=0, application_id=stage.application_id
    )
    bridges = Bridges(stage, bridge_hold_ms=0)
    worker, bridge, notifier = stage.worker(), bridges.start(), notifying(stage, receiver)
    await worker.ready()
    await bridge.ready()
    await notifier.ready()
    async with (
        connect(Connection(stage.broker.bootstrap)) as brokers,
        live_console(settings, brokers, Codec.bundled(), "here", now_ms, from_beginning=True) as live,
        TestServer(application(live[0], live[1])) as server,
        Prometheus(
            directory_in(tmp_path),
            {
                "eddy": ["{}:{}".format(*await worker.address())],
                "eddy-bridge": ["{}:{}".format(*await bridge.address())],
                "eddy-console": [f"{server.host}:{server.port}"],
                "eddy-notify": ["{}:{}".format(*await notifier.address())],
            },
        ) as prometheus,
    ):
        await bridges.send(agents(3, 6))
        await bridges.until_there(18, bridge)
        await stage.send(islice(load(stage.partitions), RECORDS))

        async def silent() -> list[str]:
            known = await prometheus.names()
            unheard = {name.removesuffix("_bucket") for name in known}
            return [
                query
                for query in map(filled_in, queries())
                if metrics_of(query) - NEVER <= unheard | known and not await prometheus.query(query)
                if not metrics_of(query) & NEVER
            ]

        async def all_found() -> bool:
            names = await prometheus.names()
            wanted = {name for query in queries() for name in metrics_of(query)} - NEVER
            return all({name, f"{name}_bucket"} & names for name in wanted) and not await silent()

        try:
            await until(all_found, PATIENCE_SECONDS, "an answer to every query", worker, bridge, notifier)
        except AssertionError as error:
            names = await prometheus.names()
            wanted = {name for query in queries() for name in metrics_of(query)} - NEVER
            missing = [name for name in sorted(wanted) if not {name, f"{name}_bucket"} & names]
            raise AssertionError(f"never exposed: {missing}; nothing found by: {await silent()}") from error
        for query in map(filled_in, queries()):
            await prometheus.query(query)  # those that find nothing here are right all the same
        groups = (await prometheus.api("rules"))["groups"]
        unwell = [
            (rule["name"], rule.get("lastError"))
            for group in groups
            for rule in group["rules"]
            if rule["health"] != "ok"
        ]
        assert sum(len(group["rules"]) for group in groups) > 20
        assert unwell == []


def directory_in(path: Path) -> Path:
    (directory := path / "prometheus").mkdir()
    return directory
