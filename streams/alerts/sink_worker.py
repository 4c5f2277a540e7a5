"""Serves one sink: takes from its outbox what is due, sends it, and says what became of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from streams.alerts.memory import ProgressTopics
from streams.alerts.outbox import Outbox
from streams.alerts.pending_delivery import PendingDelivery
from streams.alerts.sinks.request import (
    Delivered,
    Outcome,
    SinkAnswer,
    SinkRefused,
    SinkRequest,
    TryAgain,
    hidden,
)
from streams.alerts.sinks.sink import Chat, DeliveryStep, Digest, Sink
from streams.alerts.transport import Transport

log = logging.getLogger(__name__)

_AT_ONCE: Final = 8
"""Requests to one sink that are on the way at the same time."""
_QUIET_S: Final = 60.0
"""Between two lines about a sink that does not answer."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """What a courier does not know by itself: two clocks and chance."""

    elapsed_s: Callable[[], float]
    """Never goes back."""
    now_s: Callable[[], float]
    """Since 1970."""
    chance: Callable[[], float]
    """0 to 1."""


class SinkWorker:
    """Serves a sink until cancelled.

    Args:
        sink: Where its alerts are sent.
        transport: Sends the requests of sinks.
        memory: What is to be remembered, and where dead letters go.
        clocks: Gives the times and the random numbers.
        observe: Called with the seconds that each request took.
    """

    def __init__(
        self,
        sink: Sink,
        transport: Transport,
        memory: ProgressTopics,
        clocks: Clocks,
        observe: Callable[[str, float], None],
    ) -> None:
        self.sink = sink
        self.outbox = Outbox(sink, clocks.elapsed_s())
        self._transport = transport
        self._memory = memory
        self._clocks = clocks
        self._observe = observe
        self._changed = asyncio.Event()
        self._sending: set[asyncio.Task[None]] = set()
        self._complained_s: float | None = None

    def wake(self) -> None:
        """Look at the outbox again: something was added."""
        self._changed.set()

    async def run(self) -> None:
        """Send what is due, for ever.

        Raises:
            EddyError: what was to be remembered never can be.
        """
        while True:
            self._changed.clear()
            now = self._clocks.elapsed_s()
            for waiting in self.outbox.next(now, _AT_ONCE - len(self._sending)):
                task = asyncio.create_task(self._deliver(waiting))
                self._sending.add(task)
                task.add_done_callback(self._finished)
            wake_at = self.outbox.wake_at(now) if len(self._sending) < _AT_ONCE else None
            try:
                async with asyncio.timeout(None if wake_at is None else max(0.0, wake_at - now)):
                    await self._changed.wait()
            except TimeoutError:
                pass
            for task in [task for task in self._sending if task.done()]:
                self._sending.discard(task)
                task.result()

    async def settled(self) -> None:
        """Wait until nothing is on the way."""
        if self._sending:
            await asyncio.wait(self._sending)

    async def close(self) -> None:
        """Abandon what is on the way: it is sent again after a restart."""
        for task in self._sending:
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    def _finished(self, _: asyncio.Task[None]) -> None:
        self._changed.set()

    async def _deliver(self, waiting: PendingDelivery) -> None:
        outcome = self.outbox.gone or await self._send(waiting)
        now = self._clocks.elapsed_s()
        letters = self.outbox.settle(waiting, outcome, now, self._clocks.chance())
        self._report(waiting, outcome)
        if letters:
            await self._memory.bury(letters, self.sink.name, self._now_ms())
            self.outbox.finish(waiting, self._clocks.elapsed_s())

    async def _send(self, waiting: PendingDelivery) -> Outcome:
        """Send the requests of a delivery that have not arrived yet; what they were does not change."""
        alert = waiting.first.alert
        handle = self._memory.handle(self.sink.name, alert.key)
        outcome: Outcome = Delivered()
        try:
            requests = self._requests(waiting, handle)
        except Exception as error:
            log.exception("No request to %s can be built for %s.", self.sink.name, waiting.what.id)
            # One alert must not keep all others from people.
            return SinkRefused(f"a bug of Eddy: {error!r}", 0, b"")
        for request in requests[waiting.arrived :]:
            outcome = await self._post(request)
            if not isinstance(outcome, Delivered):
                return outcome
            if outcome.handle is not None and handle is None and _begins(waiting):
                await self._memory.keep_handle(
                    alert.partition, self.sink.name, alert.key, outcome.handle, self._now_ms()
                )
            waiting.arrived += 1
        return outcome

    def _requests(self, waiting: PendingDelivery, handle: str | None) -> Sequence[SinkRequest]:
        if isinstance(waiting.what, Digest):
            assert isinstance(self.sink, Chat), "only chats get digests"
            return self.sink.digest(waiting.what)
        return self.sink.requests(waiting.what, handle, self._now_ms())

    async def _post(self, request: SinkRequest) -> Outcome:
        began = self._clocks.elapsed_s()
        answer = await self._transport.send(request)
        self._observe(self.sink.name, self._clocks.elapsed_s() - began)
        if not isinstance(answer, SinkAnswer):
            return answer
        # A receiver may repeat what it was sent.
        said = hidden(answer.body.decode(errors="replace"), request.secrets).encode()
        try:
            return self.sink.judge(answer._replace(body=said), self._clocks.now_s())
        except Exception as error:
            log.exception("%s cannot read what its receiver answers.", self.sink.name)
            # One odd answer must not keep alerts from the other receivers. It may have arrived: not again.
            return SinkRefused(f"a bug of Eddy: {error!r}", answer.status, said)

    def _report(self, waiting: PendingDelivery, outcome: Outcome) -> None:
        """Log what an operator has to know: dead letters, and once a minute that a sink does not answer."""
        name, now = self.sink.name, self._clocks.elapsed_s()
        match outcome:
            case Delivered():
                if self._complained_s is not None:
                    self._complained_s = None
                    log.info("%s takes alerts again.", name)
            case TryAgain(why):
                if self._complained_s is None or now - self._complained_s >= _QUIET_S:
                    self._complained_s = now
                    log.warning("%s does not take alerts (%s). They are sent again until it does.", name, why)
            case SinkRefused(why):
                log.error("%s refuses %s (%s). It went to alerts-dlq.", name, waiting.what.id, why)
            case _:
                log.error(
                    "%s wants no more alerts (%s). What is for it goes to alerts-dlq until the notifier is "
                    "started again.",
                    name,
                    outcome.why,
                )

    def _now_ms(self) -> int:
        return round(self._clocks.now_s() * 1000)


def _begins(waiting: PendingDelivery) -> bool:
    return not isinstance(waiting.what, Digest) and waiting.what.step is DeliveryStep.TRIGGER
