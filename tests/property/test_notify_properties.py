"""Laws of the notifier's plan, for any course of episodes, answers, crashes and clocks."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.alerts.episodes import Episodes
from streams.alerts.outbox import Outbox
from streams.alerts.pending_delivery import PartlyDelivered
from streams.alerts.sinks.request import Delivered, Outcome, SinkRefused, TryAgain
from streams.alerts.sinks.sink import Alert, Chat, Delivery, DeliveryStep, Sink, Traits
from tests.unit.alerts.receivers import ChatReceiver, Receiver
from tests.unit.alerts.sinks.alerts import NOW_MS, alert

SESSIONS = [f"s-{number}" for number in range(4)]
LIMITED = Traits(per_second=1.0, burst=2)
SINKS = {
    "pager": Receiver(LIMITED),
    "pager without updates": Receiver(LIMITED, wants_updates=False),
    "chat": ChatReceiver(LIMITED),
    "told again and again": Receiver(Traits(per_second=5.0, burst=5, refresh_s=60.0, resolves=3)),
}


@st.composite
def topics(draw: st.DrawFn) -> list[Alert]:
    """Return what workers may write: episodes of some sessions, interleaved, parts of it twice in a row."""
    written: list[Alert] = []
    is_open: dict[str, int] = {}
    episodes: dict[str, int] = defaultdict(int)
    for source in range(draw(st.integers(1, 30))):
        session = draw(st.sampled_from(SESSIONS))
        if session not in is_open:
            episodes[session] += not (episodes[session] and draw(st.booleans()))  # else it is back
            is_open[session] = episodes[session]
            phase, level = "opened", draw(st.sampled_from(["LOOP", "WARNING"]))
        else:
            phase, level = draw(st.sampled_from(["still_open", "escalated", "recovered"])), "LOOP"
        key = f"{session}-{is_open[session]}"
        written.append(alert(phase, source, session, level=level, episode_id=key))
        if phase == "recovered":
            del is_open[session]
    if written and draw(st.booleans()):
        start = draw(st.integers(0, len(written) - 1))
        written += written[start:]  # a worker was killed before it had committed
    return [Alert.of(each.fields, 0, offset) for offset, each in enumerate(written)]


class Received(NamedTuple):
    """What arrived: when, and what it said."""

    at: float
    delivery: Delivery
    is_repeat: bool


class World:
    """A notifier with one sink: a topic, a receiver that often fails, and crashes."""

    def __init__(self, sink: Sink, topic: list[Alert], seed: int, trouble: float, dead: float) -> None:
        self.sink, self.topic = sink, topic
        self.random = random.Random(seed)
        self.trouble, self.dead = trouble, dead
        self.now = 0.0
        self.committed = 0
        self.beyond: PartlyDelivered | None = None
        #: Ids of what was delivered, and is known to have been.
        self.known: set[str] = set()
        self.received: list[Received] = []
        self.sent: list[float] = []
        self.buried: list[Delivery] = []

    def run(self, stops: list[int]) -> None:
        """Live until everything is settled, and crash when so many requests were sent."""
        for stop in [*stops, None]:
            self._live(stop)

    def _live(self, until_sent: int | None) -> None:
        episodes = Episodes()
        for each in self.topic[: self.committed]:
            episodes.take(each, NOW_MS)
        outbox = Outbox(self.sink, self.now)
        outbox.start(0, self.committed, episodes.open(), self.now, self.beyond)
        outbox.read_to(0, self.committed)
        delivered: set[str] = set()
        left = iter(self.topic[self.committed :])
        count = 0
        while True:
            self._read(outbox, episodes, left)
            found = outbox.next(self.now, self.random.randint(1, 4))
            assert len({each.session_id for each in found}) == len(found)
            for waiting in self.random.sample(found, len(found)):
                count += 1
                self.sent.append(self.now)
                ids = set() if waiting.repeats is not None else {each.id for each in waiting.deliveries}
                assert not ids & self.known
                outcome = self._answer(waiting.repeats is not None)
                if isinstance(outcome, Delivered):
                    self._arrived(waiting.deliveries, is_repeat=waiting.repeats is not None)
                if count == until_sent:
                    return  # it has arrived, and nobody knows
                delivered |= ids if isinstance(outcome, Delivered) else set()
                letters = outbox.settle(waiting, outcome, self.now, self.random.random())
                if letters:
                    self.buried += [letter.delivery for letter in letters]
                    outbox.finish(waiting, self.now)
            assert outbox.mark(0) >= self.committed
            self.committed, self.beyond = outbox.mark(0), outbox.beyond(0)
            self.known |= delivered
            if self.committed == len(self.topic) and not outbox.waiting:
                return
            if not found:
                wake_at = outbox.wake_at(self.now)
                self.now = max(self.now + 0.01, self.now + 1 if wake_at is None else wake_at)

    def _read(self, outbox: Outbox, episodes: Episodes, left: Iterator[Alert]) -> None:
        for _ in range(self.random.randint(0, 5)):
            if (each := next(left, None)) is None:
                return
            delivery = episodes.take(each, NOW_MS)
            if delivery is not None:
                outbox.add(delivery, self.now)
            outbox.read_to(0, each.offset + 1)

    def _answer(self, is_repeat: bool) -> Outcome:
        if self.random.random() < self.trouble:
            after = self.random.choice([None, None, 3.0])
            return TryAgain("HTTP 503", after)
        if not is_repeat and self.random.random() < self.dead:
            return SinkRefused("HTTP 400", 400, b"")
        return Delivered()

    def _arrived(self, deliveries: tuple[Delivery, ...], *, is_repeat: bool) -> None:
        self.received += [Received(self.now, each, is_repeat) for each in deliveries]


worlds = {
    "topic": topics(),
    "seed": st.integers(0, 2**32),
    "trouble": st.sampled_from([0.0, 0.3, 0.7]),
    "stops": st.lists(st.integers(1, 12), max_size=3),
}
each_sink = pytest.mark.parametrize("name", SINKS)


def ended(topic: list[Alert]) -> set[str]:
    return {each.id for each in topic if each.phase == "recovered"}


def begun(topic: list[Alert]) -> set[str]:
    return {each.id for each in topic if each.phase in {"opened", "escalated"}}


@each_sink
@given(**worlds)
def test_no_end_is_lost_whatever_fails_and_whenever_it_is_killed(
    name: str, topic: list[Alert], seed: int, trouble: float, stops: list[int]
) -> None:
    world = World(SINKS[name], topic, seed, trouble, dead=0.0)
    world.run(stops)
    arrived = {each.delivery.id for each in world.received}
    assert ended(topic) <= arrived
    if not isinstance(SINKS[name], Chat):
        assert begun(topic) <= arrived
    assert arrived <= {each.id for each in topic}


@each_sink
@given(**worlds)
def test_what_is_not_delivered_is_a_dead_letter(
    name: str, topic: list[Alert], seed: int, trouble: float, stops: list[int]
) -> None:
    world = World(SINKS[name], topic, seed, trouble, dead=0.3)
    world.run(stops)
    settled = {each.delivery.id for each in world.received} | {each.id for each in world.buried}
    assert ended(topic) <= settled


@each_sink
@given(**worlds)
def test_a_session_is_told_in_the_order_of_its_alerts(
    name: str, topic: list[Alert], seed: int, trouble: float, stops: list[int]
) -> None:
    """Between two crashes: after one, what was on the way comes again."""
    del stops
    world = World(SINKS[name], topic, seed, trouble, dead=0.1)
    world.run([])
    newest: dict[str, int] = {}
    for each in world.received:
        told = each.delivery.alert
        before = newest.get(told.key, -1)
        assert told.offset >= before if each.is_repeat else told.offset > before
        newest[told.key] = told.offset


@each_sink
@given(**worlds)
def test_the_last_word_on_an_episode_is_that_of_the_topic(
    name: str, topic: list[Alert], seed: int, trouble: float, stops: list[int]
) -> None:
    world = World(SINKS[name], topic, seed, trouble, dead=0.0)
    world.run(stops)
    last_written = {each.key: each for each in topic[: _first_repeat(topic)]}
    last_told = {each.delivery.alert.key: each.delivery for each in world.received}
    for key, written in last_written.items():
        is_over = written.phase == "recovered"
        assert (last_told[key].step is DeliveryStep.RESOLVE) is is_over


@each_sink
@given(**worlds)
def test_no_receiver_gets_more_than_its_rate(
    name: str, topic: list[Alert], seed: int, trouble: float, stops: list[int]
) -> None:
    del stops
    traits = SINKS[name].traits
    world = World(SINKS[name], topic, seed, trouble, dead=0.1)
    world.run([])
    for first, began in enumerate(world.sent):
        for count, at in enumerate(world.sent[first:], 1):
            assert count <= traits.burst + traits.per_second * (at - began) + 1e-6


@each_sink
@given(topic=topics(), seed=st.integers(0, 2**32), start=st.integers(0, 40))
def test_what_was_there_before_the_start_is_never_told(
    name: str, topic: list[Alert], seed: int, start: int
) -> None:
    """`--from latest`: nobody is told of an alert before the end that the topic had."""
    world = World(SINKS[name], topic, seed, trouble=0.3, dead=0.0)
    world.committed = start = min(start, len(topic))
    world.run([])
    told = {each.delivery.alert.offset for each in world.received if not each.is_repeat}
    assert all(offset >= start for offset in told)


@given(topic=topics(), cut=st.integers(0, 60))
def test_episodes_do_not_depend_on_where_the_reading_was_cut(topic: list[Alert], cut: int) -> None:
    whole, parts = Episodes(), Episodes()
    told = [whole.take(each, NOW_MS) for each in topic]
    before = [parts.take(each, NOW_MS) for each in topic[:cut]]
    assert before + [parts.take(each, NOW_MS) for each in topic[cut:]] == told
    again = Episodes()
    for each in topic:
        again.take(each, NOW_MS)
    assert list(again.open()) == list(whole.open())


def _first_repeat(topic: list[Alert]) -> int:
    seen: set[str] = set()
    for number, each in enumerate(topic):
        if each.id in seen:
            return number
        seen.add(each.id)
    return len(topic)
