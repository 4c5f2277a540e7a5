"""For the OpenAI Agents SDK: `await run(agent, "task", session=session)` in the place of `Runner.run`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from inspect import isawaitable
from typing import Any

from agents import (
    Agent,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    Runner,
    RunResult,
    RunState,
    Tool,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
    TResponseInputItem,
    UserError,
)
from agents.run_config import CallModelData, ModelInputData

from eddy_client.guard import GuardUnavailable, Note, SessionAborted
from eddy_client.integrations.guarded import Guarded, end_of, words_of

ModelInputFilter = Callable[[CallModelData[Any]], "ModelInputData | Awaitable[ModelInputData]"]


class EddyHooks(RunHooks[Any]):
    """Asks the guard before each call of the model and of a tool.

    Raising ends the run before the call. `run` uses these hooks. Give them to `Runner` yourself to stream, or
    to add hooks of your own in a subclass, and take `run_config` too: it hands the notes over.

    Args:
        session: The session under the guard.
        durable: Do not wait while the session is paused. A tool with `needs_approval(session)` ends the run
            instead.
    """

    def __init__(self, session: Guarded, *, durable: bool = False) -> None:
        session.integration = "openai-agents"
        self._session = session
        self._durable = durable
        self._notes: list[Note] = []

    def run_config(self, config: RunConfig | None = None) -> RunConfig:
        """Return a configuration, yours if given, that puts the notes at the end of the instructions."""
        config = config or RunConfig()
        before = config.call_model_input_filter

        async def with_notes(data: CallModelData[Any]) -> ModelInputData:
            self._notes.extend(await self._check())
            given = data.model_data
            if before is not None:
                filtered = before(data)
                given = await filtered if isawaitable(filtered) else filtered
            if not self._notes:
                return given
            words = [given.instructions or "", *map(words_of, self._notes)]
            return ModelInputData(input=given.input, instructions="\n\n".join(filter(None, words)))

        return replace(config, call_model_input_filter=with_notes)

    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],  # noqa: ARG002
        agent: Agent[Any],  # noqa: ARG002
        system_prompt: str | None,  # noqa: ARG002
        input_items: list[TResponseInputItem],  # noqa: ARG002
    ) -> None:
        """Wait while the session is paused."""
        await self._check(notes=False)

    async def on_tool_start(
        self,
        context: RunContextWrapper[Any],  # noqa: ARG002
        agent: Agent[Any],  # noqa: ARG002
        tool: Tool,
    ) -> None:
        """Wait while the session is paused."""
        await self._check(tool.name, notes=False)

    async def _check(self, tool: str | None = None, *, notes: bool = True) -> Sequence[Note]:
        if self._durable and self._session.hold().level == "paused":
            return ()
        return await self._session.acheck(tool=tool, notes=notes)


async def run(
    agent: Agent[Any],
    given: str | list[TResponseInputItem] | RunState[Any, Any],
    *,
    session: Guarded,
    durable: bool = False,
    run_config: RunConfig | None = None,
    **options: Any,
) -> RunResult:
    """Run an agent under the guard; the rest is as with `Runner.run`.

    Raises:
        SessionAborted: an operator has ended the session.
        GuardUnavailable: the guard has lost its channel, and the agent may not run without it.
    """
    hooks = EddyHooks(session, durable=durable)
    try:
        return await Runner.run(agent, given, hooks=hooks, run_config=hooks.run_config(run_config), **options)
    except UserError as error:
        # So the SDK wraps what a hook of a tool raises.
        if isinstance(error.__cause__, SessionAborted | GuardUnavailable):
            raise error.__cause__ from error
        raise


def tool_guardrail(session: Guarded) -> ToolInputGuardrail[Any]:
    """Return a guardrail for `tool_input_guardrails` of a tool.

    It is for a guard on some tools alone: the hooks cover all. A note is the answer to the call, which does
    not run. The call is refused, too, if the guard has lost its channel.
    """

    async def eddy(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        try:
            notes = await session.acheck(tool=data.context.tool_name)
        except SessionAborted as aborted:
            return ToolGuardrailFunctionOutput.raise_exception(end_of(aborted))
        except GuardUnavailable as error:
            return ToolGuardrailFunctionOutput.reject_content(f"The tool did not run: {error}")
        if notes:
            words = "\n".join(
                [*map(words_of, notes), "The tool did not run: call it again if it still makes sense."]
            )
            return ToolGuardrailFunctionOutput.reject_content(words)
        return ToolGuardrailFunctionOutput.allow()

    return ToolInputGuardrail(guardrail_function=eddy, name="eddy")


def needs_approval(
    session: Guarded,
) -> Callable[[RunContextWrapper[Any], dict[str, Any], str], Awaitable[bool]]:
    """Return what a tool takes as `needs_approval`: a call ends the run while the session is paused.

    The result has `interruptions`, and `result.to_state().to_json()` is what to keep.
    """

    async def paused(_context: RunContextWrapper[Any], _arguments: dict[str, Any], _call_id: str) -> bool:
        return session.hold().level == "paused"

    return paused


async def released(session: Guarded, state: RunState[Any, Any]) -> RunState[Any, Any]:
    """Wait until the pause is over, and return the state with its calls approved, or rejected with a note.

    Raises:
        SessionAborted: an operator has ended the session.
    """
    notes = await session.acheck()
    for item in state.get_interruptions():
        if notes:
            state.reject(item, rejection_message="\n".join(map(words_of, notes)))
        else:
            state.approve(item)
    return state
