"""A broker that answers when the test says so, for a producer that was never connected."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, NoError
from aiokafka.protocol.produce import ProduceRequest

TOPIC = "t"
_NODE = 1
_PARTITIONS = {0, 1, 2}
_PRODUCE_VERSION = 8
_WITHIN_S = 60.0


class Asked:
    """A request that waits for its answer."""

    def __init__(self, request: Any) -> None:
        self.request = request
        self.name = type(request).__name__.removesuffix("Request")
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    @property
    def partitions(self) -> list[int]:
        """The partitions of the topic that a ProduceRequest has batches for."""
        return sorted(partition for _, batches in self.request._topics for partition, *_ in batches)

    def give(self, error: type[KafkaError] = NoError) -> None:
        """Answer; the same for every partition."""
        code = error.errno
        if isinstance(self.request, ProduceRequest):
            answers = [(partition, code, 0, -1, 0, [], None) for partition in self.partitions]
            found = SimpleNamespace(API_VERSION=_PRODUCE_VERSION, topics=[(TOPIC, answers)])
        else:
            topics = getattr(self.request, "_topics", [])
            codes = [
                (topic, [(_number(partition), code) for partition in partitions])
                for topic, partitions in topics
            ]
            found = SimpleNamespace(error_code=code, errors=codes)
        self.answer.set_result(found)


class AnsweringBroker:
    """Takes requests from ``producer``, which is to be used under `serving`."""

    def __init__(self, producer: AIOKafkaProducer) -> None:
        self._producer = producer
        self._asked: asyncio.Queue[Asked] = asyncio.Queue()
        self._all: list[Asked] = []
        producer.client.send = self._send
        producer.client.ready = self._ready
        producer.client.coordinator_lookup = self._look_up
        producer.client.cluster.leader_for_partition = lambda _: _NODE
        producer.client.cluster.partitions_for_topic = lambda _: _PARTITIONS

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["AnsweringBroker"]:
        """Let the producer send."""
        self._producer._txn_manager.set_pid_and_epoch(7, 0)
        await self._producer._sender.start()
        try:
            yield self
        finally:
            self._producer._closed = True  # it is connected to nothing that could be closed
            sending = self._producer._sender.sender_task
            sending.cancel()
            for asked in self._all:
                asked.answer.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def next(self) -> Asked:
        """Return the next request, whether those before were answered or not."""
        async with asyncio.timeout(_WITHIN_S):
            return await self._asked.get()

    async def _send(self, node_id: int, request: Any, **_: Any) -> Any:
        assert node_id == _NODE
        asked = Asked(request)
        self._all.append(asked)
        self._asked.put_nowait(asked)
        return await asked.answer

    async def _ready(self, node_id: int, **_: Any) -> bool:
        return node_id == _NODE

    async def _look_up(self, *_: Any) -> int:
        return _NODE


def _number(partition: Any) -> int:
    return int(partition[0] if isinstance(partition, tuple) else partition)
