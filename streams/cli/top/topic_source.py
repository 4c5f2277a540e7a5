"""Reads the topics of a job: what is so now, from a bounded part of each, outside any consumer group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from schemas.codec import Codec
from streams.cli.label import publish_label
from streams.cli.top.picture import LIVE_MINUTES, NewestSteps, ReadingProgress
from streams.console.archive.row_store import NothingKept
from streams.console.read_model.model import ReadModel
from streams.console.topic_follower import FollowerSettings, TopicFollower
from streams.control.label import LabelWord
from streams.core.domain.text.figures import count
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers

_MINUTE_MS: Final = 60_000
_DAY_MS: Final = 24 * 60 * _MINUTE_MS

LOOK_BACK_MS: Final = {
    # As long as a silent session lives by default. An episode that stays open is published again at times.
    Topic.SESSION_ALERTS: _DAY_MS,
    # As long as a command may last.
    Topic.SESSION_COMMANDS: _DAY_MS,
    Topic.SESSION_COMMAND_ACKS: _DAY_MS,
    Topic.CONSOLE_ACTIONS: _DAY_MS,
    # By far the largest: enough to know which sessions are live.
    Topic.ENRICHED: LIVE_MINUTES * _MINUTE_MS,
    Topic.ENTROPY_ALERTS: 10 * _MINUTE_MS,
}
"""Which topics are read, and how far back the reading begins."""


class TopicSource:
    """Follows the topics of a job.

    Args:
        brokers: What to read from.
        codec: Reads the values of the records.
        clock: Returns the time in milliseconds since 1970.
    """

    stop = "eddy session pause"

    def __init__(self, brokers: Brokers, codec: Codec, clock: Callable[[], int]) -> None:
        self.model = ReadModel(live_minutes=LIVE_MINUTES)
        self.steps = NewestSteps()
        self._brokers = brokers
        settings = FollowerSettings(
            history_days=0,
            live_minutes=LIVE_MINUTES,
            topics=frozenset(LOOK_BACK_MS),
            recent_ms=LOOK_BACK_MS,
        )
        self._feed = TopicFollower(brokers, codec, self.model, NothingKept(), settings, clock)
        self._feed.intake.listeners[Topic.ENRICHED] = lambda _, fields: self.steps.add(fields)

    async def check(self) -> None:
        """Make sure that there is something to read.

        Raises:
            ConfigurationError: the brokers have no topic of alerts.
            InfrastructureError: they do not answer.
        """
        await self._brokers.ends(self._brokers.topic(Topic.SESSION_ALERTS))

    async def call_wrong(self, session_id: str) -> None:
        """Say that a session is not a loop, as `eddy label` does.

        Raises:
            EddyError: it has no alert, or the brokers do not take it.
        """
        await publish_label(session_id, LabelWord.NOT_A_LOOP, "", self._brokers.servers)

    async def run(self) -> None:
        """Read for ever."""
        await self._feed.run()

    async def caught_up(self) -> None:
        """Wait until all that stands on the topics by now is read; topics that do not exist are left out."""
        names = {self._brokers.topic(topic): topic for topic in LOOK_BACK_MS}
        there = await self._brokers.partition_counts(names)
        await self._feed.caught_up(names[name] for name in there)

    def reading(self) -> ReadingProgress:
        """Return how far the reading is."""
        lag = self._feed.lag()
        unread = self._feed.intake.unread.total()
        notices = (f"Left out, because unreadable: {count(unread, 'record')}.",) if unread else ()
        return ReadingProgress(self._brokers.servers, sum(lag.values()) if lag else None, notices)
