"""What a receiver is told: one step of an episode, or one event that stands alone."""

from __future__ import annotations

from enum import StrEnum, unique
from typing import NamedTuple

from streams.alerts.sinks.alert import Alert
from streams.core.domain.level import Level


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
    """One alert on its way to the sinks. Its id is that of the alert, however often it is sent."""

    step: DeliveryStep
    alert: Alert
    told: EpisodeReference

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
