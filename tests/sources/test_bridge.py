"""The whole way: agents of real SDKs, a collector, Apache Kafka, the bridge, the job, and alerts."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.core.domain.topic import Topic
from tests.integration.reference_fold import value_of
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, until_reached
from tests.sources.expected import SDKS, check, records_of
from tests.sources.running_collector import running
from tests.sources.script import SCRIPTS
from tests.sources.sdk import run_agents

pytestmark = pytest.mark.sources


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once"])
async def test_each_agent_that_loops_raises_an_alert_and_no_other_does(
    program: Path, stage: Stage, tmp_path: Path, guarantee: str
) -> None:
    bridge = stage.worker(command=("eddy", "bridge", "otlp"), processing_guarantee=guarantee)
    worker = stage.worker(processing_guarantee=guarantee)
    async with running(program, tmp_path, stage.broker.bootstrap) as endpoint:
        for sdk in SDKS:
            run_agents(sdk, endpoint)
    wanted = sum(map(records_of, SDKS))

    async def judged() -> float:
        return len(await stage.read(Topic.ENRICHED))

    await until_reached(judged, wanted, PATIENCE_SECONDS, "records that are judged", bridge, worker)
    written = await stage.read(Topic.DECISION_LOGS)
    keys = {dict(stored.headers)["eddy-session-key"] for stored in written}
    assert keys == {b"conversation", b"session", b"trace"}
    records = [value_of(stored) for stored in written]
    assert len(records) == wanted
    scripts: dict[str, str] = {}
    for sdk in SDKS:
        scripts |= check(sdk, [each for each in records if each["identity"]["agent_type"] == sdk.name])
    alerts = [value_of(stored) for stored in await stage.read(Topic.SESSION_ALERTS)]
    looped = {alert["session_id"] for alert in alerts if alert["event_type"] == "loop_episode"}
    assert looped == {session for session, script in scripts.items() if script == "loops"}
    assert await stage.read(Topic.SPAN_DEAD_LETTERS) == []
    assert await stage.read(Topic.DEAD_LETTERS) == []
    told = await stage.command("doctor")
    traces, unnamed = len(SDKS) * len(SCRIPTS), sum(not sdk.named for sdk in SDKS) * len(SCRIPTS)
    assert f"{unnamed} of {traces} traces have no session" in told
    assert "not keyed by their trace" not in told
    for process in (bridge, worker):
        process.terminate()
        assert await process.ended() == 0, process.tail()
