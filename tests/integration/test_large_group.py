"""What Apache Kafka does with a group whose members send more than it keeps, and what helps."""

import contextlib
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata
from aiokafka.errors import KafkaError

from tests.integration.apache_kafka import ApacheKafka

pytestmark = [pytest.mark.integration, pytest.mark.kafka_only("groups")]

#: More than half of what a record of `__consumer_offsets` may have with the broker's defaults.
SENT = b"x" * 600_000


class Talkative(AbstractPartitionAssignor):  # type: ignore[misc]
    """Sends much, as hundreds of workers would together."""

    name = "talkative"
    version = 0

    def metadata(self, topics: set[str]) -> ConsumerProtocolMemberMetadata:
        return ConsumerProtocolMemberMetadata(0, list(topics), SENT)

    def assign(self, _cluster: object, members: dict[str, object]) -> dict[str, object]:
        return {
            name: ConsumerProtocolMemberAssignment(0, [("t", [number])], b"")
            for number, name in enumerate(sorted(members))
        }

    def on_assignment(self, assignment: object) -> None:
        pass


async def test_a_group_that_sends_more_than_a_record_holds_is_refused_until_the_limit_is_raised(
    tmp_path: Path,
) -> None:
    with ApacheKafka(tmp_path, properties={"message.max.bytes": "1048588"}) as broker:
        admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
        await admin.start()
        try:
            await admin.create_topics([NewTopic("t", 2, 1)])
            assert not await two_get_together(broker)
            raised = {"max.message.bytes": str(8 << 20)}
            await admin.alter_configs(
                [ConfigResource(ConfigResourceType.TOPIC, "__consumer_offsets", raised)]
            )
            assert await two_get_together(broker)
        finally:
            await admin.close()


async def two_get_together(broker: ApacheKafka) -> bool:
    """Tell whether a second member gets its share, where the first one has got its own."""
    async with contextlib.AsyncExitStack() as joined:
        first, second = (
            AIOKafkaConsumer(
                "t",
                bootstrap_servers=broker.bootstrap,
                group_id="group",
                partition_assignment_strategy=[Talkative()],
            )
            for _ in range(2)
        )
        for consumer in (first, second):
            joined.push_async_callback(consumer.stop)
        await first.start()
        try:
            await second.start()
        except KafkaError:
            return False
        return len(second.assignment()) == 1
