"""Looking for the coordinator again, without a broker."""

from types import SimpleNamespace

import pytest
from aiokafka.client import CoordinationType
from aiokafka.errors import GroupAuthorizationFailedError, KafkaConnectionError, KafkaError
from aiokafka.producer.sender import Sender

from streams.kafka.patches.coordinators import find_coordinators


class Client:
    def __init__(self, *outcomes: KafkaError | int) -> None:
        self._outcomes = iter(outcomes)

    async def coordinator_lookup(self, coordinator_type: int, coordinator_key: str) -> int:
        assert (coordinator_type, coordinator_key) == (CoordinationType.GROUP, "eddy")
        outcome = next(self._outcomes)
        if isinstance(outcome, KafkaError):
            raise outcome
        return outcome

    async def force_metadata_update(self) -> None:
        """Nothing has changed."""

    async def ready(self, _node_id: int, *, group: object) -> bool:
        return group is not None


async def found(*outcomes: KafkaError | int) -> int:
    client = Client(*outcomes)
    find_coordinators(SimpleNamespace(client=client))
    sender = Sender(
        client,
        acks=-1,
        txn_manager=SimpleNamespace(transactional_id="eddy-sessions-0"),
        message_accumulator=None,
        retry_backoff_ms=0,
        request_timeout_ms=1000,
    )
    coordinator: int = await sender._find_coordinator(CoordinationType.GROUP, "eddy")
    return coordinator


async def test_another_broker_is_asked_when_the_connection_to_the_first_breaks() -> None:
    assert await found(KafkaConnectionError("closed"), KafkaConnectionError("closed"), 2) == 2


async def test_a_coordinator_that_refuses_is_not_asked_again() -> None:
    with pytest.raises(GroupAuthorizationFailedError):
        await found(GroupAuthorizationFailedError("eddy"), 2)
