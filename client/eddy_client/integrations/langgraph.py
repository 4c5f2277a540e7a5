"""For any graph of LangGraph: `invoke(graph, given, config, session=session)` in the place of `graph.invoke`.

No node changes. A pause drains the run: what runs finishes, the checkpoint is saved, and the run continues
from it after the pause, in this process or in another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphDrained
from langgraph.pregel import Pregel
from langgraph.runtime import RunControl
from langgraph.types import Command, StateSnapshot

from eddy_client.guard import Note
from eddy_client.integrations.guarded import Guarded

AsUpdate = Callable[[Sequence[Note]], Mapping[str, Any]]
"""Returns what notes change in the state of a graph."""


class EddyControl(RunControl):
    """Drains one run of a graph once the session is paused or aborted: `graph.stream(..., control=...)`.

    The graph asks after each superstep, so no thread watches. The run ends with `GraphDrained`.

    Args:
        session: The session under the guard.
        notes: Drain for notes too, so that they can be put into the state.
    """

    def __init__(self, session: Guarded, *, notes: bool = False) -> None:
        super().__init__()
        self._session = session
        self._notes = notes

    @property
    def drain_requested(self) -> bool:
        """Whether the run has to end at this boundary."""
        if not super().drain_requested:
            state = self._session.peek()
            if state.level != "running":
                self.request_drain(f"eddy: {state.level}")
            elif self._notes and state.notes:
                self.request_drain("eddy: note")
        return super().drain_requested


def invoke(
    graph: Pregel[Any, Any, Any, Any],
    given: object,
    config: RunnableConfig,
    *,
    session: Guarded,
    as_update: AsUpdate | None = None,
    **options: Any,
) -> Any:
    """Run a graph to its end under the guard, and return what `graph.invoke` returns.

    While the session is paused, this waits, with the checkpoint saved. If the process ends meanwhile, the
    same call with None as its input continues in another.

    Args:
        graph: A compiled graph with a checkpointer.
        given: Its input; None continues from the checkpoint of the thread.
        config: With the id of the thread.
        session: The session under the guard.
        as_update: Puts notes into the state, such as `lambda notes: {"messages": [...]}`. Without it, notes
            are for a `check` of your own in a node.
        options: For `graph.invoke`.

    Raises:
        SessionAborted: an operator has ended the session; the checkpoint stays.
        GuardUnavailable: the guard has lost its channel, and the graph may not run without it.
    """
    runs = _Runs(session, given, as_update)
    while True:
        given, control = runs.next(session.check(notes=runs.takes_notes))
        try:
            return graph.invoke(given, config, control=control, **options)
        except GraphDrained:
            session.checkpoint = _checkpoint(graph.get_state(config))


async def ainvoke(
    graph: Pregel[Any, Any, Any, Any],
    given: object,
    config: RunnableConfig,
    *,
    session: Guarded,
    as_update: AsUpdate | None = None,
    **options: Any,
) -> Any:
    """Do as `invoke` does, by `graph.ainvoke`."""
    runs = _Runs(session, given, as_update)
    while True:
        given, control = runs.next(await session.acheck(notes=runs.takes_notes))
        try:
            return await graph.ainvoke(given, config, control=control, **options)
        except GraphDrained:
            session.checkpoint = _checkpoint(await graph.aget_state(config))


class _Runs:
    """Says what each run of a graph starts with, from the first to the one that ends it."""

    def __init__(self, session: Guarded, given: object, as_update: AsUpdate | None) -> None:
        session.integration = "langgraph"
        self._session = session
        self._given = given
        self._as_update = as_update

    @property
    def takes_notes(self) -> bool:
        """Whether the next run can put notes into the state: the first one of an input cannot."""
        return self._as_update is not None and self._given is None

    def next(self, notes: Sequence[Note]) -> tuple[Any, EddyControl]:
        """Return the input of the next run, and its control."""
        control = EddyControl(self._session, notes=self._as_update is not None)
        given, self._given = self._given, None
        if self._as_update is not None and given is not None and self._session.peek().notes:
            control.request_drain("eddy: note")  # saves the input, for the next run to continue with
        elif self._as_update is not None and notes:
            given = Command(update=self._as_update(notes))
        return given, control


def _checkpoint(snapshot: StateSnapshot) -> str | None:
    return snapshot.config.get("configurable", {}).get("checkpoint_id")
