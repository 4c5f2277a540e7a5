"""From the topic to a phone, through the real notifier, the real Alertmanager and the real Prometheus."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from streams.kafka.embedded.child import Child
from tests.integration.receiver import Receiver
from tests.integration.stage import Stage
from tests.integration.test_notify import put
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until
from tests.notify.alertmanager import Alertmanager
from tests.notify.test_alertmanager import now_ms
from tests.ports import own_port
from tests.unit.alerts.sinks.alerts import fields

pytestmark = [pytest.mark.notify, pytest.mark.timeout(420)]


def notifier(stage: Stage, alertmanager: Alertmanager) -> WorkerProcess:
    return stage.worker(command=("eddy", "notify"), notify_alertmanager_url=alertmanager.url)


def loop(phase: str, offset: int, session: str = "s-1") -> dict[str, Any]:
    return fields(phase, offset, session, timestamp=now_ms(), first_timestamp=now_ms() - 60_000)


async def test_a_loop_rings_and_its_end_too_though_the_notifier_is_killed_in_between(
    stage: Stage, alertmanager: Alertmanager
) -> None:
    first = await notifier(stage, alertmanager).ready()
    await put(stage, loop("opened", 6))
    await alertmanager.tells("firing", "s-1")
    first.kill()
    await put(stage, loop("recovered", 24))
    notifier(stage, alertmanager)
    await alertmanager.tells("resolved", "s-1")
    assert alertmanager.told().count(("firing", "s-1", "critical")) == 1


async def test_an_alertmanager_that_comes_late_hears_of_what_is_open(
    stage: Stage, alertmanager: Alertmanager, phone: Receiver
) -> None:
    url, alertmanager.url = alertmanager.url, f"http://127.0.0.1:{own_port()}"
    first = await notifier(stage, alertmanager).ready()
    await put(stage, loop("opened", 6))
    await until(lambda: "does not take alerts" in first.log, PATIENCE_SECONDS, "a try", first)
    first.terminate()
    assert await first.ended() == 0
    assert phone.got == []
    alertmanager.url = url
    notifier(stage, alertmanager)
    await alertmanager.tells("firing", "s-1")


async def test_prometheus_reads_what_a_notifier_counts(
    stage: Stage, alertmanager: Alertmanager, tmp_path: Path
) -> None:
    process = await notifier(stage, alertmanager).ready()
    await put(stage, loop("opened", 6))
    await alertmanager.tells("firing", "s-1")
    _, exposed = await process.get("/metrics")
    lint = await asyncio.create_subprocess_exec("promtool", "check", "metrics", stdin=asyncio.subprocess.PIPE)
    await lint.communicate(exposed.encode())
    assert lint.returncode == 0
    async with prometheus(tmp_path, *await process.address()) as url:
        query = 'eddy_notify_deliveries_total{sink="alertmanager",result="delivered"}'

        async def scraped() -> bool:
            async with (
                aiohttp.ClientSession() as http,
                http.get(f"{url}/api/v1/query", params={"query": query}) as answer,
            ):
                result = (await answer.json())["data"]["result"]
                return [each["value"][1] for each in result] == ["1"]

        await until(scraped, PATIENCE_SECONDS, "a scrape", process)


@asynccontextmanager
async def prometheus(directory: Path, host: str, port: int) -> AsyncIterator[str]:
    """Run a Prometheus that scrapes one address, as long as the block lasts; yield its own."""
    (config := directory / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s}\n"
        f"scrape_configs: [{{job_name: notify, static_configs: [{{targets: ['{host}:{port}']}}]}}]\n"
    )
    (scratch := directory / "prometheus-scratch").mkdir()
    own = f"127.0.0.1:{own_port()}"
    child = Child(
        [
            "prometheus",
            f"--config.file={config}",
            f"--storage.tsdb.path={directory / 'tsdb'}",
            f"--web.listen-address={own}",
        ],
        scratch=scratch,
    )
    try:
        yield f"http://{own}"
    finally:
        child.kill()
