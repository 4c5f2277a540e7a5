"""What aiokafka's consumer keeps to itself: errors, committed offsets, the assignment, and its options.

Finding a partition's leader again after it has moved.

aiokafka 0.14 asks for new metadata when a fetch reaches a broker that is no longer the leader, but not when
the look-up of a partition's first offset does. Such a look-up is tried for ever at the wrong broker, until
metadata is five minutes old, and nothing else is fetched from that broker meanwhile. Faust's consumer looks
up its changelog partitions at each rebalance, and fetches nothing from them that would show the move.

Some partitions read only so often, so that their records do not wake the consumer each time.

A fetch is answered as soon as one partition has a record. What an epoch writes to a topic that the same
consumer reads would answer the next fetch, with a record or two, and be delivered by itself. Reading it a few
times a second costs a few deliveries instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError, NoError, RebalanceInProgressError
from aiokafka.protocol.group import HeartbeatRequest, SyncGroupRequest
from aiokafka.structs import OffsetAndMetadata, TopicPartition

from streams.kafka.patches.fetching import Assignment


def follow_leaders(consumer: Any) -> None:
    """Let a started ``AIOKafkaConsumer`` ask who leads when the broker it asks for an offset does not."""
    client, fetcher = consumer._client, consumer._fetcher
    look_up = fetcher._proc_offset_request

    async def look_up_again(node_id: int, topics: Any) -> Any:
        try:
            return await look_up(node_id, topics)
        except KafkaError as error:
            if error.invalid_metadata:
                client.force_metadata_update()
            raise

    fetcher._proc_offset_request = look_up_again


class Pacing:
    """Pauses partitions of some topics after each poll that returned records of them.

    A partition without news is not paused: its next record comes at once. Nothing is fetched in vain: a
    partition is paused only when all that was fetched of it is taken.

    Args:
        consumer: A started one; to be used in its event loop.
        pauses: The topics, and how long a partition of each is paused, seconds.
    """

    def __init__(self, consumer: AIOKafkaConsumer, pauses: Mapping[str, float]) -> None:
        self._consumer = consumer
        self._pauses = {topic: pause for topic, pause in pauses.items() if pause > 0}

    def polled(self, returned: Iterable[TopicPartition]) -> None:
        """Take note of a poll: which partitions it returned records of. Nothing may be awaited in between."""
        for tp in returned:
            pause = self._pauses.get(tp.topic)
            # What is still buffered of a paused partition would be dropped, and fetched again.
            if pause is None or tp in self._consumer._fetcher._records:
                continue
            # Faust has a class of its own, which aiokafka does not take.
            read = TopicPartition(tp.topic, tp.partition)
            if self._is_assigned(read):
                self._consumer.pause(read)
                asyncio.get_running_loop().call_later(pause, self._resume, read)

    def _resume(self, read: TopicPartition) -> None:
        if self._is_assigned(read):
            self._consumer.resume(read)

    def _is_assigned(self, read: TopicPartition) -> bool:
        return read in self._consumer.assignment()


class MembershipLease(Protocol):
    """Whatever holds for as long as the coordinator counts the worker among the members of its group."""

    def now(self) -> float:
        """Return the time of the clock that the lease uses, s."""

    def heard(self, sent_at: float, *, rebalancing: bool = False) -> None:
        """Renew it: the coordinator has answered a request of that time."""

    def lost(self) -> None:
        """End it: the worker is a member no longer."""


def keep_lease(consumer: Any, lease: MembershipLease) -> None:
    """Let a started ``AIOKafkaConsumer`` of a group renew and lose the lease.

    A heartbeat renews it, and the answer that brings the assignment. Not the one to a request to join: that
    comes when the others have joined, which may be long after. A group that waits for its members to join
    again keeps those that it hears from, but not for ever. aiokafka forgets its generation wherever
    the coordinator says that it does not know the member, or the generation, and when the worker leaves.
    """
    coordinator = consumer._coordinator
    ask, forget = coordinator._send_req, coordinator.reset_generation

    async def ask_and_tell(request: Any) -> Any:
        sent_at = lease.now()
        answer = await ask(request)
        match request, getattr(answer, "error_code", None):
            case HeartbeatRequest() | SyncGroupRequest(), NoError.errno:
                lease.heard(sent_at)
            case HeartbeatRequest(), RebalanceInProgressError.errno:
                lease.heard(sent_at, rebalancing=True)
        return answer

    def forget_and_tell() -> None:
        lease.lost()
        forget()

    coordinator._send_req = ask_and_tell
    coordinator.reset_generation = forget_and_tell


def raise_error(consumer: AIOKafkaConsumer) -> None:
    """Raise the error that aiokafka keeps for the code that polls it.

    With such an error the client stands still for ever: it joins no group, sends no heartbeat, fetches
    nothing. A client that still looks for its first broker has none: its start reports that itself.

    Raises:
        KafkaError: the error.
    """
    fetcher, coordinator = consumer._fetcher, consumer._coordinator
    if consumer._closed or fetcher is None:
        return
    fetching = fetcher._fetch_task
    if fetching.done() and not fetching.cancelled():
        fetching.result()
    if coordinator is not None:
        coordinator.check_errors()


async def committed_offsets(
    consumer: AIOKafkaConsumer, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the committed offsets of the partitions that have one, by one request for all."""
    found: dict[TopicPartition, OffsetAndMetadata] = await consumer._coordinator.fetch_committed_offsets(
        list(partitions)
    )
    return found


def request_rejoin(consumer: AIOKafkaConsumer) -> None:
    """Let a member join its group again; call it in the thread of the consumer."""
    consumer._coordinator.request_rejoin()


def current_assignment(consumer: AIOKafkaConsumer) -> Assignment | None:
    """Return the assignment of this moment."""
    subscription = consumer._subscription.subscription
    assignment: Assignment | None = None if subscription is None else subscription.assignment
    return assignment


def set_option(consumer: AIOKafkaConsumer, name: str, value: Any) -> bool:
    """Set an option of a consumer that was not started; return False where it has none of that name."""
    if not hasattr(consumer, f"_{name}"):
        return False
    setattr(consumer, f"_{name}", value)
    return True
