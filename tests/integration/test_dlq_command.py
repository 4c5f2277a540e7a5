"""`eddy dlq`: letters that a worker has written, looked at, and sent again once their cause is gone."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from streams.operate.redrive.memory import Mark, mark_record
from tests.integration.load import HOUR_MS, Sending, as_json, decision, keyed, partition_of
from tests.integration.stage import Stage

pytestmark = pytest.mark.integration

LIMIT = 2_000
PARTITIONS = 4


def ahead(number: int, session: str = "early") -> Sending:
    """Return a record that was written before its own time, as the broker's clock sees it."""
    partition, record = keyed(decision(session, number), PARTITIONS)
    return partition, record._replace(
        timestamp=record.timestamp - 2 * HOUR_MS,
        headers=[("traceparent", b"00-1"), ("x-dlq-reason", b"mine")],
    )


def large(number: int) -> Sending:
    return keyed(decision("large", number, tool_input="x" * LIMIT), PARTITIONS)


def broken(number: int) -> Sending:
    value = decision("broken", number)
    del value["action"]["status"]
    return keyed(value, PARTITIONS)


def unkeyed(number: int) -> Sending:
    value = decision("unkeyed", number)
    return partition_of("unkeyed", PARTITIONS), Outgoing(None, as_json(value), value["meta"]["timestamp"])


