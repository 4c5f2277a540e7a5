"""The same input and the same settings give the same bytes, however often and in whatever portions."""

import itertools

import pytest

from streams.domain.topic import Topic
from tests.integration.load import load
from tests.integration.stage import Stage

pytestmark = pytest.mark.integration


async def test_another_application_with_other_runs_writes_the_same_bytes(stage: Stage) -> None:
    await stage.publish_settings(entropy_window_size=6)
    await stage.send(itertools.islice(load(stage.partitions), 1500))
    other = f"{stage.application_id}-again"
    await stage.create_topics(other)
    stage.worker(run_max_records=500)
    stage.worker(run_max_records=7, application_id=other)
    await stage.processed()
    await stage.processed(other)
    for application_id in (stage.application_id, other):
        verdict = await stage.verdict(application_id)
        twice = [topic for topic in verdict.outputs if topic != Topic.DEAD_LETTERS]
        assert {topic: verdict.repeated[topic] for topic in twice} == {
            topic: verdict.outputs[topic] for topic in twice
        }
