"""Agents of the Claude Agent SDK under the guard. The CLI is the one that the SDK brings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import claude_agent_sdk
import pytest
from claude_agent_sdk import ClaudeAgentOptions, Message, ResultMessage, create_sdk_mcp_server, tool
from eddy_client.integrations.claude_agent_sdk import guarded, pre_tool_use, query
from eddy_client.integrations.guarded import HOOK_MARGIN_S

from tests.guard.anthropic_stub import StubMessages, stub_messages
from tests.guard.claude import without_claude
from tests.guard.operator import Operator
from tests.guard.work import DONE, Work

pytestmark = pytest.mark.guard

SHORTLY = HOOK_MARGIN_S + 1


@pytest.fixture
def model() -> Iterator[StubMessages]:
    with stub_messages() as server:
        yield server


@pytest.fixture
def options(
    model: StubMessages, work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ClaudeAgentOptions:
    """Options of an agent that has the tool `work` alone."""

    @tool("work", "Works.", {"number": int})
    async def tool_work(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": work(arguments["number"])}]}

    return ClaudeAgentOptions(
        mcp_servers={"tools": create_sdk_mcp_server("tools", tools=[tool_work])},
        tools=[],
        allowed_tools=["mcp__tools__work"],
        setting_sources=[],
        cwd=tmp_path,
        env=without_claude(monkeypatch, home=tmp_path, model=model.url),
    )


def ran(
    options: ClaudeAgentOptions,
    prompt: str = "Work.",
    query: Callable[..., AsyncIterator[Message]] = claude_agent_sdk.query,
) -> ResultMessage:
    """Run an agent; return its last message."""

    async def all_of() -> list[Message]:
        return [message async for message in query(prompt=prompt, options=options)]

    last = asyncio.run(all_of())[-1]
    assert isinstance(last, ResultMessage)
    return last


def test_an_agent_that_gets_no_command_runs_to_its_end(
    options: ClaudeAgentOptions, work: Work, operator: Operator
) -> None:
    assert ran(guarded(operator.session, options)).result == DONE
    assert work.ran == [0, 1, 2]


def test_a_paused_agent_calls_no_tool_until_it_is_resumed(
    options: ClaudeAgentOptions, work: Work, operator: Operator, background: ThreadPoolExecutor
) -> None:
    work.during[0] = operator.pause
    last = background.submit(ran, guarded(operator.session, options))
    operator.until_held()
    assert work.ran == [0]
    operator.resume()
    assert last.result().result == DONE
    assert work.ran == [0, 1, 2]


@pytest.mark.parametrize("at_once", [1, 2])
def test_an_abort_ends_the_run_before_the_tool(
    at_once: int, options: ClaudeAgentOptions, model: StubMessages, work: Work, operator: Operator
) -> None:
    model.at_once = at_once
    model.during[1] = operator.abort
    last = ran(guarded(operator.session, options))
    assert (last.terminal_reason, last.is_error) == ("hook_stopped", False)
    assert work.ran == list(range(at_once))


def test_a_note_is_what_the_model_reads_next(
    options: ClaudeAgentOptions, model: StubMessages, work: Work, operator: Operator
) -> None:
    work.during[0] = lambda: operator.note("Read the log first.")
    assert ran(guarded(operator.session, options)).result == DONE
    assert work.ran == [0, 1, 2]
    system = [message for message in model.asked[-1]["messages"] if message["role"] == "system"]
    assert "Read the log first." in str(system)


def test_a_call_that_waits_for_too_long_is_deferred_and_runs_when_the_run_is_resumed(
    options: ClaudeAgentOptions, work: Work, operator: Operator
) -> None:
    options = guarded(operator.session, options, timeout=SHORTLY)
    work.during[0] = operator.pause
    last = ran(options)
    assert last.deferred_tool_use is not None
    assert last.deferred_tool_use.input == {"number": 1}
    assert work.ran == [0]
    operator.resume()
    assert ran(replace(options, resume=last.session_id), prompt="").result == DONE
    assert work.ran == [0, 1, 2]


def test_a_query_outlasts_a_pause_that_is_longer_than_a_hook_may_wait(
    options: ClaudeAgentOptions, work: Work, operator: Operator, background: ThreadPoolExecutor
) -> None:
    def patient(**given: Any) -> AsyncIterator[Message]:
        return query(session=operator.session, timeout=SHORTLY, **given)

    work.during[0] = operator.pause
    last = background.submit(ran, options, query=patient)
    operator.until_held(times=2)
    assert work.ran == [0]
    operator.resume()
    assert last.result().result == DONE
    assert work.ran == [0, 1, 2]


def test_a_call_that_is_refused_is_made_again(
    options: ClaudeAgentOptions,
    model: StubMessages,
    work: Work,
    operator: Operator,
    background: ThreadPoolExecutor,
) -> None:
    model.during[1] = operator.pause
    last = background.submit(ran, guarded(operator.session, options, timeout=SHORTLY, refusal="deny"))
    operator.until_held(times=2)
    assert work.ran == [0]
    operator.resume()
    assert last.result().result == DONE
    assert "the call waits until the pause is over" in model.said()
    assert 1 not in work.ran


def test_hooks_of_your_own_stay(options: ClaudeAgentOptions, operator: Operator) -> None:
    once = guarded(operator.session, options)
    twice = guarded(operator.session, once)
    assert once.hooks is not None
    assert twice.hooks is not None
    assert twice.hooks["PreToolUse"][:-1] == once.hooks["PreToolUse"]
    assert options.hooks is None


def test_a_timeout_that_leaves_no_time_to_wait_is_refused(operator: Operator) -> None:
    with pytest.raises(ValueError, match="longer than 10 s: 10"):
        pre_tool_use(operator.session, timeout=HOOK_MARGIN_S)
