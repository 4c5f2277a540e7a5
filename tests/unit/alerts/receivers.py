"""A receiver of the tests, and what an outbox sends to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streams.alerts.outbox import Outbox
from streams.alerts.pending_delivery import AlertDeadLetter, PendingDelivery
from streams.alerts.sinks.request import Delivered, Outcome, SinkAnswer, SinkRequest, judged
from streams.alerts.sinks.sink import Delivery, DeliveryStep, Digest, Traits

FAST = Traits(per_second=1_000, burst=1_000)


@dataclass(frozen=True, slots=True)
class Receiver:
    """It pairs triggers with resolves, as a pager does."""

    traits: Traits = FAST
    wants_updates: bool = True
    name: str = "receiver"

    def wants(self, delivery: Delivery) -> bool:
        return self.wants_updates or delivery.step is not DeliveryStep.UPDATE

    def requests(self, delivery: Delivery, handle: str | None, now_ms: int) -> Sequence[SinkRequest]:
        return [SinkRequest(f"http://{self.name}", {}, delivery.id.encode())]

    def judge(self, answer: SinkAnswer, now_s: float) -> Outcome:
        return judged(answer, now_s)


@dataclass(frozen=True, slots=True)
class ChatReceiver(Receiver):
    """People read what it gets."""

    def digest(self, digest: Digest) -> Sequence[SinkRequest]:
        return [SinkRequest("http://receiver", {}, digest.id.encode())]


def sent(outbox: Outbox, now: float, room: int = 1_000) -> list[PendingDelivery]:
    """Return what is to be sent now."""
    return outbox.next(now, room)


def steps(waiting: Sequence[PendingDelivery]) -> list[tuple[str, str]]:
    """Return session and step of each delivery."""
    return [(each.alert.session_id, each.step.value) for one in waiting for each in one.deliveries]


def settle_all(
    outbox: Outbox, waiting: Sequence[PendingDelivery], outcome: Outcome | None = None, now: float = 0.0
) -> list[AlertDeadLetter]:
    """Let all of it have one outcome; what is dead is buried."""
    letters: list[AlertDeadLetter] = []
    for each in waiting:
        found = outbox.settle(each, outcome or Delivered(), now, 1.0)
        if found:
            letters += found
            outbox.finish(each, now)
    return letters
