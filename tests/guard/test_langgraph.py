"""Graphs of LangGraph under the guard, which know nothing of it."""

from __future__ import annotations

import asyncio
import operator as op
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypedDict

import pytest
from eddy_client.guard import Note, SessionAborted
from eddy_client.integrations.langgraph import EddyControl, ainvoke, invoke
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained
from langgraph.graph import END, START, StateGraph
from langgraph.pregel import Pregel

from tests.guard.operator import Operator
from tests.guard.work import CALLS, Work

pytestmark = pytest.mark.guard

CONFIG: Any = {"configurable": {"thread_id": "s-1"}}
GIVEN: Any = {"log": ["begun"]}
WHOLE = ["begun", "worked", "rested", "worked", "rested", "worked", "rested"]

Run = Callable[..., Any]


class Log(TypedDict):
    log: Annotated[list[str], op.add]


@pytest.fixture
def graph(work: Work) -> Pregel[Any, Any, Any, Any]:
    """A graph that works and rests at the same time, three times."""

    def worked(_state: Log) -> Log:
        work(len(work.ran))
        return {"log": ["worked"]}

    builder = StateGraph(Log)
    builder.add_node("work", worked)
    builder.add_node("rest", lambda _state: {"log": ["rested"]})
    builder.add_node("meet", lambda _state: {"log": []})
    builder.add_edge(START, "work")
    builder.add_edge(START, "rest")
    builder.add_edge(["work", "rest"], "meet")
    builder.add_conditional_edges("meet", lambda _state: ["work", "rest"] if len(work.ran) < CALLS else END)
    return builder.compile(checkpointer=InMemorySaver())


@pytest.fixture(params=["invoke", "ainvoke"])
def run(request: pytest.FixtureRequest, graph: Pregel[Any, Any, Any, Any], operator: Operator) -> Run:
    """Return what runs the graph to its end, and returns its state."""

    def run(given: Any = GIVEN, **options: Any) -> Any:
        if request.param == "invoke":
            return invoke(graph, given, CONFIG, session=operator.session, **options)
        return asyncio.run(ainvoke(graph, given, CONFIG, session=operator.session, **options))

    return run


def as_update(notes: Sequence[Note]) -> Log:
    return {"log": [note.text for note in notes]}


def test_a_graph_that_gets_no_command_runs_to_its_end(run: Run) -> None:
    assert sorted(run()["log"]) == sorted(WHOLE)


def test_a_paused_graph_starts_no_superstep_until_it_is_resumed(
    run: Run,
    graph: Pregel[Any, Any, Any, Any],
    work: Work,
    operator: Operator,
    background: ThreadPoolExecutor,
) -> None:
    paused: list[str] = []
    work.during[0] = lambda: paused.append(operator.pause())
    ran = background.submit(run)
    operator.until_held()
    assert work.ran == [0]
    checkpoint = graph.get_state(CONFIG).config["configurable"]["checkpoint_id"]
    assert operator.until_acknowledged(paused[0], "applied")["checkpoint"] == checkpoint
    operator.resume()
    assert sorted(ran.result()["log"]) == sorted(WHOLE)
    assert work.ran == [0, 1, 2]


def test_a_drained_graph_continues_from_its_checkpoint_in_another_run(
    run: Run, graph: Pregel[Any, Any, Any, Any], work: Work, operator: Operator
) -> None:
    work.during[0] = operator.pause
    with pytest.raises(GraphDrained, match="eddy: paused"):
        graph.invoke(GIVEN, CONFIG, control=EddyControl(operator.session))
    assert graph.get_state(CONFIG).values["log"][0] == "begun"
    assert graph.get_state(CONFIG).next != ()
    operator.resume()
    assert sorted(run(None)["log"]) == sorted(WHOLE)
    assert work.ran == [0, 1, 2]


def test_an_aborted_graph_raises_and_keeps_its_checkpoint(
    run: Run, graph: Pregel[Any, Any, Any, Any], work: Work, operator: Operator
) -> None:
    work.during[0] = operator.abort
    with pytest.raises(SessionAborted, match=operator.reason):
        run()
    assert work.ran == [0]
    assert sorted(graph.get_state(CONFIG).values["log"]) == ["begun", "rested", "worked"]


def test_a_note_is_put_into_the_state_once(run: Run, work: Work, operator: Operator) -> None:
    work.during[0] = lambda: operator.note("Read the log first.")
    log = run(as_update=as_update)["log"]
    assert log.index("Read the log first.") == WHOLE.index("rested") + 1
    assert sorted(log) == sorted([*WHOLE, "Read the log first."])
    assert work.ran == [0, 1, 2]


def test_a_note_that_arrives_before_the_first_step_is_put_into_the_state(
    run: Run, operator: Operator
) -> None:
    operator.note("Read the log first.")
    assert sorted(run(as_update=as_update)["log"]) == sorted([*WHOLE, "Read the log first."])
