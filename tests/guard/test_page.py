"""The code of the page on stopping an agent runs as it stands there: it pauses, gets a note, and finishes."""

from __future__ import annotations

import asyncio
import operator as op
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypedDict

import pytest
from agents import Agent, function_tool, set_tracing_disabled
from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from tests.guard.anthropic_stub import stub_messages
from tests.guard.claude import without_claude
from tests.guard.langchain_stub import StubChat
from tests.guard.openai_stub import StubResponses
from tests.guard.operator import Operator
from tests.guard.work import CALLS, DONE, Work
from tests.pages import ROOT, Page

pytestmark = pytest.mark.guard

BLOCKS = Page((ROOT / "docs" / "stop-your-agent.md").read_text()).blocks("python")
NOTE = "Read the log first."

Commanded = Callable[[str], Operator]


@pytest.fixture
def commanded(work: Work) -> Iterator[Commanded]:
    """Return what lets an operator pause a session during its first call, and resume it with a note."""
    operators = []

    def commanded(session_id: str) -> Operator:
        operators.append(Operator(session_id))
        work.during[0] = lambda: operators[0].pause_for_a_note(NOTE)
        return operators[0]

    yield commanded
    for each in operators:
        each.close()


def executed(number: int, shown: str = "", instead: str = "", **names: Any) -> dict[str, Any]:
    """Execute a block of the page, in which names mean what the test says."""
    assert shown in BLOCKS[number]
    exec(compile(BLOCKS[number].replace(shown, instead), "stop-your-agent.md", "exec"), names)
    return names


def test_every_block_is_run_here() -> None:
    sessions = [line for block in BLOCKS for line in block.splitlines() if "guard.session(" in line]
    assert len(sessions) == len(BLOCKS) - 1 == 6


def test_a_loop_of_your_own(commanded: Commanded, work: Work) -> None:
    class Own:
        prompt: ClassVar[list[str]] = []

        @property
        def done(self) -> bool:
            return len(work.ran) == CALLS

        def step(self) -> None:
            work(len(work.ran))

    executed(1, guard=commanded("s-17").guard, agent=Own())
    assert work.ran == [0, 1, 2]
    assert Own.prompt == [f"Note from ana: {NOTE}"]


def test_langgraph(commanded: Commanded, work: Work) -> None:
    class Messages(TypedDict):
        messages: Annotated[list[Any], op.add]

    builder = StateGraph(Messages)
    builder.add_node("work", lambda _state: {"messages": [work(len(work.ran))]})
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", lambda _state: "work" if len(work.ran) < CALLS else END)
    names = executed(
        2,
        guard=commanded("s-18").guard,
        graph=builder.compile(checkpointer=InMemorySaver()),
        given={"messages": []},
        config={"configurable": {"thread_id": "s-18"}},
    )
    assert len(names["state"]["messages"]) == CALLS + 1
    assert names["state"]["messages"][1] == ("system", NOTE)


def test_langchain(commanded: Commanded, work: Work) -> None:
    @langchain_tool("work")
    def tool_work(number: int) -> str:
        """Work."""
        return work(number)

    model = StubChat()
    names = executed(3, guard=commanded("s-19").guard, model=model, tools=[tool_work])
    assert names["messages"][-1].text == DONE
    assert work.ran == [0, 1, 2]
    assert NOTE in model.prompts[-1]


class TestOpenaiAgents:
    """Both blocks."""

    @pytest.fixture(autouse=True)
    def no_traces(self) -> None:
        set_tracing_disabled(disabled=True)

    def test_in_the_process(self, commanded: Commanded, work: Work) -> None:
        @function_tool(name_override="work")
        def tool_work(number: int) -> str:
            """Work."""
            return work(number)

        model = StubResponses()
        agent = Agent(name="coder", instructions="You work.", tools=[tool_work], model=model)
        names = executed(4, guard=commanded("s-20").guard, agent=agent)
        assert asyncio.run(names["work"]("Work.")) == DONE
        assert work.ran == [0, 1, 2]
        assert NOTE in model.prompts[-1]

    def test_over_the_end_of_a_process(self, commanded: Commanded, work: Work, tmp_path: Path) -> None:
        def deploy(number: int) -> str:
            """Deploy."""
            return work(number)

        kept, model = tmp_path / "kept.json", StubResponses("deploy")
        names = executed(5, guard=commanded("s-21").guard, deploy=deploy, model=model, kept=kept)
        assert asyncio.run(names["work_durably"]("Work.")) == DONE
        assert kept.stat().st_size > 0
        assert work.ran == [0, 2]
        assert NOTE in model.results[1]


def test_claude_agent_sdk(
    commanded: Commanded,
    work: Work,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    @tool("work", "Works.", {"number": int})
    async def tool_work(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": work(arguments["number"])}]}

    with stub_messages() as model:
        options = ClaudeAgentOptions(
            mcp_servers={"tools": create_sdk_mcp_server("tools", tools=[tool_work])},
            tools=[],
            allowed_tools=["mcp__tools__work"],
            setting_sources=[],
            cwd=tmp_path,
            env=without_claude(monkeypatch, home=tmp_path, model=model.url),
        )
        names = executed(6, guard=commanded("s-22").guard, options=options)
        asyncio.run(names["ask"]("Work."))
    assert DONE in capsys.readouterr().out
    assert work.ran == [0, 1, 2]
    assert NOTE in model.said()
