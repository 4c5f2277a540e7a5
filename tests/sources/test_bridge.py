"""The whole way: agents of real SDKs, a collector, Apache Kafka, the bridge, the job, and alerts."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.domain.topic import Topic
from tests.integration.reference_fold import value_of
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, until_reached
from tests.sources.expected import SDKS, check
from tests.sources.running_collector import running
from tests.sources.script import SCRIPTS
from tests.sources.sdk import run_agents

pytestmark = pytest.mark.sources


async def test_each_agent_that_loops_raises_an_alert_and_no_other_does(
    program: Path, stage: Stage, tmp_path: Path
) -> None:
    bridge = stage.worker(command=("eddy", "bridge", "otlp"))
    worker = stage.worker()
    async with running(program, tmp_path, stage.broker.bootstrap) as endpoint:
        for sdk in SDKS:
            run_agents(sdk, endpoint)
    calls = sum(map(len, SCRIPTS.values()))
    wanted = sum(calls + len(SCRIPTS) * len(sdk.answers) for sdk in SDKS)

    async def judged() -> float:
        return len(await stage.read(Topic.ENRICHED))

    await until_reached(judged, wanted, PATIENCE_SECONDS, "records that are judged", bridge, worker)
    written = await stage.read(Topic.DECISION_LOGS)
    assert {dict(stored.headers)["eddy-session-key"] for stored in written} == {b"conversation", b"session"}
    records = [value_of(stored) for stored in written]
    assert len(records) == wanted
    for sdk in SDKS:
        own = {sdk.session(script) for script in SCRIPTS}
        check(sdk, [record for record in records if record["session_id"] in own])
    alerts = [value_of(stored) for stored in await stage.read(Topic.SESSION_ALERTS)]
    looped = {alert["session_id"] for alert in alerts if alert["event_type"] == "loop_episode"}
    assert looped == {sdk.session("loops") for sdk in SDKS}
    assert await stage.read(Topic.SPAN_DEAD_LETTERS) == []
    assert await stage.read(Topic.DEAD_LETTERS) == []
    for process in (bridge, worker):
        process.terminate()
        assert await process.ended() == 0, process.tail()
