"""Writing begins when brokers let it, however often they did not before, and for all who write at once."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from aiokafka.errors import KafkaConnectionError

from streams.core.domain.record import Outgoing
from streams.core.errors import InfrastructureError
from streams.kafka import client
from streams.kafka.client import Brokers
from streams.kafka.connection import Connection

RECORD = (0, Outgoing(b"s-17", b"{}", 1))


class Producer:
    """A producer that starts as long as brokers are there, and sends only once it has started."""

    are_there = True
    stopped = 0

    def __init__(self, **_):
        self._started = False

    async def start(self):
        await asyncio.sleep(0)
        if not self.are_there:
            raise KafkaConnectionError("nobody answers")
        self._started = True

    async def stop(self):
        type(self).stopped += 1

    async def send(self, topic, **_):
        assert self._started, "it would never be sent"
        sent = asyncio.get_running_loop().create_future()
        sent.set_result(SimpleNamespace(partition=0, offset=7))
        return sent


@pytest.fixture
def brokers(monkeypatch):
    monkeypatch.setattr(client, "AIOKafkaProducer", Producer)
    monkeypatch.setattr(client, "Redating", lambda _: None)
    monkeypatch.setattr(Producer, "stopped", 0)
    return Brokers(Connection("127.0.0.1:9"), None)


async def test_brokers_that_are_away_at_the_first_record_are_asked_again_at_the_next(brokers, monkeypatch):
    monkeypatch.setattr(Producer, "are_there", False)
    with pytest.raises(InfrastructureError):
        await brokers.write("session-commands", [RECORD])
    assert Producer.stopped == 1
    monkeypatch.setattr(Producer, "are_there", True)
    assert await brokers.write("session-commands", [RECORD]) == [(0, 7)]


async def test_two_who_write_first_at_once_wait_for_the_same_start(brokers):
    writing = [brokers.write("session-commands", [RECORD]) for _ in range(2)]
    assert await asyncio.gather(*writing) == [[(0, 7)], [(0, 7)]]
