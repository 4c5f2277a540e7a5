"""A worker starts on the changelog that an earlier version left, and goes on from it."""

from pathlib import Path

import pytest

from schemas.codec import OutputFormat
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from streams.worker.options import changelog_topic
from tests.earlier_state import CUT, RECORDED, changelog, fold, restored
from tests.integration.brokers import Broker
from tests.integration.reference_fold import value_of
from tests.integration.stage import Stage, prepared

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        "config.getoption('--broker') == 'kafka'",
        reason="the recorded messages are older than the retention that Apache Kafka keeps to",
    ),
]


async def test_a_worker_goes_on_from_an_earlier_changelog(stage_broker: Broker, tmp_path: Path) -> None:
    stage = Stage(stage_broker, tmp_path, application_id="eddy", partitions=1)
    async with prepared(stage):
        now = RECORDED[CUT].timestamp
        async with connect(Connection(stage_broker.bootstrap)) as brokers:
            await brokers.write(
                changelog_topic(stage.application_id),
                [(0, Outgoing(entry.key, entry.value, now)) for entry in changelog()],
            )
        await stage.send((0, Outgoing(each.key, each.value, each.timestamp)) for each in RECORDED)

        worker = await stage.worker(output_format=OutputFormat.JSON).ready()
        assert await worker.metric("eddy_restored_records_total") == len(changelog())
        await stage.processed()
        worker.terminate()
        assert await worker.ended() == 0, worker.tail()

        # The group had committed nothing, so the worker saw every record: those before the cut it knew.
        enriched = [value_of(stored) for stored in await stage.read(Topic.ENRICHED)]
        assert enriched == list(fold(restored(), RECORDED[CUT:]).values())
        assert {record["eddy"]["settings_version"] for record in enriched} == {1}
        assert len(await stage.read(Topic.SESSION_ALERTS)) > 0
