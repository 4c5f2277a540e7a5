"""A gateway asks whether a call of a model may go through: by the loop, and by what was commanded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from eddy_client.protocol import Action

from streams.kafka.client import Brokers
from tests.integration.agents_console import agents_console, issue
from tests.integration.stage import Stage
from tests.integration.test_console_policy import alerts
from tests.integration.worker_process import PATIENCE_SECONDS, until

pytestmark = pytest.mark.integration

GATEWAY, AGENT = "the-token-of-a-gateway", "the-token-of-an-agent"


class Door:
    """A console as a gateway sees it, and the brokers behind it."""

    def __init__(self, http: aiohttp.ClientSession, brokers: Brokers) -> None:
        self._http, self.brokers = http, brokers

    async def verdict(
        self, session_id: str, query: str = "", token: str | None = GATEWAY, status: int = 200
    ) -> dict[str, Any]:
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        async with self._http.get(f"/sessions/{session_id}/verdict{query}", headers=headers) as answer:
            found: dict[str, Any] = await answer.json(content_type=None)
            assert answer.status == status, found
            assert status != 200 or answer.headers["Cache-Control"] == "private, max-age=1"
            return found

    async def authorized(
        self, session_id: str | None, query: str = "", method: str = "POST", deny: str | None = None
    ) -> Any:
        headers = {"Authorization": f"Bearer {GATEWAY}", "Accept": "application/json"}
        headers |= {"X-Eddy-Session": session_id} if session_id is not None else {}
        headers |= {"X-Eddy-Deny": deny} if deny is not None else {}
        return await self._http.request(method, f"/authz/v1/chat/completions{query}", headers=headers)

    async def until_it_says(self, session_id: str, **wanted: Any) -> dict[str, Any]:
        async def said() -> bool:
            return wanted.items() <= (await self.verdict(session_id, "?deny=loop")).items()

        await until(said, PATIENCE_SECONDS, f"{wanted} of {session_id}")
        return await self.verdict(session_id, "?deny=loop")


@pytest.fixture
async def door(stage: Stage, tmp_path: Path) -> AsyncIterator[Door]:
    tokens = {"*": GATEWAY, "coder-*": AGENT}
    async with (
        agents_console(stage.broker.bootstrap, tmp_path, tokens) as (brokers, url),
        aiohttp.ClientSession(url) as http,
    ):
        yield Door(http, brokers)


async def test_a_loop_is_refused_from_the_level_on_that_the_gateway_names(door: Door) -> None:
    unknown = await door.verdict("s-17", "?deny=WARNING")
    assert (unknown["known"], unknown["level"], unknown["allow"]) == (False, None, True)
    await alerts(door.brokers, "s-17", phase="opened", level="WARNING")
    await door.until_it_says("s-17", known=True, level="WARNING", allow=True)
    assert (await door.verdict("s-17", "?deny=WARNING"))["allow"] is False
    await alerts(door.brokers, "s-17", phase="escalated", offset=6)
    said = await door.until_it_says("s-17", level="LOOP", allow=False)
    assert (said["why"], said["rule"], said["tokens"]) == ("The session goes in circles (R1).", "R1", 25_000)
    assert (await door.verdict("s-17"))["allow"] is True
    await alerts(door.brokers, "s-17", phase="recovered", offset=9, reason="quiet")
    await door.until_it_says("s-17", level="NORMAL", allow=True)


async def test_a_pause_and_an_abort_hold_calls_back_though_the_agent_has_no_guard(door: Door) -> None:
    await issue(door.brokers, Action.PAUSE, "s-17", key="not the key of this installation")
    await issue(door.brokers, Action.PAUSE, "s-18")
    said = await door.until_it_says("s-18", control="paused", allow=False)
    assert said["why"] == "The session is paused."
    assert (await door.verdict("s-17"))["control"] == "none"  # nobody obeys what is not signed
    refused = await door.authorized("s-18")
    assert (refused.status, refused.headers["Retry-After"]) == (403, "30")
    await issue(door.brokers, Action.RESUME, "s-18")
    await door.until_it_says("s-18", control="none", allow=True)
    await issue(door.brokers, Action.ABORT, "s-18")
    await door.until_it_says("s-18", control="aborted", allow=False)


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_proxy_gets_the_answer_as_a_status_whatever_it_holds(door: Door, method: str) -> None:
    await alerts(door.brokers, "s-17")
    await door.until_it_says("s-17", level="LOOP")
    refused = await door.authorized("s-17", "?deny=LOOP", method)
    assert (refused.status, refused.headers["X-Eddy-Level"]) == (403, "LOOP")
    assert (await refused.json())["why"] == "The session goes in circles (R1)."
    passed = await door.authorized("s-17", "", method)
    assert (passed.status, passed.headers["X-Eddy-Level"], await passed.read()) == (200, "LOOP", b"")
    # The query may be that of the client, who must not decide for the proxy.
    assert (await door.authorized("s-17", "?deny=", method, deny="LOOP")).status == 403
    assert (await door.authorized("s-17", "?deny=LOOP", method, deny="nonsense")).status == 400
    unnamed = await door.authorized(None, "", method)
    assert unnamed.status == 403
    assert "X-Eddy-Session is missing" in await unnamed.text()


async def test_only_a_token_for_its_agent_may_ask_about_a_session(door: Door) -> None:
    await alerts(door.brokers, "s-17")
    await door.until_it_says("s-17", known=True)
    assert (await door.verdict("s-17", token=AGENT))["level"] == "LOOP"
    await door.verdict("s-17", token=None, status=401)
    await door.verdict("s-17", token="wrong", status=401)
    await door.verdict("s-of-others", token=AGENT, status=403)
    wrong = await door.verdict("s-17", "?deny=NORMAL", status=400)
    assert "deny is WARNING or LOOP" in wrong["detail"]
