"""What a sink is: how one kind of receiver is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from streams.alerts.sinks.delivery import Delivery, Digest
from streams.alerts.sinks.request import Outcome, SinkAnswer, SinkRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """How a sink is served.

    Attributes:
        per_second: How many deliveries it gets in the long run, and `burst` at once.
        burst: Most requests sent at once, at least 1.
        refresh_s: An open episode is sent again after so many seconds; None for receivers that remember.
        resolves: How often the end of an episode is sent.
    """

    per_second: float
    burst: int
    refresh_s: float | None = None
    resolves: int = 1


class Sink(Protocol):
    """One receiver. Everything is pure: the clock is an argument, and the shell sends what is returned.

    Register one in `streams.alerts.sink_kinds`; `tests/checks/test_sinks.py` then checks it.
    """

    @property
    def name(self) -> str:
        """How commands, metrics and dead letters call it."""
        ...

    @property
    def traits(self) -> Traits:
        """How it is served."""
        ...

    def wants(self, delivery: Delivery) -> bool:
        """Tell whether it has anything to say of a delivery. It wants every trigger and every resolve."""
        ...

    def requests(self, delivery: Delivery, handle: str | None, now_ms: int) -> Sequence[SinkRequest]:
        """Return what to send, in order; each is sent once the one before has arrived.

        Args:
            delivery: What is to be sent.
            handle: What an earlier delivery of the episode left, see `Delivered`.
            now_ms: The time, ms since 1970.
        """
        ...

    def judge(self, answer: SinkAnswer, now_s: float) -> Outcome:
        """Return what an answer means; the time in s since 1970."""
        ...


@runtime_checkable
class Chat(Sink, Protocol):
    """A receiver whose messages people read, one by one.

    When alerts had to wait, it gets only the end of each, and one digest if there are many. Other receivers
    pair triggers with resolves, so they get each of them.
    """

    def digest(self, digest: Digest) -> Sequence[SinkRequest]:
        """Return what to send for several deliveries at once."""
        ...
