"""Reads what was asked of agents, and what their guards answered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from eddy_client.protocol import HOLD_OF_ALL, hold_key

from schemas.codec import Codec, UndecodableError
from streams.control.command import Command, MalformedError
from streams.control.outcome import Ack
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError
from streams.kafka.reading import partition_of
from streams.kafka.stored import Stored

R = TypeVar("R")


class TrailBrokers(Protocol):
    """What a trail needs of `streams.kafka.client.Brokers`."""

    def topic(self, topic: Topic, /) -> str:
        """Return how a topic of ours is called on these brokers."""
        ...

    async def partition_counts(self, names: Iterable[str]) -> dict[str, int]:
        """Return the number of partitions of those of the topics that exist."""
        ...

    async def offsets_at(self, topic: str, timestamp: int) -> dict[int, int]:
        """Return by partition the offset of the first record from ``timestamp`` (ms) on, or the end."""
        ...

    def read_range(
        self, topic: str, partition: int, start: int = 0, stop: int | None = None
    ) -> AsyncIterator[Stored]:
        """Yield the records of a partition from ``start`` to before ``stop``, or to its end."""
        ...


class PlacedCommand(NamedTuple):
    """A command, and the record it stands in."""

    stored: Stored
    command: Command


class Trail:
    """What stands on `session-commands` and `session-command-acks`.

    Args:
        brokers: Connected; the trail does not close it.
        codec: How values are read.

    Attributes:
        unreadable: how many records were left out because they could not be read.
    """

    def __init__(self, brokers: TrailBrokers, codec: Codec) -> None:
        self.unreadable = 0
        self._brokers = brokers
        self._decoders = {
            topic: codec.decoder(f"{topic}-value")
            for topic in (Topic.SESSION_COMMANDS, Topic.SESSION_COMMAND_ACKS)
        }

    async def commands(self, session_id: str, agent_ids: Iterable[str]) -> list[PlacedCommand]:
        """Return the commands to a session and the holds that concern it, by the time the brokers took them.

        Args:
            session_id: The session that commands were given to.
            agent_ids: Its agent, as far as it is known.

        Raises:
            ConfigurationError: the topic is missing.
            InfrastructureError: the brokers do not answer.
        """
        agents = set(agent_ids)
        count = await self._count(Topic.SESSION_COMMANDS)
        keys = (session_id.encode(), HOLD_OF_ALL.encode(), *map(hold_key, agents))
        found = [
            PlacedCommand(stored, command)
            for partition in sorted({partition_of(key, count) for key in keys})
            async for stored, command in self._read(Topic.SESSION_COMMANDS, partition, 0, Command.of)
            if any(command.concerns(session_id, agent) for agent in (None, *agents))
        ]
        return sorted(found, key=lambda each: (each.stored.timestamp, each.stored.offset))

    async def follow(self, session_id: str | None, since: int | None = None) -> Following:
        """Return what reads the acks of a session, or of all, from a time (ms) or the beginning on.

        Raises:
            ConfigurationError: the topic is missing.
            InfrastructureError: the brokers do not answer.
        """
        count = await self._count(Topic.SESSION_COMMAND_ACKS)
        if since is None:
            begin = dict.fromkeys(range(count), 0)
        else:
            begin = await self._brokers.offsets_at(self._brokers.topic(Topic.SESSION_COMMAND_ACKS), since)
        if session_id is not None:
            partition = partition_of(session_id.encode(), count)
            begin = {partition: begin[partition]}
        return Following(self, begin, session_id)

    async def read_acks(self, partition: int, start: int) -> list[tuple[Stored, Ack]]:
        """Return the acks of a partition from an offset on."""
        return [each async for each in self._read(Topic.SESSION_COMMAND_ACKS, partition, start, Ack.of)]

    async def _read(
        self, topic: Topic, partition: int, start: int, of: Callable[[Mapping[str, Any]], R]
    ) -> AsyncIterator[tuple[Stored, R]]:
        decoder = self._decoders[topic]
        async for stored in self._brokers.read_range(self._brokers.topic(topic), partition, start):
            try:
                await decoder.prepare([(stored.value, tuple(stored.headers))])
                read = of(decoder.decode(stored.value, tuple(stored.headers)))
            except (UndecodableError, MalformedError):
                self.unreadable += 1
                continue
            yield stored, read

    async def _count(self, topic: Topic) -> int:
        name = self._brokers.topic(topic)
        counts = await self._brokers.partition_counts([name])
        if name not in counts:
            raise ConfigurationError(f"There is no topic {name}. Create the topics with `eddy topics apply`.")
        return counts[name]


class Following:
    """The acks of a session, or of all sessions, as far as they were read.

    Attributes:
        acks: all that were read so far, each partition's in its order.
    """

    def __init__(self, trail: Trail, positions: Mapping[int, int], session_id: str | None) -> None:
        self.acks: list[Ack] = []
        self._trail = trail
        self._positions = dict(positions)
        self._session_id = session_id

    async def advance(self) -> list[Ack]:
        """Read what has come since, and return all acks so far.

        Raises:
            InfrastructureError: the brokers do not answer.
        """
        for partition, start in self._positions.items():
            for stored, ack in await self._trail.read_acks(partition, start):
                self._positions[partition] = stored.offset + 1
                if self._session_id in {None, ack.session_id}:
                    self.acks.append(ack)
        return self.acks
