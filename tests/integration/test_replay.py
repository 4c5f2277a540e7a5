"""The same input and the same settings give the same bytes, however often and in whatever portions."""

import itertools
from collections import Counter
from collections.abc import Iterable

import pytest

from streams.core.domain.topic import Topic
from streams.kafka.client import Stored
from tests.integration.load import load
from tests.integration.reference_aggregates import is_across_sessions
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
        # Dead letters and alerts name the group that wrote them, so each application has its own.
        twice = verdict.outputs.keys() - {Topic.DEAD_LETTERS, Topic.SESSION_ALERTS}
        assert {topic: verdict.repeated[topic] for topic in twice} == {
            topic: verdict.outputs[topic] for topic in twice
        }
    # With which record an alert across sessions is told depends on the order in which partitions are read.
    alerts = [each for each in await stage.read(Topic.SESSION_ALERTS) if not is_across_sessions(each)]
    assert _but_the_group(alerts, stage.application_id) == _but_the_group(alerts, other) != Counter()


def _but_the_group(alerts: Iterable[Stored], group: str) -> Counter[object]:
    """Return the alerts of a group, without its name."""
    found: Counter[object] = Counter()
    for alert in alerts:
        headers = dict(alert.headers)
        source = (headers.pop("ce_source") or b"").split(b"/")
        if source[2] == group.encode():
            found[alert.key, alert.value, alert.timestamp, *headers.items(), *source[3:]] += 1
    return found
