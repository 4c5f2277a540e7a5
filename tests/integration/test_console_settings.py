"""Settings from the console, on a broker: tried on what was and on what comes, set, and told by the audit."""

from __future__ import annotations

import time
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
from streams.operate.explain.settings_topic import in_force, records, tried_out
from tests.integration.console_operator import Operator, logged_in
from tests.integration.load import decision, keyed
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, until

pytestmark = pytest.mark.integration

WHY = "fewer pages at night"
STRICTER = orjson.dumps({"identical_warn": 2, "identical_loop": 3}).decode()


class Desk:
    """An operator at a running console, and what the brokers hold afterwards."""

    def __init__(self, operator: Operator, brokers: Brokers) -> None:
        self.operator = operator
        self._brokers = brokers

    async def does(self, action: str, status: int = 200, **fields: str) -> dict[str, Any]:
        answer = await self.operator.posts(f"/actions/settings/{action}", fields)
        said: dict[str, Any] = await answer.json()
        assert answer.status == status, said
        return said

    async def audit(self) -> list[AuditRecord]:
        decoder = Codec.bundled().decoder("console-actions-value")
        found = [
            AuditRecord.of(decoder.decode(each.value, tuple(each.headers)))
            async for each in self._brokers.read(Topic.CONSOLE_ACTIONS)
        ]
        return [each for each in found if each.kind in ("settings", "shadow")]


@pytest.fixture
async def brokers(stage: Stage) -> AsyncIterator[Brokers]:
    async with connect(Connection(stage.broker.bootstrap)) as connected:
        yield connected


@pytest.fixture
async def desk(brokers: Brokers, tmp_path: Path) -> AsyncIterator[Desk]:
    settings = ConsoleSettings(_env_file=None, console_dir=tmp_path, web_port=0)
    async with (
        live_console(settings, brokers, Codec.bundled(), "here", now_ms, from_beginning=True) as live,
        TestServer(application(live[0], live[1])) as server,
        logged_in(live[0], str(server.make_url("")).rstrip("/")) as operator,
    ):
        yield Desk(operator, brokers)


async def test_a_change_is_audited_first_published_and_in_force_for_who_made_it(
    desk: Desk, brokers: Brokers
) -> None:
    said = await desk.does("apply", changes='{"cycle_loop": 5}', why=WHY, based_on="0")
    assert (said["place"], said["visible"]) == ([0, 0], True)
    settings = in_force(await records(brokers))
    assert (settings.version, settings.cycle_loop) == (1, 5)
    before, after = await desk.audit()
    assert (before.id, before.result, after.id, after.result) == (after.id, None, before.id, "accepted")
    assert (after.target, after.why, after.result_place) == ("version 1", WHY, "detector-config/0/0")
    assert orjson.loads(after.request or "") == {
        "changes": {"cycle_loop": 5},
        "based_on": 0,
        "backtest": None,
        "shadow": False,
    }
    page = await desk.operator.reads("/settings")
    assert "Version 1 is in force" in page
    assert WHY in page


async def test_who_was_second_is_told_and_changes_nothing(desk: Desk, brokers: Brokers) -> None:
    await desk.does("apply", changes='{"cycle_loop": 5}', why=WHY, based_on="0")
    said = await desk.does("apply", 409, changes='{"cycle_loop": 6}', why=WHY, based_on="0")
    assert "Version 1 is in force by now" in said["detail"]
    assert len(await records(brokers)) == 1


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"changes": '{"cycle_loop": "many"}', "why": WHY, "based_on": "0"}, "must be an integer"),
        ({"changes": '{"cycle_loops": 5}', "why": WHY, "based_on": "0"}, "did you mean cycle_loop"),
        ({"changes": '{"cycle_loop": 5}', "why": "short", "based_on": "0"}, "Say why"),
        ({"changes": '{"cycle_loop": 5}', "why": WHY, "based_on": "x"}, "is no version"),
        ({"changes": '{"cycle_loop": 3}', "why": WHY, "based_on": "0"}, "has these values already"),
        ({"changes": "cycle_loop=5", "why": WHY, "based_on": "0"}, "no JSON object"),
    ],
)
async def test_a_change_that_is_not_acceptable_is_not_published(
    desk: Desk, brokers: Brokers, fields: dict[str, str], told: str
) -> None:
    said = await desk.does("apply", 400, **fields)
    assert told in said["detail"]
    assert not await records(brokers)
    assert not await desk.audit()


async def test_a_proposal_is_tried_out_shown_and_ended(desk: Desk, brokers: Brokers) -> None:
    await desk.does("shadow", changes='{"cycle_loop": 5}', why="to see what differs")
    tried = tried_out(await records(brokers, Topic.SHADOW_CONFIG))
    assert tried.settings is not None
    assert tried.settings.cycle_loop == 5
    assert "It is tried out now" in await desk.operator.reads("/settings/propose?cycle_loop=5")
    await desk.does("shadow/clear", why="seen enough of it")
    assert tried_out(await records(brokers, Topic.SHADOW_CONFIG)).settings is None
    assert {each.kind for each in await desk.audit()} == {"shadow"}
    said = await desk.does("shadow/clear", 400, why="seen enough of it")
    assert "Nothing is tried out" in said["detail"]


async def test_a_backtest_tells_what_would_have_differed_and_the_audit_that_it_was_run(
    desk: Desk, stage: Stage
) -> None:
    now = int(time.time() * 1000)
    sent = []
    for number in range(6):
        value = decision("s-17", number, intent="list the files", tool_input='{"path": "."}')
        value["meta"]["timestamp"] = now - 6_000 + number * 1_000
        sent.append(keyed(value, stage.partitions))
    await stage.send(sent)
    begun = await desk.does("backtest", changes=STRICTER, hours="1")

    async def page() -> str:
        return await desk.operator.reads(f"/settings/backtest?id={begun['id']}")

    async def ended() -> bool:
        return "Judging" not in await page()

    await until(ended, PATIENCE_SECONDS, "the backtest to end")
    told = await page()
    assert "s-17" in told
    assert "earlier under B" in told
    await desk.does("apply", changes=STRICTER, why=WHY, based_on="0", backtest=begun["id"])
    *_, after = await desk.audit()
    assert orjson.loads(after.request or "")["backtest"] == "last 1 h"


async def test_a_backtest_of_nothing_is_refused(desk: Desk) -> None:
    said = await desk.does("backtest", 400, changes=STRICTER, hours="1")
    assert "holds no record of the last 1 hours" in said["detail"]
    said = await desk.does("backtest", 400, changes="{}", hours="1")
    assert "nothing to compare" in said["detail"]


async def test_old_settings_are_one_proposal_away(desk: Desk) -> None:
    await desk.does("apply", changes='{"cycle_loop": 5}', why=WHY, based_on="0")
    await desk.does("apply", changes='{"cycle_loop": 6}', why=WHY, based_on="1")
    history = await desk.operator.reads("/settings/history")
    assert "/settings/propose?cycle_loop=5" in history
    assert "Go back to 1" in history
    diff = await desk.operator.reads("/settings/diff?a=0&b=2")
    assert '<code class="was">3</code>' in diff
    assert '<code class="now">6</code>' in diff
