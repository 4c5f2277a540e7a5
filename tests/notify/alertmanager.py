"""A real Alertmanager with a phone behind it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from streams.alerts.sinks.request import SinkAnswer, SinkRequest
from streams.alerts.transport import HttpTransport
from streams.kafka.embedded.child import Child
from tests.integration.receiver import Receiver
from tests.integration.worker_process import PATIENCE_SECONDS, until
from tests.ports import own_port

#: Quick, so that no test waits long. `resolve_timeout` is for alerts that name no end.
CONFIG = """
global:
  resolve_timeout: 2s
route:
  receiver: phone
  group_by: [alertname, agent_id]
  group_wait: 200ms
  group_interval: 500ms
  repeat_interval: 1h
receivers:
  - name: phone
    webhook_configs: [{url: "%s/phone", send_resolved: true}]
"""


class Alertmanager:
    """A running server, and the phone that it calls."""

    def __init__(self, url: str, phone: Receiver) -> None:
        self.url = url
        self.phone = phone

    async def send(self, requests: Sequence[SinkRequest]) -> list[int]:
        """Send what a sink returned, and return the statuses."""
        async with HttpTransport(PATIENCE_SECONDS) as transport:
            answers = [await transport.send(each) for each in requests]
        assert all(isinstance(each, SinkAnswer) for each in answers), answers
        return [each.status for each in answers if isinstance(each, SinkAnswer)]

    async def post(self, *alerts: dict[str, Any]) -> int:
        """Send alerts as they are, and return the status."""
        body = json.dumps(alerts).encode()
        headers = {"Content-Type": "application/json"}
        [status] = await self.send([SinkRequest(f"{self.url}/api/v2/alerts", headers, body)])
        return status

    async def alerts(self) -> list[dict[str, Any]]:
        """Return what it holds."""
        async with aiohttp.ClientSession() as http, http.get(f"{self.url}/api/v2/alerts") as answer:
            found: list[dict[str, Any]] = await answer.json()
            return found

    def told(self) -> list[tuple[str, str, str]]:
        """Return status, session and severity of each alert that the phone heard of, in order."""
        return [
            (each["status"], each["labels"].get("session_id", ""), each["labels"].get("severity", ""))
            for got in self.phone.got
            for each in got.body["alerts"]
        ]

    async def tells(self, status: str, session: str, severity: str = "critical") -> None:
        """Wait until the phone hears of something."""
        wanted = (status, session, severity)
        await until(lambda: wanted in self.told(), PATIENCE_SECONDS, f"a call about {wanted}")


@asynccontextmanager
async def running(directory: Path, phone: Receiver) -> AsyncIterator[Alertmanager]:
    """Run a server as long as the block lasts."""
    (config := directory / "alertmanager.yml").write_text(CONFIG % phone.url)
    (scratch := directory / "scratch").mkdir()
    url = f"http://127.0.0.1:{own_port()}"
    child = Child(
        [
            "prometheus-alertmanager",
            f"--config.file={config}",
            f"--storage.path={directory / 'data'}",
            f"--web.listen-address={url.removeprefix('http://')}",
            "--cluster.listen-address=",
        ],
        scratch=scratch,
    )
    try:
        await until(lambda: _answers(f"{url}/-/ready"), PATIENCE_SECONDS, "an Alertmanager that is ready")
        yield Alertmanager(url, phone)
    finally:
        child.kill()


async def _answers(url: str) -> bool:
    try:
        async with aiohttp.ClientSession() as http, http.get(url) as answer:
            return answer.status == 200
    except aiohttp.ClientError:
        return False
