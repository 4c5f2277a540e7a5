"""Pause and Inspect: a looping session stands in the panel once, is paused with two clicks, and stops.

Runs on the broker that `--broker` names, with a worker and agents under a real guard.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from eddy_client import Eddy, Guard

from tests.browser.conftest import PATIENCE_MS, Site
from tests.browser.console_process import ConsoleProcess
from tests.browser.watched import Trouble
from tests.integration.brokers import Broker, new_broker
from tests.integration.stage import Stage

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

MANY_ALERTS = 10
STEP_S = 0.2


class Agent(threading.Thread):
    """An agent in a circle: the same call, the same answer.

    Args:
        broker: Where its records go, and its commands come from.
        session_id: Its session.
        obeys: Whether it waits while its session is paused. Otherwise its guard does, and it does not care.
    """

    def __init__(self, broker: Broker, session_id: str, *, obeys: bool) -> None:
        super().__init__(daemon=True)
        options = {"enable.idempotence": str(broker.kind == "kafka").lower()}
        self._eddy = Eddy(broker.bootstrap, agent="coder-7", kafka=options)
        self._guard = Guard.kafka(broker.bootstrap, kafka=options)
        self.guarded = self._guard.session(session_id, agent_id="coder-7")
        self._obeys = obeys
        self._session_id = session_id
        self.steps = 0
        self.enough = threading.Event()

    def run(self) -> None:
        if not self._obeys:
            threading.Thread(target=self._wait, daemon=True).start()
        session = self._eddy.session(self._session_id, goal="find the setting")
        while not self.enough.wait(STEP_S):
            if self._obeys:
                self.guarded.check()
            with session.tool("Read", {"file_path": "config.yaml"}) as step:
                step.result = "cycle: monthly"
            session.tokens(900)
            self.steps += 1

    def _wait(self) -> None:
        while not self.enough.wait(STEP_S):
            self.guarded.check()

    def close(self) -> None:
        self.enough.set()
        self._guard.close()
        self._eddy.close()


@pytest.fixture(scope="module")
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker with a worker."""
    directory = tmp_path_factory.mktemp("broker")
    with new_broker(request.config.getoption("--broker"), directory) as running:
        stage = Stage(running, tmp_path_factory.mktemp("stage"), application_id="eddy")
        try:
            with ThreadPoolExecutor(1) as elsewhere:  # the browser has a loop in this thread
                elsewhere.submit(lambda: asyncio.run(_prepared(stage))).result()
            yield running
        finally:
            stage.close()


async def _prepared(stage: Stage) -> None:
    await stage.create_topics()
    await stage.worker().ready()


@pytest.fixture
def board(browser: Browser, broker: Broker, tmp_path: Path, trouble: Trouble) -> Iterator[Page]:
    """The alerts, in a console of its own."""
    process = ConsoleProcess(["--bootstrap-servers", broker.bootstrap], tmp_path / "console")
    try:
        with ExitStack() as stack:
            page = Site(browser, process.link()).context(stack, trouble).new_page()
            page.goto("/alerts")
            yield page
    finally:
        process.kill()


def pause(page: Page, session_id: str) -> None:
    """Press Pause and Inspect in the row, and confirm."""
    row = page.locator(f"tr[data-key='{session_id}']")
    row.get_by_text("Pause and Inspect").click()
    page.get_by_role("button", name="Pause the session").click()
    page.locator("#control", has_text=re.compile(r"paused 0:\d\d")).wait_for(timeout=PATIENCE_MS)


def test_a_session_is_paused_with_two_clicks_and_resumed(board: Page, broker: Broker) -> None:
    agent = Agent(broker, "in-a-circle", obeys=True)
    agent.start()
    try:
        row = board.locator("tr[data-key='in-a-circle']")
        row.wait_for(timeout=2 * PATIENCE_MS)
        while agent.steps < 2 * MANY_ALERTS:
            board.wait_for_timeout(100)
        assert row.count() == 1
        row.get_by_role("button", name="Acknowledge").click()
        row.locator(".acted", has_text="Acknowledged.").get_by_role("button", name="Undo").click()
        board.locator(".toast", has_text="Taken back.").wait_for(timeout=PATIENCE_MS)
        row.get_by_role("button", name="Acknowledge").wait_for(timeout=PATIENCE_MS)
        pause(board, "in-a-circle")
        steps = agent.steps
        # Later than the records that a pause lets through.
        board.locator("#control", has_text=re.compile(r"paused (0:(0[8-9]|[1-5]\d)|\d:)")).wait_for(
            timeout=PATIENCE_MS
        )
        assert agent.steps == steps
        assert "goes on" not in board.locator("#control").inner_text()
        board.get_by_role("button", name="Resume").click()
        while agent.steps <= steps:
            board.wait_for_timeout(100)
        board.locator("#control", has_text="resumed").wait_for(timeout=PATIENCE_MS)
        did = board.locator("#steps .did")
        did.filter(has_text=re.compile(r"paused for \d.* by local: ")).wait_for(timeout=PATIENCE_MS)
        did.filter(has_text="resumed by local: Resumed from the console.").wait_for(timeout=PATIENCE_MS)
    finally:
        agent.close()


def test_an_agent_that_continues_after_a_pause_is_critical(board: Page, broker: Broker) -> None:
    agent = Agent(broker, "does-not-listen", obeys=False)
    agent.start()
    try:
        board.locator("tr[data-key='does-not-listen']").wait_for(timeout=2 * PATIENCE_MS)
        pause(board, "does-not-listen")
        board.locator("#control", has_text=re.compile(r"goes on after pause: \d+ records?")).wait_for(
            timeout=PATIENCE_MS
        )
        board.goto("/alerts")
        row = board.locator("tr.critical[data-key='does-not-listen']")
        row.wait_for(timeout=PATIENCE_MS)
        assert "goes on after pause" in row.inner_text()
    finally:
        agent.close()
