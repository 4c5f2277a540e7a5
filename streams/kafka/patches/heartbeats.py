"""What the group coordinator says about this worker's membership, passed on to its lease."""

from __future__ import annotations

from typing import Any, Protocol

from aiokafka.errors import NoError, RebalanceInProgressError
from aiokafka.protocol.group import HeartbeatRequest, SyncGroupRequest


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
