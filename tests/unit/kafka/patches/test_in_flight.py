"""Several requests on their way to a broker, one batch of a topic partition."""

from aiokafka import AIOKafkaProducer

from streams.core.domain.outgoing import Row
from streams.kafka.patches.in_flight import InFlight, allow_several_in_flight
from streams.worker.delivery.producer import publish
from tests.unit.kafka.answering_broker import TOPIC, AnsweringBroker

ROWS: list[Row] = [(b"k", b"v", 1_000, [])]


def test_a_broker_is_busy_with_as_many_requests_as_it_may_have_at_once() -> None:
    in_flight = InFlight(2)
    for node_id, busy in ((1, False), (1, True), (2, False)):
        in_flight.add(node_id)
        assert (node_id in in_flight) is busy
    in_flight.remove(1)
    assert 1 not in in_flight


async def test_a_request_waits_for_no_other_but_that_of_its_own_partition() -> None:
    producer = AIOKafkaProducer(enable_idempotence=True)
    allow_several_in_flight(producer)
    async with AnsweringBroker(producer).serving() as broker:
        await publish(producer, TOPIC, 0, ROWS)
        first = await broker.next()
        behind = await publish(producer, TOPIC, 0, ROWS)
        beside = await publish(producer, TOPIC, 1, ROWS)
        second = await broker.next()
        assert (first.partitions, second.partitions) == ([0], [1])
        second.give()
        await beside.acknowledged()
        first.give()
        third = await broker.next()
        assert third.partitions == [0]
        third.give()
        await behind.acknowledged()
