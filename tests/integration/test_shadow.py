"""Settings tried out under load: the differences are those of a reference fold, and nothing else changes."""

import itertools
from pathlib import Path

import pytest

from streams.core.domain.topic import Topic
from tests.integration.brokers import Broker
from tests.integration.load import load
from tests.integration.reference_fold import value_of
from tests.integration.stage import SOON_MISSED, Stage
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until

pytestmark = pytest.mark.integration

#: What a run without anything tried out puts out.
LIVE_TOPICS = (
    Topic.ENRICHED,
    Topic.ENTROPY_ALERTS,
    Topic.SESSION_ALERTS,
    Topic.TOPOLOGY,
    Topic.SESSION_BUDGETS,
    Topic.SESSION_RESPONSES,
)


async def tried_everywhere(version: int, *workers: WorkerProcess, partitions: int) -> None:
    """Wait until every partition tries a version out."""

    async def all_try() -> bool:
        trying = 0
        for worker in workers:
            _, metrics = await worker.get("/metrics")
            trying += sum(
                line.startswith("eddy_shadow_settings_version{") and float(line.rsplit(" ", 1)[1]) == version
                for line in metrics.splitlines()
            )
        return trying >= partitions

    await until(all_try, PATIENCE_SECONDS, f"shadow settings version {version} everywhere", *workers)


async def test_differences_survive_a_kill_and_alert_nobody(stage: Stage) -> None:
    # Without commits everything is processed again after the kill.
    first = stage.worker(commit_interval_s=600, **SOON_MISSED)
    async with stage.pouring(load(stage.partitions)):
        await first.has_processed(300)
        await stage.publish_shadow(entropy_window_size=3, entropy_loop_threshold=0.34)
        await tried_everywhere(1, first, partitions=stage.partitions)
        seen = int(await first.metric("eddy_decisions_total"))
        await first.has_processed(seen + 300)
        await stage.publish_shadow(repeat_thresholds={"tool": 2, "llm": 2, "system": 999, "default": 999})
        await tried_everywhere(2, first, partitions=stage.partitions)
        seen = int(await first.metric("eddy_decisions_total"))
        await first.has_processed(seen + 300)
        assert await first.metric("eddy_shadow_differences_total", kind="severity") > 0
        assert await first.metric("eddy_shadow_decisions_total") > 400
        first.kill()
    second = stage.worker()
    await stage.processed()
    await stage.publish_shadow()
    # Who has read it ends the trial with the next run of each partition.
    ended = "No shadow settings are tried out"
    await until(lambda: ended in second.log, PATIENCE_SECONDS, "the end of the trial", second)
    await stage.send(itertools.islice(load(stage.partitions), 200))
    await tried_everywhere(0, second, partitions=stage.partitions)
    await stage.send(itertools.islice(load(stage.partitions), 200))
    await stage.processed()
    assert await second.metric("eddy_decisions_total", result="duplicate") > 500

    # Every output, difference and state is that of a fold without runs, workers and restarts.
    verdict = await stage.verdict()
    assert verdict.outputs[Topic.SHADOW_DIFFERENCES] > 100
    told = [value_of(stored) for stored in await stage.read(Topic.SHADOW_DIFFERENCES)]
    assert {record["shadow_version"] for record in told} == {1, 2}
    assert {record["settings_version"] for record in told} == {0}
    published = {
        value_of(stored)["id"]
        for topic in LIVE_TOPICS[1:]
        for stored in await stage.read(topic)
        if stored.value is not None
    }
    for record in told:
        assert {event["id"] for event in record["only_live"]} <= published
        assert not {event["id"] for event in record["only_shadow"]} & published


async def test_what_is_live_is_the_same_bytes_with_and_without_a_trial(stage: Stage) -> None:
    await stage.send(itertools.islice(load(stage.partitions), 600))
    alone = stage.worker()
    await stage.processed()
    alone.terminate()
    assert await alone.ended() == 0, alone.tail()
    before = {topic: [stored.value or b"" for stored in await stage.read(topic)] for topic in LIVE_TOPICS}

    await stage.publish_shadow(entropy_window_size=3, node_state_source="max", alert_every_record=False)
    other = f"{stage.application_id}-tried"
    await stage.create_topics(other)
    beside = stage.worker(application_id=other)
    await stage.processed(other)
    assert await beside.metric("eddy_shadow_decisions_total") > 500
    for topic in LIVE_TOPICS:
        after = [stored.value or b"" for stored in await stage.read(topic)]
        # Both wrote to the same topics, each partition's records in the same order.
        assert sorted(after) == sorted([*before[topic], *before[topic]]), topic
    await stage.verdict(other)


async def test_a_cluster_without_the_shadow_topics_is_told_what_to_do(
    stage_broker: Broker, tmp_path: Path
) -> None:
    stage = Stage(stage_broker, tmp_path, application_id="eddy")
    status, _, complained = await stage.attempt("worker")
    assert status != 0
    assert "shadow-config" in complained
    assert "shadow-differences" in complained
    assert "eddy topics apply" in complained
