"""For agents of LangChain: `create_agent(model, tools, middleware=[EddyMiddleware(session)])`."""

from __future__ import annotations

import operator
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
from langchain.agents.middleware.types import ModelRequest, ModelResponse, PrivateStateAttr, ToolCallRequest
from langchain_core.messages import AIMessage, SystemMessage, ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt

from eddy_client.guard import GuardUnavailable, Note, SessionAborted
from eddy_client.integrations.guarded import Guarded, end_of, words_of

_NOTES = "eddy_notes"


class GuardedState(AgentState[Any], total=False):  # type: ignore[call-arg] # where LangChain is missing
    """The state of an agent, with the notes that it has got. They stay in the system prompt to the end."""

    eddy_notes: Annotated[list[str], operator.add, PrivateStateAttr]


class EddyMiddleware(AgentMiddleware[GuardedState, Any, Any]):
    """Asks the guard before each call of the model and of a tool.

    An abort ends the run with a last message that says so, and the tool does not run. Notes stand at the end
    of the system prompt. An agent with this middleware serves one session.

    Args:
        session: The session under the guard.
        durable: While the session is paused, interrupt the graph instead of waiting. The process may end;
            `agent.invoke(Command(resume=True), config)` continues the run. Needs a checkpointer.
    """

    state_schema = GuardedState

    def __init__(self, session: Guarded, *, durable: bool = False) -> None:
        super().__init__()
        self._session = session
        session.integration = "langchain"
        self._durable = durable

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: GuardedState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Wait while the session is paused; end the run if it is aborted."""
        self._interrupt_while_paused()
        try:
            return _update(self._session.check())
        except SessionAborted as aborted:
            return _end(aborted)

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: GuardedState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Wait while the session is paused; end the run if it is aborted."""
        self._interrupt_while_paused()
        try:
            return _update(await self._session.acheck())
        except SessionAborted as aborted:
            return _end(aborted)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Put the notes into the system prompt."""
        return handler(_with_notes(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Put the notes into the system prompt."""
        return await handler(_with_notes(request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Wait while the session is paused; refuse the call if the session is aborted."""
        try:
            self._session.check(tool=request.tool_call["name"], notes=False)
        except (SessionAborted, GuardUnavailable) as error:
            return _refusal(request, error)
        return handler(request)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Wait while the session is paused; refuse the call if the session is aborted."""
        try:
            await self._session.acheck(tool=request.tool_call["name"], notes=False)
        except (SessionAborted, GuardUnavailable) as error:
            return _refusal(request, error)
        return await handler(request)

    def _interrupt_while_paused(self) -> None:
        # Again and again: the first call after a resume returns what was given to that resume.
        while self._durable and self._session.hold().level == "paused":
            interrupt({"eddy": "paused"})


def _update(notes: Sequence[Note]) -> dict[str, Any] | None:
    return {_NOTES: [words_of(note) for note in notes]} if notes else None


def _end(aborted: SessionAborted) -> dict[str, Any]:
    return {"jump_to": "end", "messages": [AIMessage(end_of(aborted))]}


def _with_notes(request: ModelRequest[Any]) -> ModelRequest[Any]:
    notes = cast("list[str]", request.state.get(_NOTES, []))
    if not notes:
        return request
    before = [] if request.system_message is None else [request.system_message.text]
    return request.override(system_message=SystemMessage("\n\n".join([*before, *notes])))


def _refusal(request: ToolCallRequest, error: SessionAborted | GuardUnavailable) -> ToolMessage:
    words = end_of(error) if isinstance(error, SessionAborted) else f"The tool did not run: {error}"
    return ToolMessage(
        words, name=request.tool_call["name"], tool_call_id=request.tool_call["id"], status="error"
    )
