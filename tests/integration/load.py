"""Input for the job: endless, the same each time, with everything in it that a topic holds in real life."""

from __future__ import annotations

import itertools
import time
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import fastavro
import orjson

from schemas.bundled import versions
from streams.core.domain.erasure import order_record
from streams.core.domain.record import Outgoing

#: A record and the partition it goes to.
Sending = tuple[int, Outgoing]

HOUR_MS = 3_600_000

# Far enough back that nothing is ahead of the broker's clock, and recent enough for the topics' retention.
_START_MS = int(time.time()) // 3600 * HOUR_MS - 48 * HOUR_MS

# Producers are upgraded after Eddy: every version of it reads this one.
_SCHEMA = versions("decision-logs-value")[0]


def decision(session_id: str, number: int, **action: Any) -> dict[str, Any]:
    """Return a valid record; each has an intent of its own unless it is given one."""
    return {
        "session_id": session_id,
        "event_id": f"{session_id}:{number}",
        "meta": {"trace_id": "t", "timestamp": _START_MS + number * 1000},
        "identity": {"agent_id": "agent", "agent_type": "coder"},
        "cognition": {"intent": action.pop("intent", f"step {number}")},
        "action": {"status": "success", "tool_call": "shell", **action},
    }


def as_json(value: dict[str, Any]) -> bytes:
    """Return a value as producers without Avro write it."""
    return orjson.dumps(value)


def as_avro(value: dict[str, Any], schema_id: int = _SCHEMA.id) -> bytes:
    """Return a value in the Confluent wire format."""
    stream = BytesIO()
    fastavro.schemaless_writer(stream, _SCHEMA.parsed, value)
    return b"\0" + schema_id.to_bytes(4, "big") + stream.getvalue()


def partition_of(session_id: str, partitions: int) -> int:
    """Return where a session's records go; any function of the session would do."""
    return zlib.crc32(session_id.encode()) % partitions


def keyed(value: dict[str, Any], partitions: int, raw: bytes | None = None) -> Sending:
    """Return a record as its producer sends it."""
    session_id = value["session_id"]
    record = Outgoing(session_id.encode(), as_json(value) if raw is None else raw, value["meta"]["timestamp"])
    return partition_of(session_id, partitions), record


#: Which of the ways of `spoilt` is an order.
_ORDER = 7


def load(partitions: int, sessions: int = 40, *, orders: bool = True) -> Iterator[Sending]:
    """Yield records of ``sessions`` sessions for ever, without orders to forget them if a reader knows none.

    A fourth of them repeats one call, a fourth goes to and fro between two, a fourth fails, and a fourth is
    healthy. Each ends from time to time and begins anew, one way or the other. About one record in forty is
    not acceptable, or orders to forget its session. Every second session speaks Avro. There are three agents
    and two types of task.
    """
    for number in itertools.count():
        which = number % sessions
        session_id = f"s{which}"
        turn = number // sessions
        value = next_turn(session_id, which, number, turn)
        if turn % 11 == 10 and which % 3 == 0:
            value["control"] = {"is_terminal": True}
        if which % 7 == 6:
            # The next turn comes after the session has expired, every fifth time at first.
            value["meta"]["timestamp"] += min(turn // 5 - 20, 0) * 25 * HOUR_MS
        partition, record = keyed(value, partitions, as_avro(value) if which % 2 else None)
        record = record._replace(timestamp=_START_MS + number * 1000)
        if number % 41 == 40:
            which_way = number // 41
            yield partition, spoilt(record, value, which_way if orders or which_way % 9 != _ORDER else 0)
        else:
            yield partition, record


def next_turn(session_id: str, which: int, number: int, turn: int) -> dict[str, Any]:
    """Return the value of a session's record; one in four loops, goes to and fro, fails, or is healthy.

    Args:
        session_id: Its id.
        which: Its number: decides on its sort, its agent and its type of task.
        number: The number of the record, among all.
        turn: The turn of the record, in its session.

    The eighth session uses many times the tokens of its kind.
    """
    value = _turn(session_id, which % 4, number, turn)
    value["identity"]["agent_id"] = f"agent-{which % 3}"
    value["task_type"] = ("api", "refactoring")[which % 2]
    value["state_delta"] = {
        "tokens_consumed": 3_000 if which == 7 else 100 + which,
        "cumulative_session_cost": turn * 0.01,
        "progress_delta": (0.0, 0.01, 0.0, 0.05)[which % 4],
    }
    return value


def _turn(session_id: str, kind: int, number: int, turn: int) -> dict[str, Any]:
    match kind:
        case 0:
            return decision(session_id, number, intent="list the files", tool_input='{"path": "."}')
        case 1:
            return decision(session_id, number, intent=("edit", "test")[turn % 2], tool_input="{}")
        case 2:
            return decision(
                session_id, number, intent="build", status="failure", error="exit 1: no such file"
            )
        case _:
            return decision(session_id, number, tool_input=f'{{"file": "{number}.py"}}')


def spoilt(record: Outgoing, value: dict[str, Any], which: int) -> Outgoing:
    """Return a record of this value as one that is not acceptable, in one of eight ways, or as an order."""
    match which % 9:
        case 0:
            return record._replace(value=b"\xff\xfenothing known")
        case 1:
            return record._replace(value=None)
        case 2:
            return record._replace(value=as_json({**value, "event_id": ""}))
        case 3:
            return record._replace(key=b"somebody else")
        case 4:
            return record._replace(key=None)
        case 5:
            value["meta"]["timestamp"] = record.timestamp + 2 * HOUR_MS
            return record._replace(value=as_json(value))
        case 6:
            return record._replace(value=as_avro(value, schema_id=77))
        case 7:  # `_ORDER`
            return order_record(value["session_id"], "load", record.timestamp)
        case _:
            return record._replace(value=as_avro(value)[:-5])


#: Who hands to whom.
_PEERS = {"coder": "tester", "tester": "coder"}


def handing_sessions(partitions: int) -> dict[str, str]:
    """Return a session for each agent, each in another partition."""
    one, two = "coder", "tester"
    other = next(
        name
        for name in (f"{two}-{number}" for number in range(100))
        if partition_of(name, partitions) != partition_of(one, partitions)
    )
    return {one: one, two: other}


def ping_pong(partitions: int, rounds: range, *, works: bool = False) -> list[Sending]:
    """Return what two agents send that hand each other the same task; with ``works`` they do something."""
    sent = []
    for number in rounds:
        for agent, session in handing_sessions(partitions).items():
            text = f"Please check the table of the report again, {number}"
            arguments = orjson.dumps({"to": _PEERS[agent], "text": text}).decode()
            values = [decision(session, 2 * number, tool_call="send_message", tool_input=arguments)]
            if works:
                values.insert(0, decision(session, 2 * number - 1, tool_call="edit_file"))
            for value in values:
                value["identity"]["agent_id"] = agent
                value["meta"]["trace_id"] = session
                sent.append(keyed(value, partitions))
    return sent
