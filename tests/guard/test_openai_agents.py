"""Agents of the OpenAI Agents SDK under the guard."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from agents import (
    Agent,
    RunConfig,
    Runner,
    RunResult,
    RunState,
    ToolInputGuardrailTripwireTriggered,
    function_tool,
    set_tracing_disabled,
)
from agents.run_config import CallModelData, ModelInputData
from eddy_client.guard import SessionAborted
from eddy_client.integrations.openai_agents import needs_approval, released, run, tool_guardrail

from tests.guard.openai_stub import StubResponses
from tests.guard.operator import Operator
from tests.guard.work import CALLS, DONE, Work

pytestmark = pytest.mark.guard

Build = Callable[..., Agent[Any]]


@pytest.fixture(autouse=True)
def no_traces() -> None:
    set_tracing_disabled(disabled=True)


@pytest.fixture
def model() -> StubResponses:
    return StubResponses()


@pytest.fixture
def build(model: StubResponses, work: Work) -> Build:
    """Return what makes an agent, given options of its tool."""

    def build(**options: Any) -> Agent[Any]:
        @function_tool(name_override="work", **options)
        def tool_work(number: int) -> str:
            """Work."""
            return work(number)

        return Agent(name="worker", instructions="You work.", tools=[tool_work], model=model)

    return build


def ran(agent: Agent[Any], operator: Operator, given: Any = "Work.", **options: Any) -> RunResult:
    return asyncio.run(run(agent, given, session=operator.session, **options))


def test_an_agent_that_gets_no_command_runs_to_its_end(
    build: Build, model: StubResponses, work: Work, operator: Operator
) -> None:
    assert ran(build(), operator).final_output == DONE
    assert work.ran == [0, 1, 2]
    assert model.prompts == ["You work."] * (CALLS + 1)


@pytest.mark.parametrize("what", ["work", "model"])
def test_a_paused_agent_calls_nothing_until_it_is_resumed(
    what: str,
    build: Build,
    model: StubResponses,
    work: Work,
    operator: Operator,
    background: ThreadPoolExecutor,
) -> None:
    {"work": work.during, "model": model.during}[what][1] = operator.pause
    result = background.submit(ran, build(), operator)
    operator.until_held()
    assert (work.ran, len(model.prompts)) == (([0, 1], 2) if what == "work" else ([0], 2))
    operator.resume()
    assert result.result().final_output == DONE
    assert work.ran == [0, 1, 2]


@pytest.mark.parametrize("what", ["work", "model"])
def test_an_abort_raises_itself_and_nothing_more_is_called(
    what: str, build: Build, model: StubResponses, work: Work, operator: Operator
) -> None:
    {"work": work.during, "model": model.during}[what][1] = operator.abort
    with pytest.raises(SessionAborted, match=operator.reason):
        ran(build(), operator)
    assert (work.ran, len(model.prompts)) == (([0, 1], 2) if what == "work" else ([0], 2))


@pytest.mark.parametrize("what", ["work", "model"])
def test_a_note_stands_in_the_instructions_from_the_next_call_on(
    what: str, build: Build, model: StubResponses, work: Work, operator: Operator
) -> None:
    {"work": work.during, "model": model.during}[what][0] = lambda: operator.note("Read the log first.")
    assert ran(build(), operator).final_output == DONE
    first, *later = model.prompts
    assert first == "You work."
    assert len(set(later)) == 1
    assert later[0].startswith("You work.")
    assert later[0].count("Read the log first.") == 1


def test_a_filter_of_your_own_stays(
    build: Build, model: StubResponses, work: Work, operator: Operator
) -> None:
    def shout(data: CallModelData[Any]) -> ModelInputData:
        return ModelInputData(data.model_data.input, (data.model_data.instructions or "").upper())

    work.during[0] = lambda: operator.note("Read the log first.")
    ran(build(), operator, run_config=RunConfig(call_model_input_filter=shout))
    assert all(prompt.startswith("YOU WORK.") for prompt in model.prompts)
    assert "Read the log first." in model.prompts[-1]


def test_an_agent_that_is_paused_over_a_restart_continues_from_json(
    build: Build, model: StubResponses, work: Work, operator: Operator
) -> None:
    agent = build(needs_approval=needs_approval(operator.session))
    paused: list[str] = []
    work.during[0] = lambda: paused.append(operator.pause())
    result = ran(agent, operator, durable=True)
    assert (work.ran, len(result.interruptions)) == ([0], 1)
    operator.until_acknowledged(paused[0], "applied")
    kept = json.dumps(result.to_state().to_json())
    operator.resume()

    async def resumed() -> RunResult:
        state = await RunState.from_json(agent, json.loads(kept))
        return await run(
            agent, await released(operator.session, state), session=operator.session, durable=True
        )

    assert asyncio.run(resumed()).final_output == DONE
    assert work.ran == [0, 1, 2]


def test_a_note_for_an_agent_that_waits_for_approval_is_the_answer_to_its_call(
    build: Build, model: StubResponses, work: Work, operator: Operator
) -> None:
    agent = build(needs_approval=needs_approval(operator.session))
    work.during[0] = operator.pause
    result = ran(agent, operator, durable=True)
    operator.note("Read the log first.")
    operator.resume()

    async def resumed() -> RunResult:
        state = await released(operator.session, result.to_state())
        return await run(agent, state, session=operator.session, durable=True)

    assert asyncio.run(resumed()).final_output == DONE
    assert work.ran == [0, 2]
    assert "Read the log first." in model.results[1]


class TestGuardrail:
    """The guardrail alone, on one tool."""

    @pytest.fixture
    def agent(self, build: Build, operator: Operator) -> Agent[Any]:
        return build(tool_input_guardrails=[tool_guardrail(operator.session)])

    @staticmethod
    def ran(agent: Agent[Any]) -> RunResult:
        return asyncio.run(Runner.run(agent, "Work."))

    def test_a_paused_tool_waits(
        self,
        agent: Agent[Any],
        model: StubResponses,
        work: Work,
        operator: Operator,
        background: ThreadPoolExecutor,
    ) -> None:
        model.during[1] = operator.pause
        result = background.submit(self.ran, agent)
        operator.until_held()
        assert work.ran == [0]
        operator.resume()
        assert result.result().final_output == DONE
        assert work.ran == [0, 1, 2]

    def test_an_abort_ends_the_run_before_the_tool(
        self, agent: Agent[Any], model: StubResponses, work: Work, operator: Operator
    ) -> None:
        model.during[1] = operator.abort
        with pytest.raises(ToolInputGuardrailTripwireTriggered) as caught:
            self.ran(agent)
        assert operator.reason in caught.value.output.output_info
        assert work.ran == [0]

    def test_a_note_takes_the_place_of_the_call(
        self, agent: Agent[Any], model: StubResponses, work: Work, operator: Operator
    ) -> None:
        model.during[1] = lambda: operator.note("Read the log first.")
        assert self.ran(agent).final_output == DONE
        assert "Read the log first." in model.results[1]
        assert work.ran == [0, 2]
