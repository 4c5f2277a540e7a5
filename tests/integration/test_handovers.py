"""Two agents that hand each other the same task are alerted, whatever happens to the worker."""

import orjson
import pytest

from streams.core.domain.topic import Topic
from streams.kafka.client import Stored
from streams.worker.crash_point import CrashPoint
from streams.worker.options import AGGREGATES
from tests.integration.load import Sending, decision, keyed, partition_of
from tests.integration.reference_fold import value_of
from tests.integration.stage import SOON_MISSED, Stage

pytestmark = pytest.mark.integration

KILLED = 128 + 9
AGENTS = {"coder": "tester", "tester": "coder"}


def sessions(partitions: int) -> dict[str, str]:
    """Return a session for each agent, each in another partition."""
    one, two = "coder", "tester"
    other = next(
        name
        for name in (f"{two}-{number}" for number in range(100))
        if partition_of(name, partitions) != partition_of(one, partitions)
    )
    return {one: one, two: other}


def ping_pong(partitions: int, rounds: range, *, works: bool = False) -> list[Sending]:
    sent = []
    for number in rounds:
        for agent, session in sessions(partitions).items():
            text = f"Please check the table of the report again, {number}"
            arguments = orjson.dumps({"to": AGENTS[agent], "text": text}).decode()
            values = [decision(session, 2 * number, tool_call="send_message", tool_input=arguments)]
            if works:
                values.insert(0, decision(session, 2 * number - 1, tool_call="edit_file"))
            for value in values:
                value["identity"]["agent_id"] = agent
                value["meta"]["trace_id"] = session
                sent.append(keyed(value, partitions))
    return sent


async def alerts(stage: Stage) -> list[Stored]:
    stored = await stage.read(Topic.SESSION_ALERTS)
    return [each for each in stored if value_of(each)["event_type"] == "handover_loop"]


def told(stage: Stage) -> set[tuple[str, str, str, int]]:
    """Return session, other session, level and partition of each alert that is due."""
    one, two = sessions(stage.partitions).values()
    return {
        (session, other, level, partition_of(session, stage.partitions))
        for session, other in ((one, two), (two, one))
        for level in ("WARNING", "LOOP")
    }


def said(found: list[Stored]) -> list[tuple[str, str, str, int]]:
    values = [(value_of(each), each.partition) for each in found]
    return [(value["session_id"], value["chain_id"], value["level"], at) for value, at in values]


async def test_each_session_is_alerted_once_per_level_in_its_own_partition(stage: Stage) -> None:
    stage.worker()
    await stage.send(ping_pong(stage.partitions, range(1, 13)))
    await stage.processed()
    found = await alerts(stage)
    assert sorted(said(found)) == sorted(told(stage))
    assert {each.key.decode() for each in found if each.key} == set(sessions(stage.partitions).values())


async def test_agents_that_work_in_between_are_no_ping_pong(stage: Stage) -> None:
    stage.worker()
    await stage.send(ping_pong(stage.partitions, range(1, 13), works=True))
    await stage.processed()
    assert await alerts(stage) == []


@pytest.mark.parametrize("point", [CrashPoint.FOLDED, CrashPoint.OUTPUTS_ACKED, CrashPoint.STORED])
async def test_a_worker_killed_in_between_loses_no_alert_and_tells_none_otherwise(
    stage: Stage, point: CrashPoint
) -> None:
    first = stage.worker(crash_point=f"{AGGREGATES}.{point}:1", **SOON_MISSED)
    await stage.send(ping_pong(stage.partitions, range(1, 6)))
    assert await first.ended() == KILLED, first.tail()
    stage.worker(directory=first.directory / "data")
    await stage.send(ping_pong(stage.partitions, range(6, 13)))
    await stage.processed()
    found = await alerts(stage)
    assert set(said(found)) == told(stage)
    by_id = {value_of(each)["id"]: each.value for each in found}
    assert len(by_id) == len(told(stage))
    assert all(each.value == by_id[value_of(each)["id"]] for each in found)
