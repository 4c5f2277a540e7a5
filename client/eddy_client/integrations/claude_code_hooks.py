"""`eddy-guard-hook`: what Claude Code runs before each call of a tool, to ask a console whether it may.

Claude Code starts a process for each call, so the guard's name is made of the session: to operators it is one
guard, which stays. It needs the standard library alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import sys
from collections.abc import Mapping
from typing import Any, Literal

from eddy_client.guard import Guard, GuardUnavailable, SessionAborted
from eddy_client.integrations.guarded import HOOK_MARGIN_S, PAUSED, Guarded, end_of, words_of

URL_VARIABLE = "EDDY_GUARD_URL"
TOKEN_VARIABLE = "EDDY_GUARD_TOKEN"  # noqa: S105 - its name

TIMEOUT_S = 600.0

_START_WAIT_S = 2.0
"""How long a call of a tool waits for a console that does not answer."""

Refusal = Literal["deny", "defer"]


def main() -> None:
    """Read a hook's event from standard input, and print the answer."""
    given = _options()
    try:
        answer = _asked(json.loads(sys.stdin.buffer.read()), given)
    except Exception as error:  # noqa: BLE001 - the agent must go on, whatever it is
        words = f"The guard could not be asked ({type(error).__name__}: {error})."
        sys.stderr.write(f"eddy-guard-hook: {words}\n")
        answer = {} if given.on_lost == "open" else _refused("deny", f"The tool did not run. {words}")
    if answer:
        sys.stdout.write(json.dumps(answer))


async def answer_of(
    session: Guarded,
    event: Mapping[str, Any],
    *,
    timeout: float = TIMEOUT_S,
    refusal: Refusal = "deny",
) -> dict[str, Any]:
    """Wait while the session is paused, and return what the hook answers; nothing lets the tool run.

    Args:
        session: The session under the guard.
        event: What Claude Code gives the hook.
        timeout: The hook's, in seconds. This answers 10 s before it.
        refusal: What it answers then. Only `claude -p` knows `defer`, which ends the run.
    """
    session.integration, session.checkpoint = "claude-code", event.get("tool_use_id")
    try:
        notes = await asyncio.wait_for(session.acheck(tool=event.get("tool_name")), timeout - HOOK_MARGIN_S)
    except asyncio.TimeoutError:
        return _refused(refusal, PAUSED)
    except SessionAborted as aborted:
        # Without the refusal, the tool runs before Claude Code stops.
        return {"continue": False, "stopReason": end_of(aborted), **_refused("deny", end_of(aborted))}
    except GuardUnavailable as error:
        return _refused("deny", f"The tool did not run: {error}")
    if not notes:
        return {}
    words = "\n".join(map(words_of, notes))
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": words}}


def session_of(event: Mapping[str, Any]) -> str:
    """Return the session as Eddy names it: that of a sub-agent is its own.

    >>> session_of({"session_id": "s-1", "agent_id": "explore"})
    's-1/explore'
    """
    session_id, agent_id = event["session_id"], event.get("agent_id")
    return f"{session_id}/{agent_id}" if agent_id else str(session_id)


def _asked(event: Mapping[str, Any], given: argparse.Namespace) -> dict[str, Any]:
    if event.get("hook_event_name") != "PreToolUse":
        return {}
    missing = [name for name in (URL_VARIABLE, TOKEN_VARIABLE) if not os.environ.get(name)]
    if missing:
        raise ValueError(f"{' and '.join(missing)} must be set")
    guard = Guard.connect(
        os.environ[URL_VARIABLE],
        token=os.environ[TOKEN_VARIABLE],
        guard_id=f"{given.agent}@{socket.gethostname()}",
        on_lost=given.on_lost,
        start_wait=_START_WAIT_S,
        lost_wait=_START_WAIT_S,
    )
    session = guard.session(session_of(event), agent_id=given.agent)
    try:
        return asyncio.run(answer_of(session, event, timeout=given.timeout, refusal=given.refusal))
    finally:
        guard.close()


def _refused(refusal: Refusal, words: str) -> dict[str, Any]:
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": refusal,
            "permissionDecisionReason": words,
        }
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="eddy-guard-hook", description=__doc__)
    parser.add_argument("--timeout", type=float, default=TIMEOUT_S, help="the hook's timeout in seconds")
    parser.add_argument("--refusal", choices=["deny", "defer"], default="deny", help="the answer at its end")
    parser.add_argument("--agent", default="claude-code", help="the name of the agent")
    parser.add_argument("--on-lost", choices=["open", "closed"], default="open", help="if no console answers")
    given = parser.parse_args()
    if given.timeout <= HOOK_MARGIN_S:
        parser.error(f"--timeout has to be longer than {HOOK_MARGIN_S:g} s, to answer before it")
    return given


if __name__ == "__main__":
    main()
