"""A courier between its outbox and a receiver."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass

import pytest

from streams.alerts.episodes import Episodes
from streams.alerts.memory import ProgressTopics
from streams.alerts.sink_worker import Clocks, SinkWorker
from streams.alerts.sinks.request import Outcome, SinkAnswer, SinkRequest
from streams.alerts.sinks.sink import Delivery
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.kafka.stored import Stored
from tests.unit.alerts.receivers import Receiver
from tests.unit.alerts.sinks.alerts import NOW_MS, alert


class Brokers:
    """They keep what is written."""

    def __init__(self) -> None:
        self.written: list[tuple[str, Outgoing]] = []

    def topic(self, topic: Topic) -> str:
        return topic.value

    async def read(self, topic: str, partitions: Iterable[int] | None = None) -> AsyncIterator[Stored]:
        del topic, partitions
        for stored in ():
            yield stored

    async def write(
        self, topic: str, records: Iterable[tuple[int | None, Outgoing]]
    ) -> list[tuple[int, int]]:
        self.written += [(topic, record) for _, record in records]
        return []


class Wire:
    """It takes everything, and answers what it was sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.second_session = asyncio.Event()

    async def send(self, request: SinkRequest) -> SinkAnswer:
        self.sent.append(request.body)
        if request.body.startswith(b"s-2/"):
            self.second_session.set()
        return SinkAnswer(200, {}, request.body)


@dataclass(frozen=True, slots=True)
class Broken(Receiver):
    """It has a bug, for one session."""

    def requests(self, delivery: Delivery, handle: str | None, now_ms: int) -> Sequence[SinkRequest]:
        if delivery.alert.session_id == "s-1":
            raise KeyError("rule")
        return Receiver.requests(self, delivery, handle, now_ms)


@dataclass(frozen=True, slots=True)
class Puzzled(Receiver):
    """It does not understand an answer, for one session."""

    def judge(self, answer: SinkAnswer, now_s: float) -> Outcome:
        if answer.body.startswith(b"s-1/"):
            raise KeyError("rule")
        return Receiver.judge(self, answer, now_s)


@pytest.mark.parametrize("receiver", [Broken(), Puzzled()])
async def test_an_alert_that_a_sink_fails_on_is_a_dead_letter_and_the_others_arrive(
    receiver: Receiver,
) -> None:
    brokers, wire = Brokers(), Wire()
    courier = SinkWorker(
        receiver,
        wire,
        ProgressTopics(brokers, "eddy-notify"),
        Clocks(lambda: 0.0, lambda: NOW_MS / 1000, lambda: 0.5),
        lambda _sink, _seconds: None,
    )
    courier.outbox.start(0, 0, (), 0.0)
    episodes = Episodes()
    for each in (alert(), alert("opened", 7, session="s-2")):
        delivery = episodes.take(each, NOW_MS)
        assert delivery is not None
        courier.outbox.add(delivery, 0.0)
    running = asyncio.create_task(courier.run())
    await wire.second_session.wait()
    await courier.settled()
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    [(topic, letter)] = brokers.written
    assert topic == Topic.ALERT_DEAD_LETTERS
    assert dict(letter.headers)["x-dlq-reason"] == b"a bug of Eddy: KeyError('rule')"
    assert wire.sent[-1] == b"s-2/0/7/loop_episode/opened"
    assert courier.outbox.waiting == 0
