"""What a sink is, and what it gets: an alert, and one step of an episode or an event that stands alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Any, Final, NamedTuple, Protocol, Self, runtime_checkable

from streams.alerts.sinks.request import Outcome, SinkAnswer, SinkRequest
from streams.control.command import number, optional_text, text
from streams.core.domain.level import Level


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One record of the topic.

    Attributes:
        id: The same whenever the record is written again.
        kind: `event_type`, such as loop_episode.
        timestamp: When it happened, ms since 1970.
        level: WARNING or LOOP; of events that have no level WARNING.
        phase: What became of the episode; None where there is none.
        episode_id: None for what is no episode.
        fields: All fields of the record.
        partition, offset: Where it stands on the topic.
    """

    id: str
    kind: str
    session_id: str
    agent_id: str
    event_id: str
    timestamp: int
    level: Level
    phase: str | None
    episode_id: str | None
    fields: Mapping[str, Any]
    partition: int
    offset: int

    @property
    def key(self) -> str:
        """What all deliveries about the same thing share: the episode; else the alert itself."""
        return self.id if self.episode_id is None else self.episode_id

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools of the pattern, each once, in their order."""
        return tuple(dict.fromkeys(str(tool) for tool in self.fields.get("tools") or () if tool))

    @property
    def rule(self) -> str:
        """The rule of the evidence; of events without one the pattern or the kind."""
        return str(self.fields.get("rule") or self.fields.get("pattern") or self.kind)

    @classmethod
    def of(cls, fields: Mapping[str, Any], partition: int, offset: int) -> Self:
        """Read a decoded record.

        Raises:
            MalformedError: a field is missing or of another type; the message names it, not its value.
        """
        level = optional_text(fields, "level") or Level.WARNING
        return cls(
            id=text(fields, "id"),
            kind=text(fields, "event_type"),
            session_id=text(fields, "session_id"),
            agent_id=optional_text(fields, "agent_id") or "",
            event_id=optional_text(fields, "event_id") or "",
            timestamp=number(fields, "timestamp"),
            level=Level(level) if level in Level.__members__ else Level.WARNING,
            phase=optional_text(fields, "phase"),
            episode_id=optional_text(fields, "episode_id"),
            fields=fields,
            partition=partition,
            offset=offset,
        )


@unique
class DeliveryStep(StrEnum):
    """What a delivery means for the one who gets it."""

    TRIGGER = "trigger"
    """A session loops, and nobody was told yet; or it loops again, or worse than before."""
    UPDATE = "update"
    """It still loops."""
    RESOLVE = "resolve"
    """The episode is over."""
    NOTICE = "notice"
    """An event without an episode: nothing follows it."""


class EpisodeReference(NamedTuple):
    """What stays the same in all deliveries of an episode, so that a receiver knows them as one.

    Attributes:
        since: Timestamp of the first alert of the episode that was read, ms since 1970.
        rule: The rule it had. The evidence of later alerts may be another one.
        before: The level that was told last, None if nothing was.
    """

    since: int
    rule: str
    before: Level | None


class Delivery(NamedTuple):
    """One alert on its way to the sinks. Its id is that of the alert, however often it is sent.

    A step is `refuted` if it resolves what goes on, because somebody said that it is no loop.
    """

    step: DeliveryStep
    alert: Alert
    reference: EpisodeReference
    refuted: bool = False

    @property
    def id(self) -> str:
        """The id that each repeat carries."""
        return self.alert.id


class Digest(NamedTuple):
    """Several deliveries in one message, for people who are told of too many at once."""

    deliveries: tuple[Delivery, ...]

    @property
    def id(self) -> str:
        """The id that each repeat carries."""
        return f"digest/{self.deliveries[0].id}"


_SPAN: Final = re.compile(r"(?P<trace>[0-9a-f]{32})/(?P<span>[0-9a-f]{16})")


class SpanContext(NamedTuple):
    """Trace id and span id, in hexadecimal."""

    trace_id: str
    span_id: str

    @property
    def traceparent(self) -> str:
        """As W3C's header has it."""
        return f"00-{self.trace_id}-{self.span_id}-01"


def span_context(event_id: str) -> SpanContext | None:
    """Return the span that an event id names, as ids of records from OpenTelemetry do.

    >>> span_context("0af7651916cd43dd8448eb211c80319c/b7ad6b7169203331").span_id
    'b7ad6b7169203331'
    >>> span_context("e-1")
    """
    found = _SPAN.fullmatch(event_id)
    if found is None or not int(found["trace"], 16) or not int(found["span"], 16):
        return None
    return SpanContext(found["trace"], found["span"])


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
