"""The page of the job: how far the console has read, what it passed over, and what the workers answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from streams.core.domain.topic import Topic
from streams.observe.engine_counts import Readings
from streams.worker.job_metrics import WorkerMetrics
from tests.unit.console.following import ADDRESS, following

AT = 1_760_000_000_000


@asynccontextmanager
async def worker(status: int, says: str) -> AsyncIterator[str]:
    """Serve the probes and the metrics of a worker."""
    metrics = WorkerMetrics("1.2.3")
    metrics.watch(Readings())

    async def live(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def ready(_: web.Request) -> web.Response:
        return web.Response(text=says, status=status)

    async def exposed(_: web.Request) -> web.Response:
        return web.Response(body=metrics.exposition())

    app = web.Application()
    app.add_routes([web.get("/livez", live), web.get("/readyz", ready), web.get("/metrics", exposed)])
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")


async def test_without_the_setting_the_page_says_what_to_set(tmp_path: Path) -> None:
    async with following(tmp_path, (), AT) as reader:
        page = await reader.page("/job")
    assert "EDDY_CONSOLE_WORKERS" in page
    assert "Every record could be read" in page


async def test_a_record_that_was_passed_over_is_named_with_its_place(tmp_path: Path) -> None:
    async with following(tmp_path, (), AT) as reader:
        reader.feed.intake.pass_over(Topic.SESSION_ALERTS, 2, 17, AT, "it is <b>no</b> alert")
        found: Any = await reader.json("/job")
        page = await reader.page("/job")
    assert (found["unreadable"], found["newest_unread"][0]["offset"]) == (1, 17)
    assert "it is &lt;b&gt;no&lt;/b&gt; alert" in page


async def test_a_worker_is_shown_as_it_answers_and_a_silent_one_as_silent(tmp_path: Path) -> None:
    async with worker(503, "restores <i>") as url:
        named = f"{url}, http://{ADDRESS}"
        async with following(tmp_path, (), AT, console_workers=named) as reader:
            found: Any = await reader.json("/job")
            page = await reader.page("/job")
    answering, silent = found["workers"]
    assert (answering["live"], answering["ready"], answering["detail"]) == (True, False, "restores <i>")
    assert answering["version"] == "1.2.3"
    assert (silent["live"], silent["ready"]) == (None, None)
    assert "restores &lt;i&gt;" in page


async def test_a_setting_that_is_no_address_is_named(tmp_path: Path) -> None:
    async with following(tmp_path, (), AT, console_workers="worker-1") as reader:
        found: Any = await reader.json("/job")
    assert "worker-1 in EDDY_CONSOLE_WORKERS is no URL" in found["problem"]
