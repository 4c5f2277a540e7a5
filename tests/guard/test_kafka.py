"""The whole way on a broker: `eddy session` commands, the guard of the page obeys, and answers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from langchain_core.tools import tool

from tests.guard.langchain_stub import StubChat
from tests.guard.test_page import NOTE, executed
from tests.guard.work import DONE, Work
from tests.integration.brokers import new_broker
from tests.integration.stage import Stage, prepared

pytestmark = pytest.mark.guard

WHY = ("--why", "it repeats itself")


async def test_an_agent_that_is_paused_from_a_shell_waits_until_it_is_resumed(
    work: Work, tmp_path: Path
) -> None:
    @tool("work")
    def tool_work(number: int) -> str:
        """Work."""
        return work(number)

    model = StubChat()
    with new_broker("embedded", tmp_path) as broker:
        async with prepared(Stage(broker, tmp_path, application_id="eddy")) as stage:
            # The embedded broker knows no idempotent producer.
            options = 'kafka={"enable.idempotence": "false"}'
            guard = executed(0, shown='"kafka:9092"', instead=f'"{broker.bootstrap}", {options}')["guard"]
            try:
                # Twice: the embedded broker tells the beginning of its last batch for the end.
                await stage.command("session", "pause", "s-19", *WHY, "--wait", "0")
                await stage.command("session", "pause", "s-19", *WHY, "--wait", "0")
                names = {"guard": guard, "model": model, "tools": [tool_work]}
                ran = asyncio.create_task(asyncio.to_thread(executed, 3, **names))
                # Once more, to learn when the agent waits.
                await stage.command("session", "pause", "s-19", *WHY, "--wait", "60")
                await stage.command("session", "note", "s-19", *WHY, "--message", NOTE, "--wait", "0")
                assert model.prompts == []
                await stage.command("session", "resume", "s-19", *WHY, "--wait", "60")
                assert (await ran)["messages"][-1].text == DONE
            finally:
                await asyncio.to_thread(guard.close)
    assert work.ran == [0, 1, 2]
    assert all(NOTE in prompt for prompt in model.prompts)