async def listed(stage: Stage, *words: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the letters that `eddy dlq list` prints, and its last line."""
    printed = await stage.command("dlq", "list", "--json", *words, max_value_bytes=LIMIT)
    *letters, last = map(json.loads, printed.splitlines())
    return letters, last


async def redriven(stage: Stage, *words: str, status: int, **settings: object) -> list[dict[str, Any]]:
    """Return what `eddy dlq redrive` prints, letters and sum."""
    settings = {"max_value_bytes": LIMIT, **settings}
    ended, printed, complained = await stage.attempt("dlq", "redrive", "--json", *words, **settings)
    assert (ended, complained) == (status, ""), printed
    return [json.loads(line) for line in printed.splitlines()]


@pytest.fixture
async def letters(stage: Stage) -> list[Sending]:
    """Let a worker set records aside; return those that a change of settings makes acceptable."""
    worker = stage.worker(max_value_bytes=LIMIT)
    early = [ahead(number) for number in range(3)]
    sent = [*early, *map(large, range(2)), *map(broken, range(2)), unkeyed(0)]
    await stage.send(sent)
    await stage.send([keyed(decision("fine", 0), PARTITIONS)])
    await stage.processed()
    worker.terminate()
    assert await worker.ended() == 0, worker.tail()
    return early


async def test_letters_are_listed_shown_and_counted(
    stage: Stage, letters: list[Sending], tmp_path: Path
) -> None:
    found, last = await listed(stage)
    assert last == {"letters": 8, "reasons": {"future": 3, "oversize": 2, "schema_violation": 2, "key": 1}}
    assert Counter(letter["reason"] for letter in found) == last["reasons"]
    assert {letter["consumer_group"] for letter in found} == {stage.application_id}
    for letter in found:
        assert letter["source"]["topic"] == Topic.DECISION_LOGS
        assert letter["source"]["partition"] == letter["partition"]

    by_session, last = await listed(stage, "--session", "unkeyed")
    assert ([letter["key"] for letter in by_session], last["letters"]) == ([None], 1)
    by_problem, _ = await listed(stage, "--problem", "action.status", "--reason", "schema_violation")
    assert [letter["key"] for letter in by_problem] == ["broken", "broken"]
    until, _ = await listed(stage, "--to", _place(by_problem[1]), "--reason", "schema_violation")
    assert until == by_problem[:1]

    place = _place(by_problem[1])
    text = await stage.command("dlq", "show", place, "--save", str(tmp_path / "value"), max_value_bytes=LIMIT)
    assert "  what was wrong   action.status: " in text
    assert "(at validate)" in text
    assert "would come back: schema_violation: action.status" in text
    assert '"session_id": "broken"' in text
    assert (tmp_path / "value").read_bytes() == broken(1)[1].value
    shown = json.loads(await stage.command("dlq", "show", place, "--json", max_value_bytes=LIMIT))
    assert shown["value"] == orjson.loads(broken(1)[1].value)
    assert bytes.fromhex(shown["value_hex"]) == broken(1)[1].value

    assert (await stage.attempt("dlq", "show", place, max_value_bytes=LIMIT))[::2] == (0, "")
    status, _, complained = await stage.attempt("dlq", "show", "0:999999")
    assert (status, complained.split(":")[0]) == (2, "eddy")


async def test_what_was_repaired_is_sent_again_once_and_scored(stage: Stage, letters: list[Sending]) -> None:
    before = await stage.read(Topic.DECISION_LOGS)

    # Those that were ahead of their time are not any more; nothing has changed for the others.
    *told, summed = await redriven(stage, "--all", "--dry-run", status=1)
    assert Counter((each["reason"], each["fate"]) for each in told) == {
        ("future", "sent"): 3,
        ("oversize", "useless"): 2,
        ("schema_violation", "useless"): 2,
        ("key", "useless"): 1,
    }
    assert (summed["dry_run"], summed["sent"], summed["useless"]) == (True, 3, 5)
    assert await stage.read(Topic.DECISION_LOGS) == before
    assert await stage.read(Topic.REDRIVEN) == []

    status, _, complained = await stage.attempt("dlq", "redrive", "--all")
    assert status == 2
    assert "--yes" in complained

    began = time.time()
    await redriven(stage, "--reason", "future", "--yes", status=0)
    # The limit is raised for the workers, and for the command that asks whether it would help.
    await redriven(stage, "--reason", "oversize", "--yes", status=0, max_value_bytes=10 * LIMIT)
    after = await stage.read(Topic.DECISION_LOGS)
    places = {(each.partition, each.offset) for each in before}
    again = [each for each in after if (each.partition, each.offset) not in places]
    wanted = [*letters, large(0), large(1)]
    assert sorted((each.partition, each.key, each.value) for each in again) == sorted(
        (partition, record.key, record.value) for partition, record in wanted
    )
    own = {record.value: list(record.headers) for _, record in wanted}
    for each in again:
        assert list(each.headers) == [*own[each.value], ("x-redrive-count", b"1")]
        assert int(began * 1000) <= each.timestamp <= time.time() * 1000

    for each in again:
        stage.sent[each.partition] = max(stage.sent[each.partition], each.offset + 1)
    stage.worker(max_value_bytes=10 * LIMIT)
    await stage.processed()
    scored = Counter(each.key for each in await stage.read(Topic.ENRICHED))
    assert scored == {b"early": 3, b"large": 2, b"fine": 1}

    # A second time nothing happens, and that is no problem.
    *told, summed = await redriven(
        stage, "--reason", "future", "--reason", "oversize", "--yes", status=0, max_value_bytes=10 * LIMIT
    )
    assert (summed["sent"], summed["sent_before"]) == (0, 5)
    assert len(await stage.read(Topic.DECISION_LOGS)) == len(after)
    early = next(each for each in told if each["reason"] == "future")
    _, summed = await redriven(stage, "--again", "--yes", _place(early), status=0)
    assert summed["sent"] == 1


async def test_what_would_come_back_goes_only_when_it_is_forced_and_comes_back_counted(
    stage: Stage, letters: list[Sending]
) -> None:
    [letter], _ = await listed(stage, "--reason", "key")
    place = _place(letter)
    told, _ = await redriven(stage, place, "--yes", status=1)
    assert (told["fate"], told["why"]) == (
        "useless",
        "would come back: key: key: missing, must be the session_id of the record",
    )
    await redriven(stage, place, "--yes", "--force", status=0)
    stage.sent[letter["partition"]] += 1
    stage.worker(max_value_bytes=LIMIT)
    await stage.processed()
    first, second = (await listed(stage, "--reason", "key"))[0]
    assert (first["redrives"], second["redrives"]) == (0, 1)
    assert second["source"]["offset"] > first["source"]["offset"]
    shown = json.loads(await stage.command("dlq", "show", _place(second), "--json"))
    assert shown["headers"] == [["x-redrive-count", "1"]]


async def test_a_run_that_was_interrupted_leaves_letters_that_nobody_sends_by_accident(
    stage: Stage, letters: list[Sending]
) -> None:
    found, _ = await listed(stage, "--reason", "future")
    source = found[1]["source"]
    begun = mark_record(source["partition"], source["offset"], Mark("gone", 1, done=False), 0)
    async with connect(Connection(stage.broker.bootstrap)) as brokers:
        await brokers.write(Topic.REDRIVEN, [(source["partition"], begun)])
        # Another worker may have written the same letter, as after a crash.
        double = (await stage.read(Topic.DEAD_LETTERS))[0]
        [twin] = [
            each
            for each in await stage.read(Topic.DEAD_LETTERS)
            if f"{each.partition}:{each.offset}" == _place(found[2])
        ]
        row = Outgoing(twin.key, twin.value, twin.timestamp, list(twin.headers))
        await brokers.write(Topic.DEAD_LETTERS, [(twin.partition, row)])
        foreign = Outgoing(b"x", b"\x1b[2J", double.timestamp, [("x-dlq-reason", b"\x1b[2J")])
        await brokers.write(Topic.DEAD_LETTERS, [(0, foreign)])

    *told, summed = await redriven(stage, "--reason", "future", "--reason", "other", "--yes", status=1)
    assert {fate: summed[fate] for fate in ("sent", "sent_before", "uncertain", "foreign")} == {
        "sent": 2,
        "sent_before": 1,
        "uncertain": 1,
        "foreign": 1,
    }
    [uncertain] = [each for each in told if each["fate"] == "uncertain"]
    assert _place(uncertain) == _place(found[1])
    _, summed = await redriven(stage, "--yes", "--again", _place(found[1]), status=0)
    assert summed["sent"] == 1

    text = await stage.command("dlq", "list", "--reason", "other", max_value_bytes=LIMIT)
    assert all(line.isprintable() for line in text.splitlines())
    assert text.splitlines()[-1] == "1 dead letter: other 1"


def _place(letter: dict[str, Any]) -> str:
    return f"{letter['partition']}:{letter['offset']}"
