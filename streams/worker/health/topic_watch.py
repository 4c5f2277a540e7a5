"""The topics of the job, by their ids: asked for at each assignment, and every few seconds in between.

A consumer does not notice that the topic it reads has become another one: it goes on at the offset it is at,
and what stands before is never read. Where the topic is gone, it waits without a word.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from typing import Any

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError
from mode import Service

from streams.core.errors import InfrastructureError, StateError
from streams.kafka.connection import Connection
from streams.kafka.topic_identity import topic_ids

_LOOK_SECONDS = 5.0

#: A broker that has just started may not know a topic for a moment.
GONE_AFTER_SECONDS = 15.0
_AGAIN_SECONDS = 0.2


class TopicWatch(Service):
    """Knows which topics the job works on, and stops the worker when one is gone or another.

    Args:
        connection: How to reach the brokers.
        topics: Those that state was built from: each must stay the topic it is.
        others: Those that must only exist, such as the outputs.
        anew: How to score a topic from its beginning, for people.
        kwargs: Further arguments that `mode.Service` takes.
    """

    def __init__(
        self,
        connection: Connection,
        topics: Collection[str],
        *,
        others: Collection[str] = (),
        anew: str,
        **kwargs: Any,
    ) -> None:
        self._connection = connection
        self._others = frozenset(others)
        self._topics = [*topics, *others]
        self._anew = anew
        self._client: AIOKafkaClient | None = None
        self._ids: dict[str, str | None] = {}
        self._missing_since: dict[str, float] = {}
        #: Whether the log says that no broker answers, until one does.
        self._logged = False
        super().__init__(**kwargs)

    @property
    def ids(self) -> Mapping[str, str | None]:
        """The ids of the topics as they were at the last assignment; None where brokers give none."""
        return self._ids

    async def refresh(self) -> Mapping[str, str | None]:
        """Ask for the ids, for a new assignment, until there is one of each topic.

        Raises:
            InfrastructureError: no broker answers, or a topic is gone.
        """
        since, found = time.monotonic(), await self._ask()
        while missing := [topic for topic in self._topics if topic not in found]:
            if time.monotonic() - since >= GONE_AFTER_SECONDS:
                raise self._gone(missing[0])
            await asyncio.sleep(_AGAIN_SECONDS)
            found = await self._ask()
        self._ids = found
        self._missing_since.clear()
        return self._ids

    def _gone(self, topic: str) -> InfrastructureError:
        return InfrastructureError(
            f"Topic {topic} is gone: it was deleted, or the brokers lost it. Nothing was acknowledged since. "
            "Find out who deleted it before you create it again with `eddy topics apply`: what it held is "
            f"not in the new one.{'' if topic in self._others else f' {self._anew}'}"
        )

    async def _ask(self) -> dict[str, str | None]:
        if self._client is None:
            client = AIOKafkaClient(**self._connection.client_options())
            try:
                await client.bootstrap()
            except KafkaError as error:
                await client.close()
                raise InfrastructureError(
                    f"No broker answers ({error!r}). Check the brokers; the worker restores again when it "
                    "restarts."
                ) from error
            self._client = client
        return await topic_ids(self._client, self._topics)

    @Service.timer(_LOOK_SECONDS)
    async def _watch(self) -> None:
        if not self._ids:
            return  # nothing is assigned yet
        known = self._ids
        try:
            found = await self._ask()
        except InfrastructureError as error:
            if not self._logged:  # what has to be read or written tells it better, if it lasts
                self.log.warning("%s", error)
            self._logged = True
            return
        self._logged = False
        if known is self._ids:
            self.compare(found, time.monotonic())

    def compare(self, found: Mapping[str, str | None], now: float) -> None:
        """Compare what there is with what there was.

        Raises:
            InfrastructureError: a topic has been gone for a while.
            StateError: a topic is another one.
        """
        for topic, known in self._ids.items():
            if topic not in found:
                since = self._missing_since.setdefault(topic, now)
                if now - since >= GONE_AFTER_SECONDS:
                    raise self._gone(topic)
                continue
            self._missing_since.pop(topic, None)
            current = found[topic]
            if known is None or current is None or known == current:
                continue
            if topic in self._others:
                self._ids = {**self._ids, topic: current}
                self.log.warning(
                    "Topic %s was deleted and created again while the worker ran. What it held is gone; the "
                    "worker writes to the new one. Find out who deleted it.",
                    topic,
                )
            else:
                raise StateError(
                    f"Topic {topic} was deleted and created again while the worker ran: its id was {known} "
                    f"and is {current}. The worker stops, since offsets mean something else now: what the "
                    f"new topic holds may have been passed over. {self._anew}"
                )

    async def on_stop(self) -> None:
        """Close the connection."""
        if self._client is not None:
            await self._client.close()
            self._client = None
