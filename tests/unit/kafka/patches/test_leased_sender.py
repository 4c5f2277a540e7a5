"""Nothing leaves a producer whose lease is over, and what was given up never does."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import KafkaConnectionError
from aiokafka.protocol.metadata import MetadataRequest

from streams.core.domain.record import Row
from streams.core.errors import ProducerFencedError
from streams.kafka.patches.leased_sender import LeasedSender
from streams.kafka.patches.producing import allow_several_in_flight
from streams.kafka.patches.redating import Redating
from streams.worker.delivery.lease import WorkerLease
from streams.worker.delivery.producer import publish
from tests.unit.kafka.answering_broker import TOPIC, AnsweringBroker

ROWS: list[Row] = [(b"k", b"v", 1_000, [])]
SESSION_S = 10.0
_WITHIN_S = 30.0


class World:
    """A producer under a lease with a clock of the test's, and the broker it has."""

    def __init__(self) -> None:
        self.at = 0.0
        self.lease = WorkerLease(SESSION_S, SESSION_S, lambda: self.at)
        self.lease.heard(self.at)
        self.producer = AIOKafkaProducer(enable_idempotence=True, retry_backoff_ms=1)
        allow_several_in_flight(self.producer)
        self.broker = AnsweringBroker(self.producer)
        self.producer.client._maybe_wait_metadata = _nothing  # no broker would give any
        self.producer.client.get_random_node = lambda: 1
        self.sender = LeasedSender(self.producer, Redating(self.producer), self.lease)

    @property
    def ids(self) -> Any:
        return self.producer._txn_manager

    @property
    def pending(self) -> set[Any]:
        """The batches that have left the queue and are not settled."""
        return self.producer._message_accumulator._pending_batches

    def renew(self) -> None:
        self.lease.heard(self.at)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for it: a batch that failed rests for a moment before it is put back."""
        async with asyncio.timeout(_WITHIN_S):
            while True:
                if condition():
                    return
                await asyncio.sleep(0.001)

    async def turns(self) -> None:
        """Let all happen that can."""
        for _ in range(20):
            await asyncio.sleep(0)

    async def another_id(self) -> None:
        """Let the producer have the id it asks for."""
        asked = await self.broker.next()
        assert asked.name == "InitProducerId"
        asked.answer.set_result(SimpleNamespace(error_code=0, producer_id=8, producer_epoch=0))
        await self.turns()

    async def silent(self) -> bool:
        """Return whether every request that has come was checked."""
        await self.turns()
        return self.broker._asked.empty()


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    async with world.broker.serving():
        yield world
        # What a failed test leaves behind waits for its lease, and nobody would end it.
        world.at += 10 * SESSION_S
        world.lease.give_up()


async def test_while_the_lease_is_held_batches_are_sent_as_ever(world: World) -> None:
    sent = await publish(world.producer, TOPIC, 0, ROWS)
    (await world.broker.next()).give()
    assert await sent.acknowledged() == 0
    assert world.producer._sender._in_flight._requests[1] == 0
    assert not world.producer._sender._muted_partitions


async def test_nothing_new_is_sent_when_it_is_over_and_all_of_it_when_it_is_renewed(world: World) -> None:
    world.at = SESSION_S
    sent = [await publish(world.producer, TOPIC, partition, ROWS) for partition in (0, 1)]
    assert await world.silent()
    world.renew()
    asked = await world.broker.next()
    assert asked.partitions == [0, 1]
    asked.give()
    assert [await batches.acknowledged() for batches in sent] == [0, 0]


async def test_nothing_is_sent_again_when_it_is_over_and_the_same_when_it_is_renewed(world: World) -> None:
    sent = await publish(world.producer, TOPIC, 0, ROWS)
    first = await world.broker.next()
    world.at = SESSION_S
    first.answer.set_exception(KafkaConnectionError())  # as when the connection was reset
    await world.until(lambda: max((batch.retry_count for batch in world.pending), default=0) > 1)
    assert await world.silent()
    world.renew()
    again = await world.broker.next()
    # With the sequence numbers it had: the broker knows it if it was written.
    assert again.request._topics == first.request._topics
    again.give()
    await sent.acknowledged()


async def test_a_batch_whose_term_ends_while_it_waits_for_its_place_is_never_queued(world: World) -> None:
    batches = world.producer._message_accumulator._batches
    world.producer._sender._muted_partitions.add(TopicPartition(TOPIC, 0))  # nothing leaves the queue
    first = world.producer.create_batch()
    first.append(key=b"k", value=b"v", timestamp=1_000)
    first.close()
    await world.producer.send_batch(first, TOPIC, partition=0)
    (waiting,) = [batch for of_partition in batches.values() for batch in of_partition]
    late = asyncio.create_task(publish(world.producer, TOPIC, 0, ROWS))
    await world.turns()
    # Its place is free, and before it takes it the lease ends.
    waiting.drain_ready()
    batches.clear()
    world.lease.lost()
    world.lease.give_up()
    with pytest.raises(ProducerFencedError):
        await late
    assert not any(batches.values())
    assert await world.silent()


async def test_it_is_looked_at_again_when_it_took_long_to_connect(world: World) -> None:
    connecting, connected = asyncio.Event(), asyncio.Event()

    async def ready(*_: Any, **__: Any) -> bool:
        connecting.set()
        await connected.wait()
        return True

    world.producer.client.ready = ready
    sent = await publish(world.producer, TOPIC, 0, ROWS)
    await connecting.wait()
    world.at = SESSION_S
    connected.set()
    assert await world.silent()
    world.renew()
    (await world.broker.next()).give()
    await sent.acknowledged()


async def test_what_was_given_up_is_never_sent_wherever_it_was(world: World) -> None:
    on_its_way = await publish(world.producer, TOPIC, 0, ROWS)
    asked = await world.broker.next()
    behind = await publish(world.producer, TOPIC, 0, ROWS)
    failed = await publish(world.producer, TOPIC, 1, ROWS)
    refused = await world.broker.next()
    world.at = SESSION_S  # before it fails, or it would be sent again if a millisecond passes
    refused.answer.set_exception(KafkaConnectionError())
    await world.turns()
    held_back = await publish(world.producer, TOPIC, 2, ROWS)
    await world.turns()

    world.lease.lost()
    await world.turns()
    for sent in (on_its_way, behind, failed, held_back):
        with pytest.raises(ProducerFencedError):
            await sent.acknowledged()
    await world.producer.flush()
    asked.answer.set_exception(KafkaConnectionError())
    await world.until(lambda: not world.producer._sender._muted_partitions)

    world.renew()
    await world.another_id()
    assert await world.silent()
    assert not world.producer._message_accumulator._batches
    assert not world.producer._message_accumulator._pending_batches
    assert not world.producer._sender._muted_partitions


async def test_what_comes_after_has_another_producer_id_and_begins_at_the_first_sequence_number(
    world: World,
) -> None:
    lost = await publish(world.producer, TOPIC, 0, ROWS)
    asked = await world.broker.next()
    world.lease.lost()
    await world.turns()
    with pytest.raises(ProducerFencedError):
        await lost.acknowledged()
    assert not world.ids.has_pid()
    asked.answer.set_exception(KafkaConnectionError())
    world.renew()
    sent = await publish(world.producer, TOPIC, 0, ROWS)
    await world.another_id()
    produce = await world.broker.next()
    [(_, [(_, batch)])] = produce.request._topics
    # In the record format 2: the producer's id, its epoch and the first sequence number.
    assert struct.unpack_from(">qhi", bytes(batch), 43) == (8, 0, 0)
    produce.give()
    await sent.acknowledged()


async def test_an_end_with_nothing_on_its_way_changes_nothing(world: World) -> None:
    world.lease.lost()
    await world.turns()
    assert world.ids.has_pid()


async def test_what_was_given_up_is_given_up_once(world: World, caplog: pytest.LogCaptureFixture) -> None:
    await publish(world.producer, TOPIC, 0, ROWS)
    await world.broker.next()
    world.lease.lost()
    world.lease.lost()
    await world.turns()
    assert len([line for line in caplog.messages if "Batches given up: 1" in line]) == 1


async def test_who_waits_for_its_turn_is_told_too(world: World) -> None:
    await publish(world.producer, TOPIC, 0, ROWS)
    await world.broker.next()
    await publish(world.producer, TOPIC, 0, [(b"k", b"v" * 2_000, 1_000, [])])
    waiting = asyncio.create_task(publish(world.producer, TOPIC, 0, [(b"k", b"v" * 20_000, 1_000, [])]))
    await world.turns()
    assert not waiting.done()
    world.lease.lost()
    with pytest.raises(ProducerFencedError):
        await waiting


class Swallowing:
    """A server that accepts, reads what the test lets it, and answers nothing."""

    def __init__(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)

    @property
    def port(self) -> int:
        port: int = self.listening.getsockname()[1]
        return port


async def connection(port: int) -> AIOKafkaConnection:
    """Return a connection over which nothing was asked."""
    made = AIOKafkaConnection("127.0.0.1", port)
    made._do_version_lookup = _nothing
    await made.connect()
    return made


async def _nothing() -> None:
    """Ask nothing."""


async def test_what_the_kernel_could_not_send_is_dropped_with_the_connection(world: World) -> None:
    server = Swallowing()
    made = await connection(server.port)
    world.sender._connect = lambda *_, **__: _just(made)
    world.producer.client._conns[1, None] = made
    await world.producer.client._get_conn(1)
    there, _ = server.listening.accept()
    # More than both kernels hold: some of it is in the send queue and in the transport's own buffer.
    made._writer.write(b"x" * 50_000_000)
    made._requests.append((0, MetadataRequest([]), answer := asyncio.get_running_loop().create_future()))
    world.at = SESSION_S
    world.sender.take_back()
    with pytest.raises(KafkaConnectionError):
        await answer
    assert not made.connected()
    await world.turns()
    received = 0
    with there, server.listening:
        there.settimeout(30)
        try:
            while data := there.recv(1 << 20):
                received += len(data)
        except ConnectionResetError:
            received = min(received, 50_000_000 - 1)
        else:
            raise AssertionError("the connection came to an orderly end")


async def test_a_connection_without_a_question_is_kept(world: World) -> None:
    server = Swallowing()
    made = await connection(server.port)
    world.producer.client._conns[1, None] = made
    world.sender.take_back()
    assert made.connected()
    made.close()
    server.listening.close()
    await made._closed_fut


async def _just(made: AIOKafkaConnection) -> AIOKafkaConnection:
    return made
