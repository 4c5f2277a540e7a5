"""Dead letters sent again from the console, on a broker: first what would become of them, then for good."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp.test_utils import TestServer

from schemas.codec import Codec
from streams.console.app import application
from streams.console.live_console import live_console
from streams.console.settings import ConsoleSettings
from streams.control.audit import AuditRecord
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers, connect
from streams.kafka.clock import now_ms
from streams.kafka.connection import Connection
from tests.integration.console_operator import Operator, logged_in
from tests.integration.load import as_json, decision, keyed
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, until

pytestmark = pytest.mark.integration

OVERSIZE = "oversize"
SEND = "/actions/dead-letters/redrive"


@pytest.fixture
async def brokers(stage: Stage) -> AsyncIterator[Brokers]:
    async with connect(Connection(stage.broker.bootstrap)) as connected:
        yield connected


@pytest.fixture
async def operator(stage: Stage, brokers: Brokers, tmp_path: Path) -> AsyncIterator[Operator]:
    """An operator of a console that allows larger values than the worker did when it set letters aside."""
    worker = stage.worker(max_value_bytes=2_000)
    await worker.ready()
    large = [decision(f"s-{number}", 0, tool_input="x" * 3_000) for number in range(12)]
    await stage.send(keyed(value, stage.partitions, as_json(value)) for value in large)
    await stage.send([keyed(decision("s-0", 1), stage.partitions, b"no record")])
    await stage.processed()
    settings = ConsoleSettings(_env_file=None, console_dir=tmp_path, web_port=0)
    async with (
        live_console(settings, brokers, Codec.bundled(), "here", now_ms, from_beginning=True) as live,
        TestServer(application(live[0], live[1])) as server,
        logged_in(live[0], str(server.make_url("")).rstrip("/")) as operator,
    ):

        async def all_are_known() -> bool:
            found: Any = await operator.reads_json("/dead-letters")
            return bool(found["matching"] == 13)

        await until(all_are_known, PATIENCE_SECONDS, "the letters")
        yield operator


async def places(operator: Operator, reason: str) -> list[str]:
    found: Any = await operator.reads_json(f"/dead-letters?reason={reason}")
    return [row["at"] for row in found["rows"]]


async def sent(operator: Operator, fields: list[tuple[str, str]], status: int = 200) -> dict[str, Any]:
    answer = await operator.posts(SEND, fields)
    said: dict[str, Any] = await answer.json()
    assert answer.status == status, said
    return said


async def held(brokers: Brokers) -> int:
    return len([each async for each in brokers.read(Topic.DECISION_LOGS)])


async def test_what_would_become_of_letters_is_told_and_nothing_is_sent(
    operator: Operator, brokers: Brokers
) -> None:
    before = await held(brokers)
    found: Any = await operator.reads_json("/dead-letters/redrive")
    assert found["outcomes"] == {"sent": 12, "sent_before": 0, "uncertain": 0, "useless": 1, "foreign": 0}
    [useless] = [row for row in found["rows"] if row["outcome"] == "useless"]
    assert useless["raw_value"]["why"].startswith("would come back: ")
    page = await operator.reads("/dead-letters/redrive")
    assert "Type 13 to confirm" in page
    assert "Nothing has been sent" in page
    one = (await places(operator, OVERSIZE))[0]
    said = await sent(operator, [("place", one), ("dry_run", "1")])
    assert said["outcomes"]["sent"] == 1
    assert await held(brokers) == before


async def test_a_letter_is_sent_once_and_the_audit_knows_before_and_after(
    operator: Operator, brokers: Brokers
) -> None:
    before, [one, *_] = await held(brokers), await places(operator, OVERSIZE)
    assert (await sent(operator, [("place", one), ("why", "the limit is higher now")]))["outcomes"][
        "sent"
    ] == 1
    assert (await sent(operator, [("place", one)]))["outcomes"]["sent_before"] == 1
    assert await held(brokers) == before + 1
    decoder = Codec.bundled().decoder("console-actions-value")
    told = [
        AuditRecord.of(decoder.decode(each.value, tuple(each.headers)))
        async for each in brokers.read(Topic.CONSOLE_ACTIONS)
    ]
    first, after, *_ = [each for each in told if each.kind == "redrive"]
    assert (first.id, first.result, after.id, after.result) == (after.id, None, first.id, "accepted")
    assert (first.target, first.why) == (one, "the limit is higher now")
    assert orjson.loads(first.request or "")["places"] == [one]


async def test_many_letters_need_their_number_and_go_by_a_filter(
    operator: Operator, brokers: Brokers
) -> None:
    before = await held(brokers)
    said = await sent(operator, [("reason", OVERSIZE)], 400)
    assert "type 12 into the field confirm" in said["detail"]
    assert await held(brokers) == before
    said = await sent(operator, [("reason", OVERSIZE), ("confirm", "12")])
    assert said["outcomes"]["sent"] == 12
    assert await held(brokers) == before + 12


@pytest.mark.parametrize(
    "fields", [[], [("place", "0:0"), ("reason", "x")], [("place", "zero")], [("reason", "none")]]
)
async def test_letters_that_are_not_named_are_refused(
    operator: Operator, fields: list[tuple[str, str]]
) -> None:
    assert (await sent(operator, fields, 400))["detail"]


async def test_without_a_script_the_form_answers_with_the_fates(operator: Operator) -> None:
    [one, *_] = await places(operator, OVERSIZE)
    answer = await operator.posts(SEND, [("place", one)], accept="text/html")
    page = await answer.text()
    assert answer.status == 200, page
    assert "Sent again" in page
