"""A Prometheus of the machine's own, which scrapes processes of a test once a second."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
import yaml

from streams.kafka.embedded.child import Child
from tests.integration.worker_process import PATIENCE_SECONDS, until
from tests.pages import ROOT
from tests.ports import own_port

PROGRAM = shutil.which("prometheus")
RULES = [ROOT / "deploy" / "prometheus" / f"eddy-{name}.yaml" for name in ("recording", "alerts")]


class Prometheus:
    """A running Prometheus with the rules of Eddy; it ends with the block.

    Args:
        directory: Its own, empty.
        targets: The addresses to scrape, by the name of the job.
    """

    def __init__(self, directory: Path, targets: Mapping[str, list[str]]) -> None:
        configuration = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(path) for path in RULES],
            "scrape_configs": [
                {"job_name": job, "static_configs": [{"targets": found}]} for job, found in targets.items()
            ],
        }
        (directory / "prometheus.yml").write_text(yaml.safe_dump(configuration))
        (scratch := directory / "scratch").mkdir()
        self._address = f"127.0.0.1:{own_port()}"
        assert PROGRAM is not None
        command = [
            PROGRAM,
            f"--config.file={directory / 'prometheus.yml'}",
            f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address={self._address}",
            "--log.level=warn",
        ]
        self._child = Child(command, scratch=scratch, environment={"HOME": str(directory)})

    async def __aenter__(self) -> Self:
        async def ready() -> bool:
            assert not self._child.ended(), self._child.said()
            async with aiohttp.ClientSession() as http, http.get(self._url("/-/ready")) as answer:
                return answer.status == 200

        await until(ready, PATIENCE_SECONDS, "a ready Prometheus")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.kill()

    async def api(self, path: str, **parameters: str) -> Any:
        """Return the data of an answer.

        Raises:
            AssertionError: Prometheus refused the request, and says why.
        """
        async with (
            aiohttp.ClientSession() as http,
            http.get(self._url(f"/api/v1/{path}"), params=parameters) as answer,
        ):
            told = await answer.json()
        assert told["status"] == "success", f"{told['error']}: {parameters}"
        return told["data"]

    async def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the series that a query finds now."""
        found: list[dict[str, Any]] = (await self.api("query", query=expression))["result"]
        return found

    async def names(self) -> set[str]:
        """Return the names of all series."""
        return set(await self.api("label/__name__/values"))

    def _url(self, path: str) -> str:
        return f"http://{self._address}{path}"
