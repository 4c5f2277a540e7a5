"""An agent with `eddy_client`, a worker, and a reader of its alerts: the whole way."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from eddy_client import Alert, Eddy, alerts

from streams.core.domain.topic import Topic
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from streams.worker.effects import key_partition
from tests.integration.brokers import Broker
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS

pytestmark = pytest.mark.integration

CALLS = 8


def idempotence(broker: Broker) -> dict[str, str]:
    return {"enable.idempotence": str(broker.kind == "kafka").lower()}


def work(broker: Broker, sessions: Sequence[str]) -> Eddy:
    """Let an agent go in circles in each of its sessions."""
    eddy = Eddy(broker.bootstrap, agent="coder-7", kafka=idempotence(broker))
    for name in sessions:
        with eddy.session(name, goal="fix the build") as session:
            for _ in range(CALLS):
                with session.tool("shell", {"command": "make"}) as step:
                    step.failed("no rule to make target")
                session.tokens(100)
    eddy.close(PATIENCE_SECONDS)
    return eddy


@pytest.mark.parametrize("form", ["avro", "json"])
async def test_the_loop_of_an_agent_comes_back_as_an_alert(
    stage: Stage, stage_broker: Broker, form: str
) -> None:
    names = [f"session-{number}" for number in range(12)]
    worker = stage.worker(output_format=form)
    await worker.ready()
    eddy = await asyncio.to_thread(work, stage_broker, names)
    assert eddy.stats == (len(names) * (CALLS + 1), 0, 0, 0, 0)

    def read() -> dict[str, list[Alert]]:
        found: dict[str, list[Alert]] = {name: [] for name in names}
        for alert in alerts(stage_broker.bootstrap, from_beginning=True, idle_s=PATIENCE_SECONDS):
            found[alert.session_id].append(alert)
            if all(any(each.level == "LOOP" for each in of_one) for of_one in found.values()):
                break
        return found

    found = await asyncio.to_thread(read)
    for name, of_one in found.items():
        loop = next(each for each in of_one if each.level == "LOOP")
        assert (loop.kind, loop.agent_id, loop.rule) == ("loop_episode", "coder-7", "R1"), name
        assert len({each.alert_id for each in of_one}) == len(of_one)
    assert not await stage.read(Topic.DEAD_LETTERS)


async def test_records_stand_in_the_partition_of_their_session_as_those_of_any_kafka_client(
    stage: Stage, stage_broker: Broker
) -> None:
    names = [f"session-{number}" for number in range(20)]
    await asyncio.to_thread(work, stage_broker, names)
    async with connect(Connection(stage_broker.bootstrap)) as brokers:
        stored = [each async for each in brokers.read(Topic.DECISION_LOGS)]
    assert {each.key for each in stored} == {name.encode() for name in names}
    for each in stored:
        assert each.partition == key_partition(each.key, stage.partitions)
        assert dict(each.headers)["eddy-source"] == b"eddy-client"


async def test_the_alert_that_a_reader_of_a_group_did_not_finish_comes_again(
    stage: Stage, stage_broker: Broker
) -> None:
    worker = stage.worker(output_format="json")
    await worker.ready()
    await asyncio.to_thread(work, stage_broker, ["a"])

    def some(count: int) -> list[str]:
        found = []
        for alert in alerts(
            stage_broker.bootstrap, group="people", from_beginning=True, idle_s=PATIENCE_SECONDS
        ):
            found.append(alert.alert_id)
            if len(found) == count:
                break
        return found

    first = await asyncio.to_thread(some, 2)
    assert await asyncio.to_thread(some, 1) == first[1:]
