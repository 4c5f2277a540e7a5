"""Looking for the leader again, without a broker."""

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.consumer.fetcher import Fetcher
from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    IllegalGenerationError,
    KafkaError,
    NoError,
    NotCoordinatorForGroupError,
    NotLeaderForPartitionError,
    RebalanceInProgressError,
    RequestTimedOutError,
    UnknownMemberIdError,
)
from aiokafka.protocol.group import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest

from streams.kafka.patches.group_consumer import follow_leaders, keep_lease
from streams.worker.delivery.lease import WorkerLease


class Consumer:
    def __init__(self, outcome: KafkaError | dict[str, int]) -> None:
        self.updates = 0
        self._client = self
        self._fetcher = SimpleNamespace(_proc_offset_request=self._look_up)
        self._outcome = outcome

    def force_metadata_update(self) -> None:
        self.updates += 1

    async def _look_up(self, node_id: int, topics: object) -> dict[str, int]:
        assert (node_id, topics) == (1, ["t"])
        if isinstance(self._outcome, KafkaError):
            raise self._outcome
        return self._outcome


@pytest.mark.parametrize(
    ("error", "updates"), [(NotLeaderForPartitionError("t"), 1), (RequestTimedOutError("t"), 0)]
)
async def test_a_look_up_that_fails_asks_who_leads_only_where_that_is_not_known(
    error: KafkaError, updates: int
) -> None:
    consumer = Consumer(error)
    follow_leaders(consumer)
    with pytest.raises(type(error)):
        await consumer._fetcher._proc_offset_request(1, ["t"])
    assert consumer.updates == updates


async def test_a_look_up_that_succeeds_returns_what_it_found() -> None:
    consumer = Consumer({"t": 7})
    follow_leaders(consumer)
    assert await consumer._fetcher._proc_offset_request(1, ["t"]) == {"t": 7}
    assert consumer.updates == 0


def test_the_client_still_looks_offsets_up_where_this_expects_it() -> None:
    assert callable(Fetcher._proc_offset_request)


HEARTBEAT = HeartbeatRequest("g", 1, "m")
SYNC = SyncGroupRequest("g", 1, "m", None, [])
JOIN = JoinGroupRequest("g", 1_000, 1_000, "m", None, "consumer", [])


class Coordinator:
    """Answers with what it is told, and takes its time."""

    def __init__(self) -> None:
        self.answer: Any = NoError
        self.at = 0.0
        self.forgot = 0

    async def _send_req(self, request: Any) -> Any:
        self.at += 1.0
        if isinstance(self.answer, Exception):
            raise self.answer
        return SimpleNamespace(error_code=self.answer.errno)

    def reset_generation(self) -> None:
        self.forgot += 1


@pytest.fixture
def coordinator() -> Any:
    return Coordinator()


@pytest.fixture
def lease(coordinator: Any) -> WorkerLease:
    lease = WorkerLease(10, 5, lambda: coordinator.at)
    keep_lease(SimpleNamespace(_coordinator=coordinator), lease)
    return lease


@pytest.mark.parametrize("request_", [HEARTBEAT, SYNC])
async def test_success_renews_it_from_the_moment_of_the_question(
    coordinator: Any, lease: WorkerLease, request_: Any
) -> None:
    assert (await coordinator._send_req(request_)).error_code == 0
    assert lease.held
    assert lease._until == min(lease.session_s, lease.rebalance_s)


async def test_the_answer_to_a_join_may_be_old_and_renews_nothing(
    coordinator: Any, lease: WorkerLease
) -> None:
    await coordinator._send_req(JOIN)
    assert not lease.held


@pytest.mark.parametrize(
    "error",
    [
        UnknownMemberIdError,
        IllegalGenerationError,
        GroupCoordinatorNotAvailableError,
        NotCoordinatorForGroupError,
    ],
)
async def test_another_answer_renews_nothing(coordinator: Any, lease: WorkerLease, error: Any) -> None:
    coordinator.answer = error
    for request in (HEARTBEAT, SYNC):
        await coordinator._send_req(request)
        assert not lease.held


async def test_a_heartbeat_that_fails_fails_as_before(coordinator: Any, lease: WorkerLease) -> None:
    coordinator.answer = GroupCoordinatorNotAvailableError()
    with pytest.raises(GroupCoordinatorNotAvailableError):
        await coordinator._send_req(HEARTBEAT)
    assert not lease.held


async def test_a_rebalance_renews_it_by_heartbeats_for_as_long_as_it_may_take(
    coordinator: Any, lease: WorkerLease
) -> None:
    await coordinator._send_req(HEARTBEAT)
    coordinator.answer = RebalanceInProgressError
    renewed = []
    for _ in range(6):
        await coordinator._send_req(HEARTBEAT)
        renewed.append(lease.held)
    assert renewed == [True, True, True, False, False, False]


async def test_a_sync_that_is_overtaken_by_a_rebalance_renews_nothing(
    coordinator: Any, lease: WorkerLease
) -> None:
    coordinator.answer = RebalanceInProgressError
    await coordinator._send_req(SYNC)
    assert not lease.held


async def test_when_aiokafka_forgets_its_generation_the_lease_is_lost(
    coordinator: Any, lease: WorkerLease
) -> None:
    await coordinator._send_req(HEARTBEAT)
    coordinator.reset_generation()
    assert not lease.held
    assert coordinator.forgot == 1
