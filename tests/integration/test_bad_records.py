"""Thousands of records nobody should send: each is accounted for, and the worker goes on."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from schemas.codec import Codec
from schemas.reason import Reason
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from tests.integration.load import HOUR_MS, Sending, as_avro, as_json, decision, load, partition_of
from tests.integration.stage import Stage

pytestmark = pytest.mark.integration

MAX_VALUE_BYTES = 20_000

HOSTILE = [
    "\0",
    "\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
    "\u202e\u0000\ufeff",
    "'; drop table sessions; --",
    "{{7*7}}${jndi:ldap://x}",
    "\N{PILE OF POO}" * 100,
    "a\r\nSet-Cookie: b",
    "../../etc/passwd",
]
ODD_VALUES: list[Any] = [
    None,
    True,
    -1,
    2**70,
    1e308,
    "",
    " ",
    [],
    {},
    [[]],
    [None],
    {"a": None},
    "\0",
    0.5,
    *HOSTILE,
]


def paths(value: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return where a record has something."""
    return [
        path
        for name, part in value.items()
        for path in [(name,), *((name, inner) for inner in (part if isinstance(part, dict) else ()))]
    ]


def one_field_changed(chance: random.Random, value: dict[str, Any]) -> bytes:
    """Return the record as JSON with a field missing, or of another type."""
    changed = orjson.loads(orjson.dumps(value))
    *outer, name = chance.choice(paths(changed))
    part = changed[outer[0]] if outer else changed
    if chance.random() < 0.3:
        del part[name]
    else:
        part[name] = chance.choice(ODD_VALUES)
    try:
        return orjson.dumps(changed)
    except TypeError:  # an integer that JSON knows and orjson does not write
        part[name] = "2" * 30
        return orjson.dumps(changed).replace(b'"' + b"2" * 30 + b'"', b"2" * 30)


def bytes_changed(chance: random.Random, raw: bytes) -> bytes:
    """Return the bytes with some flipped, cut off, doubled or put in."""
    at = chance.randrange(len(raw))
    match chance.randrange(4):
        case 0:
            return raw[:at]
        case 1:
            return raw[:at] + bytes([chance.randrange(256)]) + raw[at + 1 :]
        case 2:
            return raw[:at] + chance.randbytes(chance.randrange(1, 20)) + raw[at:]
        case _:
            return raw + raw[at:]


def nested(depth: int, value: dict[str, Any]) -> bytes:
    """Return the record with JSON nested deep inside it."""
    return as_json({**value, "extra": 0}).replace(b'"extra":0', b'"extra":' + b"[" * depth + b"]" * depth)


def bad_records(partitions: int, count: int) -> Iterator[Sending]:
    """Yield records, nearly all of which break the contract in some way."""
    chance = random.Random(2009)
    for number in range(count):
        session_id = f"bad{number % 50}"
        value = decision(session_id, number, intent=chance.choice(HOSTILE), tool_input=chance.choice(HOSTILE))
        record = Outgoing(session_id.encode(), as_json(value), value["meta"]["timestamp"])
        yield partition_of(session_id, partitions), spoilt(chance, record, value, number % 20)


def spoilt(  # noqa: C901, PLR0912 - a list of ways, each of one line
    chance: random.Random, record: Outgoing, value: dict[str, Any], kind: int
) -> Outgoing:
    # One way after another, so that each has its share.
    match kind:
        case 0:
            return record._replace(value=chance.randbytes(chance.randrange(200)))
        case 1:
            return record._replace(value=None)
        case 2:
            return record._replace(value=b"\0" + chance.randbytes(chance.randrange(100)))
        case 3:
            return record._replace(value=as_avro(value, schema_id=chance.randrange(2**32)))
        case 4:
            return record._replace(key=None)
        case 5:
            return record._replace(key=chance.choice([b"", b"other", b"\xff\xfe", record.key + b" "]))
        case 6:
            value["meta"]["timestamp"] = record.timestamp + HOUR_MS + 1
            return record._replace(value=as_json(value))
        case 7:
            return record._replace(value=as_json({**value, "task_type": "x" * MAX_VALUE_BYTES}))
        case 8:
            return record._replace(value=nested(chance.choice([99, 500, 5_000]), value))
        case 9:
            return record._replace(value=record.value + b"{}")
        case 10:
            # A dead letter that was sent again as it is.
            return record._replace(
                value=b"{", headers=[("__streams.errors.offset", b"1"), ("x-dlq-reason", b"key")]
            )
        case 11:
            return record._replace(headers=[("__value_schema_id", chance.randbytes(chance.randrange(20)))])
        case 12 | 13 | 14:
            return record._replace(value=bytes_changed(chance, as_avro(value)))
        case 15 | 16:
            return record._replace(value=bytes_changed(chance, as_json(value)))
        case _:
            return record._replace(value=one_field_changed(chance, value))


async def test_every_bad_record_is_a_dead_letter_with_its_bytes_and_the_worker_goes_on(stage: Stage) -> None:
    worker = stage.worker(max_value_bytes=MAX_VALUE_BYTES, run_max_records=500)
    await stage.send(bad_records(stage.partitions, 4000))
    await stage.send(itertools.islice(load(stage.partitions), 400))
    await stage.processed()
    verdict = await stage.verdict(codec=Codec.bundled(max_value_bytes=MAX_VALUE_BYTES))
    assert sum(verdict.repeated.values()) == 0
    reasons = Counter(
        dict(stored.headers)["x-dlq-reason"].decode() for stored in await stage.read(Topic.DEAD_LETTERS)
    )
    # An ordinary producer cannot write what the Kafka client cannot read: `tests/hostile` does.
    assert set(reasons) == set(Reason) - {Reason.UNREADABLE}
    assert await worker.metric("eddy_dead_letters_total") == sum(reasons.values())
    assert (await worker.get("/livez"))[0] == 200
