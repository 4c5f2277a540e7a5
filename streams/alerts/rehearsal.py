"""What would be sent, without sending it; and one delivery sent at once, to see what comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from schemas.codec import Decoder, UndecodableError
from streams.alerts.episodes import Episodes
from streams.alerts.settings import NotifySettings
from streams.alerts.sink_worker import Clocks
from streams.alerts.sinks.request import Delivered, SinkAnswer, SinkRequest, hidden
from streams.alerts.sinks.sink import Alert, Delivery, Sink
from streams.alerts.transport import Transport
from streams.control.command import MalformedError
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers
from streams.kafka.survey import ends
from streams.worker.endpoints import connection


async def rehearse(
    settings: NotifySettings, brokers: Brokers, decoder: Decoder, sinks: Sequence[Sink], clocks: Clocks
) -> AsyncIterator[tuple[str, Delivery, Sequence[SinkRequest]]]:
    """Follow the topic outside of the group, and yield sink, delivery and requests. Records are never marked.

    Args:
        settings: As read at start.
        brokers: Connection that is already open.
        decoder: Reads values of `session-alerts`.
        sinks: Where each alert is sent.
        clocks: Gives the time of each request.
    """
    topic = brokers.topic(Topic.SESSION_ALERTS)
    counts = await brokers.partition_counts([topic])
    known = await ends(connection(settings), counts)
    latest = settings.notify_from == "latest"
    tail = brokers.tail({place: each.end if latest else each.begin for place, each in known.items()})
    episodes = {partition: Episodes() for partition in range(counts[topic])}
    try:
        async for batch in tail:
            await decoder.prepare([(stored.value, stored.headers) for _, stored in batch])
            for _, stored in batch:
                try:
                    fields = decoder.decode(stored.value, stored.headers)
                    alert = Alert.of(fields, stored.partition, stored.offset)
                except (UndecodableError, MalformedError):
                    continue
                now_ms = round(clocks.now_s() * 1000)
                if alert.kind not in settings.families:
                    continue
                delivery = episodes[stored.partition].take(alert, now_ms)
                for sink in sinks if delivery is not None else ():
                    assert delivery is not None
                    if sink.wants(delivery):
                        yield sink.name, delivery, sink.requests(delivery, None, now_ms)
    finally:
        await tail.aclose()


async def send(
    sink: Sink, delivery: Delivery, handle: str | None, transport: Transport, clocks: Clocks
) -> tuple[list[str], str | None, bool]:
    """Send a delivery once.

    Returns what each request was answered, what the sink has left for later deliveries, and whether all of
    them arrived.
    """
    said: list[str] = []
    left = handle
    for request in sink.requests(delivery, handle, round(clocks.now_s() * 1000)):
        answer = await transport.send(request)
        outcome = sink.judge(answer, clocks.now_s()) if isinstance(answer, SinkAnswer) else answer
        if not isinstance(outcome, Delivered):
            return [*said, hidden(outcome.why, request.secrets)], left, False
        left = left or outcome.handle
        said.append("delivered")
    return said, left, True
