"""Agents of LangChain under the guard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from eddy_client.integrations.langchain import EddyMiddleware
from langchain.agents import create_agent
from langchain_core.messages import AnyMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from tests.guard.langchain_stub import StubChat
from tests.guard.operator import Operator
from tests.guard.work import CALLS, DONE, Work

pytestmark = pytest.mark.guard

TASK: Any = {"messages": [("user", "Work.")]}
CONFIG: Any = {"configurable": {"thread_id": "s-1"}}

Run = Callable[..., list[AnyMessage]]


@pytest.fixture
def model() -> StubChat:
    return StubChat()


@pytest.fixture
def middleware(operator: Operator) -> EddyMiddleware:
    return EddyMiddleware(operator.session)


@pytest.fixture(params=["invoke", "ainvoke"])
def run(request: pytest.FixtureRequest, middleware: EddyMiddleware, model: StubChat, work: Work) -> Run:
    """Return what runs an agent to its end, and returns its messages."""

    @tool("work")
    def tool_work(number: int) -> str:
        """Work."""
        return work(number)

    agent = create_agent(
        model,
        [tool_work],
        system_prompt="You work.",
        middleware=[middleware],
        checkpointer=InMemorySaver(),
    )

    def run(given: Any = TASK) -> list[AnyMessage]:
        if request.param == "invoke":
            return agent.invoke(given, CONFIG)["messages"]
        return asyncio.run(agent.ainvoke(given, CONFIG))["messages"]

    return run


def test_an_agent_that_gets_no_command_runs_to_its_end(run: Run, model: StubChat, work: Work) -> None:
    assert run()[-1].text == DONE
    assert work.ran == [0, 1, 2]
    assert model.prompts == ["You work."] * (CALLS + 1)


def test_a_paused_agent_calls_no_model_until_it_is_resumed(
    run: Run, model: StubChat, work: Work, operator: Operator, background: ThreadPoolExecutor
) -> None:
    work.during[0] = operator.pause
    ran = background.submit(run)
    operator.until_held()
    assert (work.ran, len(model.prompts)) == ([0], 1)
    operator.resume()
    assert ran.result()[-1].text == DONE
    assert work.ran == [0, 1, 2]


def test_an_agent_that_is_paused_while_the_model_answers_calls_no_tool_until_it_is_resumed(
    run: Run, model: StubChat, work: Work, operator: Operator, background: ThreadPoolExecutor
) -> None:
    model.during[1] = operator.pause
    ran = background.submit(run)
    operator.until_held()
    assert (work.ran, len(model.prompts)) == ([0], 2)
    operator.resume()
    assert ran.result()[-1].text == DONE
    assert work.ran == [0, 1, 2]


def test_an_aborted_agent_ends_with_the_reason(
    run: Run, model: StubChat, work: Work, operator: Operator
) -> None:
    work.during[0] = operator.abort
    assert operator.reason in run()[-1].text
    assert (work.ran, len(model.prompts)) == ([0], 1)


def test_the_tool_that_was_called_before_an_abort_does_not_run(
    run: Run, model: StubChat, work: Work, operator: Operator
) -> None:
    model.during[1] = operator.abort
    *_, refused, last = run()
    assert (refused.status, operator.reason in refused.text) == ("error", True)
    assert operator.reason in last.text
    assert (work.ran, len(model.prompts)) == ([0], 2)


def test_a_note_stands_in_the_system_prompt_from_the_next_call_on(
    run: Run, model: StubChat, work: Work, operator: Operator
) -> None:
    work.during[0] = lambda: operator.note("Read the log first.")
    assert run()[-1].text == DONE
    first, *later = model.prompts
    assert first == "You work."
    assert len(set(later)) == 1
    assert later[0].startswith("You work.")
    assert later[0].count("Read the log first.") == 1


def test_a_note_that_arrives_before_a_tool_runs_is_not_lost(
    run: Run, model: StubChat, work: Work, operator: Operator
) -> None:
    model.during[0] = lambda: operator.note("Read the log first.")
    assert run()[-1].text == DONE
    assert work.ran == [0, 1, 2]
    assert [prompt.count("Read the log first.") for prompt in model.prompts] == [0, 1, 1, 1]


class TestDurable:
    """A pause that the process may end in."""

    @pytest.fixture
    def middleware(self, operator: Operator) -> EddyMiddleware:
        return EddyMiddleware(operator.session, durable=True)

    def test_a_pause_interrupts_the_graph_and_a_resume_too_early_does_again(
        self, run: Run, model: StubChat, work: Work, operator: Operator
    ) -> None:
        work.during[0] = operator.pause
        run()
        run(Command(resume=True))
        run(Command(resume=True))
        assert (work.ran, len(model.prompts)) == ([0], 1)
        operator.resume()
        assert run(Command(resume=True))[-1].text == DONE
        assert work.ran == [0, 1, 2]
