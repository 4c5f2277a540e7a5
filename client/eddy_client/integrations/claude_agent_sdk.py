"""For the Claude Agent SDK: `query(prompt="task", session=session)` in the place of the SDK's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Literal

import claude_agent_sdk
from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookCallback,
    HookContext,
    HookInput,
    HookJSONOutput,
    HookMatcher,
    Message,
    ResultMessage,
)
from claude_agent_sdk.types import PreToolUseHookSpecificOutput, SyncHookJSONOutput

from eddy_client.guard import GuardUnavailable, SessionAborted
from eddy_client.integrations.guarded import HOOK_MARGIN_S, PAUSED, Guarded, end_of, words_of

HOOK_TIMEOUT_S = 3_600.0
"""How long a hook may take, unless it is given."""

Refusal = Literal["defer", "deny"]


def pre_tool_use(
    session: Guarded, *, timeout: float = HOOK_TIMEOUT_S, refusal: Refusal = "defer"
) -> HookCallback:
    """Return a hook for `PreToolUse`, which waits while the session is paused.

    Args:
        session: The session under the guard.
        timeout: The timeout of the hook's matcher, in seconds. The hook answers 10 s before it.
        refusal: What it answers then: `defer` ends the run with `ResultMessage.deferred_tool_use`, `deny`
            lets the model call again, and wait again. The CLI keeps one deferred call of several at once, and
            the model has to repeat the others.

    Raises:
        ValueError: the timeout leaves no time to wait.
    """
    if timeout <= HOOK_MARGIN_S:
        raise ValueError(f"The timeout of a hook has to be longer than {HOOK_MARGIN_S:g} s: {timeout:g}.")

    session.integration = "claude-agent-sdk"

    async def eddy(given: HookInput, tool_use_id: str | None, _context: HookContext) -> HookJSONOutput:
        session.checkpoint = tool_use_id
        tool = given["tool_name"] if given["hook_event_name"] == "PreToolUse" else None
        try:
            notes = await asyncio.wait_for(session.acheck(tool=tool), timeout - HOOK_MARGIN_S)
        except asyncio.TimeoutError:
            return _refused(refusal, PAUSED)
        except SessionAborted as aborted:
            # Without the refusal, the CLI runs the tool before it stops.
            words = end_of(aborted)
            return {**_refused("deny", words), "continue_": False, "stopReason": words}
        except GuardUnavailable as error:
            return _refused("deny", f"The tool did not run: {error}")
        if not notes:
            return {}
        words = "\n".join(map(words_of, notes))
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": words}}

    return eddy


def guarded(
    session: Guarded,
    options: ClaudeAgentOptions | None = None,
    *,
    timeout: float = HOOK_TIMEOUT_S,
    refusal: Refusal = "defer",
) -> ClaudeAgentOptions:
    """Return options with the hook before each call of a tool, of your own options or of none.

    The hook that fails blocks its call, instead of letting it run.
    """
    options = options or ClaudeAgentOptions()
    hook = pre_tool_use(session, timeout=timeout, refusal=refusal)
    matcher = HookMatcher(matcher=None, hooks=[hook], timeout=timeout, on_failure="block")
    hooks = dict(options.hooks or {})
    hooks["PreToolUse"] = [*hooks.get("PreToolUse", []), matcher]
    return replace(options, hooks=hooks)


async def query(
    *,
    prompt: str,
    session: Guarded,
    options: ClaudeAgentOptions | None = None,
    timeout: float = HOOK_TIMEOUT_S,
) -> AsyncIterator[Message]:
    """Yield the messages of a run under the guard, however long a pause lasts.

    A call that has waited for as long as the hook may is deferred, and the run resumed: its hook waits again.
    An abort ends the run with a `ResultMessage` whose `terminal_reason` is `hook_stopped`.
    """
    options = guarded(session, options, timeout=timeout)
    deferred = True
    while deferred:
        deferred = False
        async for message in claude_agent_sdk.query(prompt=prompt, options=options):
            if isinstance(message, ResultMessage) and message.deferred_tool_use is not None:
                deferred = True
                prompt, options = "", replace(options, resume=message.session_id)
            else:
                yield message


def _refused(refusal: Refusal, words: str) -> SyncHookJSONOutput:
    specific: PreToolUseHookSpecificOutput = {
        "hookEventName": "PreToolUse",
        "permissionDecision": refusal,
        "permissionDecisionReason": words,
    }
    return {"hookSpecificOutput": specific}
