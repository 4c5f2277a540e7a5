"""Which answers of the group coordinator renew the lease of a worker, and which words of aiokafka end it."""

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    IllegalGenerationError,
    NoError,
    NotCoordinatorForGroupError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from aiokafka.protocol.group import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest

from streams.kafka.patches.heartbeats import keep_lease
from streams.worker.delivery.lease import WorkerLease

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
