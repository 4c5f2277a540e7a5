"""Following partitions: from the given offsets, past what cannot be read, through restarts of the brokers."""

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Callable, Coroutine

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.conn import AIOKafkaConnection

from streams.core.domain.record import Outgoing
from streams.kafka.client import Brokers, Stored, connect
from streams.kafka.connection import Connection
from streams.kafka.reading import Tail
from tests.integration.apache_kafka import ApacheKafka
from tests.integration.brokers import Broker, Linked
from tests.integration.worker_process import PATIENCE_SECONDS

pytestmark = pytest.mark.integration

PARTITIONS = 3
MOMENTS = 40


async def new_topic(bootstrap: str, name: str) -> str:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, PARTITIONS, 1)])
    finally:
        await admin.close()
    return name


@pytest.fixture
async def brokers(broker: Broker) -> AsyncIterator[Brokers]:
    async with connect(Connection(broker.bootstrap)) as connected:
        yield connected


async def put(brokers: Brokers, topic: str, first: int, count: int) -> None:
    numbered = range(first, first + count)
    await brokers.write(
        topic, [(number % PARTITIONS, Outgoing(b"k", b"%d" % number, 1_000 + number)) for number in numbered]
    )


async def read(tail: Tail, count: int) -> list[tuple[str, Stored]]:
    found: list[tuple[str, Stored]] = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(found) < count:
            found += await anext(tail)
    return found


def numbers(found: list[tuple[str, Stored]]) -> list[int]:
    return sorted(int(record.value or b"") for _, record in found)


async def test_a_tail_begins_where_it_is_told_and_goes_on_with_what_comes(
    brokers: Brokers, broker: Broker, unique: Callable[[str], str]
) -> None:
    one, two = [await new_topic(broker.bootstrap, unique(word)) for word in ("one", "two")]
    await put(brokers, one, 0, 9)
    tail = brokers.tail({(one, 0): 1, (one, 1): 3, (one, 2): 0, (two, 1): 0})
    try:
        assert numbers(await read(tail, 5)) == [2, 3, 5, 6, 8]
        await put(brokers, two, 100, 3)
        await put(brokers, one, 9, 3)
        found = await read(tail, 4)
        assert numbers(found) == [9, 10, 11, 100]
        assert {name for name, _ in found} == {one, two}
        assert tail.positions == {(one, 0): 4, (one, 1): 4, (one, 2): 4, (two, 1): 1}
        assert tail.ends == tail.positions
    finally:
        await tail.aclose()


async def test_a_tail_returns_no_more_at_once_than_it_may(
    brokers: Brokers, broker: Broker, unique: Callable[[str], str]
) -> None:
    topic = await new_topic(broker.bootstrap, unique("many"))
    await put(brokers, topic, 0, 300)
    tail = brokers.tail({(topic, partition): 0 for partition in range(PARTITIONS)}, max_records=7)
    found: list[tuple[str, Stored]] = []
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(found) < 300:
                batch = await anext(tail)
                assert len(batch) <= 7
                found += batch
    finally:
        await tail.aclose()
    assert numbers(found) == list(range(300))


async def test_a_tail_waits_for_brokers_that_are_away_and_repeats_nothing(
    link: Linked, unique: Callable[[str], str]
) -> None:
    async with connect(Connection(link.bootstrap)) as brokers:
        topic = await new_topic(link.bootstrap, unique("cut"))
        await put(brokers, topic, 0, 6)
        tail = brokers.tail({(topic, partition): 0 for partition in range(PARTITIONS)})
        try:
            assert numbers(await read(tail, 6)) == list(range(6))
            await link.link.cut()
            assert await anext(tail) == []
            link.link.heal()
            await put(brokers, topic, 6, 6)
            assert numbers(await read(tail, 6)) == list(range(6, 12))
        finally:
            await tail.aclose()


@pytest.mark.kafka_only("the embedded broker keeps nothing on disk")
async def test_a_tail_goes_on_after_its_broker_was_killed(
    own_broker: Broker, unique: Callable[[str], str]
) -> None:
    assert isinstance(own_broker, ApacheKafka)
    async with connect(Connection(own_broker.bootstrap)) as brokers:
        topic = await new_topic(own_broker.bootstrap, unique("killed"))
        await put(brokers, topic, 0, 6)
        tail = brokers.tail({(topic, partition): 0 for partition in range(PARTITIONS)})
        try:
            assert numbers(await read(tail, 6)) == list(range(6))
            own_broker.kill()
            own_broker.start()
            async with connect(Connection(own_broker.bootstrap)) as others:
                await put(others, topic, 6, 6)
            assert numbers(await read(tail, 6)) == list(range(6, 12))
        finally:
            await tail.aclose()


async def question(brokers: Brokers, topic: str) -> None:
    assert await brokers.ends(topic) == dict.fromkeys(range(PARTITIONS), 0)


async def start(broker: Broker) -> None:
    async with connect(Connection(broker.bootstrap)):
        pass


async def turns_of(coroutine: Coroutine[None, None, None], most: int | None = None) -> int:
    """Let a coroutine run for so many turns of the loop, then cancel it; return how many it took."""
    task = asyncio.create_task(coroutine)
    turns = 0
    while not task.done() and turns != most:
        await asyncio.sleep(0)
        turns += 1
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return turns


def connections() -> int:
    return sum(isinstance(each, AIOKafkaConnection) and each.connected() for each in gc.get_objects())


async def test_what_is_cancelled_at_any_moment_leaves_no_connection(
    brokers: Brokers, broker: Broker, unique: Callable[[str], str]
) -> None:
    topic = await new_topic(broker.bootstrap, unique("topic"))
    await question(brokers, topic)
    before = connections()
    for begin in (lambda: question(brokers, topic), lambda: start(broker)):
        whole = await turns_of(begin())
        for moment in range(MOMENTS):
            await turns_of(begin(), whole * moment // MOMENTS)
            assert connections() == before, f"{moment} of {MOMENTS}"
