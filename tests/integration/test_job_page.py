"""The page of the job on a broker, with a worker: what both say of each partition."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestServer

from schemas.codec import Codec
from streams.console.app import application
from streams.console.live_console import live_console
from streams.console.settings import ConsoleSettings
from streams.kafka.client import connect
from streams.kafka.clock import now_ms
from streams.kafka.connection import Connection
from tests.integration.console_operator import Operator, logged_in
from tests.integration.load import decision, keyed
from tests.integration.stage import Stage

pytestmark = pytest.mark.integration


@asynccontextmanager
async def console(stage: Stage, directory: Path, workers: str = "") -> AsyncIterator[Operator]:
    settings = ConsoleSettings(
        _env_file=None,
        console_dir=directory,
        web_port=0,
        console_workers=workers,
        application_id=stage.application_id,
    )
    async with (
        connect(Connection(stage.broker.bootstrap)) as brokers,
        live_console(settings, brokers, Codec.bundled(), "here", now_ms, from_beginning=True) as live,
        TestServer(application(live[0], live[1])) as server,
        logged_in(live[0], str(server.make_url("")).rstrip("/")) as operator,
    ):
        yield operator


async def test_each_partition_has_its_worker_and_its_settings(stage: Stage, tmp_path: Path) -> None:
    worker = stage.worker()
    await worker.ready()
    await stage.send(keyed(decision(f"s-{number}", 0), stage.partitions) for number in range(20))
    await stage.processed()
    url = "http://{}:{}".format(*await worker.address())
    async with console(stage, tmp_path, workers=url) as operator:
        found: Any = await operator.reads_json("/job")
    assert found["problem"] == ""
    assert [each["live"] for each in found["workers"]] == [True]
    assert [each["partition"] for each in found["partitions"]] == list(range(stage.partitions))
    assert {each["worker"] for each in found["partitions"]} == {url}
    assert {each["settings"] for each in found["partitions"]} == {0}
    assert (found["answering"], found["silent"]) == (1, 0)


async def test_a_frozen_worker_is_silent_and_its_lag_is_that_of_the_brokers(
    stage: Stage, tmp_path: Path
) -> None:
    worker = stage.worker()
    await worker.ready()
    url = "http://{}:{}".format(*await worker.address())
    await stage.send(keyed(decision(f"s-{number}", 0), stage.partitions) for number in range(20))
    await stage.processed()
    worker.signal("STOP")
    await worker.stands_still()
    try:
        await stage.send(keyed(decision(f"s-{number}", 1), stage.partitions) for number in range(20))
        async with console(stage, tmp_path, workers=url) as operator:
            found: Any = await operator.reads_json("/job")
            page = await operator.reads("/job")
    finally:
        worker.signal("CONT")
    assert (found["answering"], found["silent"]) == (0, 1)
    # The embedded broker tells the beginning of the last batch for the end.
    assert 0 < found["behind"] <= 20
    assert "0 of 1 answer" in page
    assert "good" not in page.split('id="job-figures"')[1].split("</dl>")[0]


async def test_without_a_named_worker_the_lag_is_that_of_the_group(stage: Stage, tmp_path: Path) -> None:
    worker = stage.worker()
    await worker.ready()
    await stage.send(
        keyed(decision(f"s-{number}", step), stage.partitions) for number in range(20) for step in range(2)
    )
    await stage.processed()
    async with console(stage, tmp_path) as operator:
        found: Any = await operator.reads_json("/job")
    lags = {each["partition"]: each["lag"] for each in found["partitions"]}
    assert set(lags) == set(range(stage.partitions))
    assert set(lags.values()) == {0}
