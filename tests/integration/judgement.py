"""Whether what came out of a stage is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from schemas.codec import Codec
from streams.core.domain.topic import AGGREGATES as AGGREGATE_TOPICS
from streams.core.domain.topic import Topic
from streams.kafka.client import Stored, connect
from streams.kafka.connection import Connection
from streams.operate.explain.settings_topic import records as settings_records
from streams.worker.aggregation import Aggregation
from streams.worker.batch import Job
from streams.worker.options import AGGREGATES, changelog_topic, repartition_topic
from tests.integration.reference_aggregates import is_across_sessions, judge_aggregates
from tests.integration.reference_fold import (
    OUTPUT_TOPICS,
    Expected,
    Verdict,
    fold,
    judge,
    published_settings,
    published_shadows,
    settings_history,
    shadow_history,
    value_of,
)
from tests.integration.removals import Lives, Removals, told_ends

if TYPE_CHECKING:
    from tests.integration.stage import Stage

#: Where housekeeping tells the ends of sessions.
_ENDS = (Topic.SESSION_ALERTS, Topic.TOPOLOGY)


async def judge_stage(stage: Stage, group: str, codec: Codec, lives: Lives | None = None) -> Verdict:
    """Compare all that came out with the reference fold of all that went in.

    Args:
        stage: With everything processed.
        group: The group of the workers.
        codec: Theirs.
        lives: How long sessions lived, where the clock may have removed some.
    """
    async with connect(Connection(stage.broker.bootstrap)) as brokers:
        published = published_settings(await settings_records(brokers))
    inputs = await stage.read(Topic.DECISION_LOGS)
    assert len(inputs) + stage.gaps == sum(stage.sent.values()), "the input topic does not hold what was sent"
    changelog = await stage.read(changelog_topic(group))
    history = settings_history(changelog)
    for entries in history.values():
        for entry in entries:
            assert entry.settings == published[entry.settings.version]
    tried = shadow_history(changelog)
    documents = published_shadows(await stage.read(Topic.SHADOW_CONFIG))
    for trials in tried.values():
        for trial in trials:
            assert trial.document == documents[trial.document.position]
    outputs: dict[str, list[Stored]] = {topic: await stage.read(topic) for topic in OUTPUT_TOPICS}
    # Dead letters and alerts name the group that wrote them, so those of another group are not this one's.
    outputs[Topic.DEAD_LETTERS] = [
        stored
        for stored in outputs[Topic.DEAD_LETTERS]
        if dict(stored.headers)["x-dlq-consumer-group"] == group.encode()
    ]
    outputs[Topic.SESSION_ALERTS] = [
        stored
        for stored in outputs[Topic.SESSION_ALERTS]
        if (dict(stored.headers)["ce_source"] or b"").startswith(f"/eddy/{group}/".encode())
    ]
    across = [stored for stored in outputs[Topic.SESSION_ALERTS] if is_across_sessions(stored)]
    outputs[Topic.SESSION_ALERTS] = [
        stored for stored in outputs[Topic.SESSION_ALERTS] if not is_across_sessions(stored)
    ]
    removals = None if lives is None else _removals(lives, changelog, outputs)
    job = Job(codec, group=group, version=version("eddy-streams"))
    expected = fold(job, inputs, history, tried, removals)
    verdict = judge(expected, outputs, changelog)
    if removals is not None:
        verdict.add(removals)
    await judge_aggregates_of(stage, group, codec, expected, verdict, across)
    return verdict


async def judge_aggregates_of(
    stage: Stage,
    group: str,
    codec: Codec,
    expected: Expected,
    verdict: Verdict,
    across: Sequence[Stored] = (),
) -> None:
    """Compare the aggregates of a group with those of all that was expected of it, in the same verdict.

    Args:
        stage: With everything processed.
        group: The group of the workers.
        codec: Theirs.
        expected: What the records must have led to.
        verdict: Added to.
        across: The alerts of the group for which `is_across_sessions` holds.
    """
    repartition = repartition_topic(group)
    counts = await stage.partition_counts([repartition, *AGGREGATE_TOPICS])
    judge_aggregates(
        verdict,
        expected,
        Aggregation(codec, group=group),
        repartition=await stage.read(repartition),
        changelog=await stage.read(changelog_topic(group, AGGREGATES)),
        # In the end each of several groups has published the same.
        published={topic: await stage.read(topic) for topic in AGGREGATE_TOPICS},
        alerts=across,
        partitions={**counts, Topic.REPARTITION: counts[repartition]},
    )


def _removals(lives: Lives, changelog: Sequence[Stored], outputs: Mapping[str, Sequence[Stored]]) -> Removals:
    told = (stored for topic in _ENDS for stored in outputs[topic])
    events = (value_of(stored) for stored in told if stored.value is not None)
    return Removals(lives, changelog, told_ends(events))
