"""Looking for the leader again, without a broker."""

from types import SimpleNamespace

import pytest
from aiokafka.consumer.fetcher import Fetcher
from aiokafka.errors import KafkaError, NotLeaderForPartitionError, RequestTimedOutError

from streams.kafka.patches.leaders import follow_leaders


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
