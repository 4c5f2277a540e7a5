"""OpenCode: a plugin in JavaScript, which runs the command of a hook before and after each call. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, Final

from streams.formats.agent_hooks.program import (
    MARK,
    HookAnswer,
    HookEvent,
    HookMoment,
    HookProgram,
    named,
)

#: What a hook is given and answers is Eddy's own here. A call that is refused throws: the model reads why.
_PLUGIN: Final = """\
// Written by `eddy guard install opencode`; `eddy guard uninstall opencode` removes it. It runs: {mark}
import {{ spawn }} from "node:child_process"

const commands = {commands}

const ask = (moment, event) =>
  new Promise((resolve) => {{
    const hook = spawn("sh", ["-c", commands[moment]])
    let said = ""
    let complaint = ""
    hook.stdout.on("data", (part) => (said += part))
    hook.stderr.on("data", (part) => (complaint += part))
    hook.stdin.on("error", () => {{}})
    hook.on("error", () => resolve({{}}))
    hook.on("close", (status) => {{
      try {{
        resolve(status === 2 ? {{ decision: "refuse", words: complaint }} : JSON.parse(said || "{{}}"))
      }} catch {{
        resolve({{}})
      }}
    }})
    hook.stdin.end(JSON.stringify(event))
  }})

export const EddyGuard = async ({{ client }}) => ({{
  "tool.execute.before": async (input, output) => {{
    const event = {{ session_id: input.sessionID, tool: input.tool, call_id: input.callID }}
    const answer = await ask("before", event)
    const session = {{ path: {{ id: input.sessionID }} }}
    if (answer.decision === "end") await client.session.abort(session).catch(() => {{}})
    if (answer.decision === "end" || answer.decision === "refuse") throw new Error(answer.words)
  }},
  "tool.execute.after": async (input, output) => {{
    const event = {{
      session_id: input.sessionID,
      tool: input.tool,
      call_id: input.callID,
      input: input.args,
      output: typeof output?.output === "string" ? output.output : JSON.stringify(output),
      exit: output?.metadata?.exit,
    }}
    const answer = await ask("after", event)
    if (answer.decision !== "note" || typeof output?.output !== "string") return
    output.output += "\\n\\n" + answer.words
  }},
}})
"""


def _installed(text: str | None, command: Callable[[HookMoment], str]) -> str:
    if text is not None and MARK not in text:
        raise ValueError("it is not Eddy's")
    commands = json.dumps({str(moment): command(moment) for moment in HookMoment}, indent=2)
    return _PLUGIN.format(mark=MARK, commands=commands)


def _removed(text: str) -> str | None:
    return None if MARK in text else text


def _place(home: PurePath, is_project: bool, environment: Mapping[str, str]) -> PurePath:
    if is_project:
        return home / ".opencode" / "plugins" / "eddy.js"
    moved = environment.get("XDG_CONFIG_HOME")
    return (PurePath(moved) if moved else home / ".config") / "opencode" / "plugins" / "eddy.js"


def _event(fields: Mapping[str, Any]) -> HookEvent | None:
    session_id = named(fields, "session_id")
    if session_id is None:
        return None
    failed = fields.get("exit") not in (None, 0)
    return HookEvent(
        session_id,
        named(fields, "tool"),
        named(fields, "call_id"),
        fields.get("input"),
        named(fields, "output"),
        "failure" if failed else "success",
    )


def _answered(_moment: HookMoment, answer: HookAnswer) -> dict[str, Any]:
    return answer._asdict()


PROGRAM: Final = HookProgram(
    name="opencode",
    title="OpenCode",
    place=_place,
    installed=_installed,
    removed=_removed,
    event=_event,
    answered=_answered,
    notes=frozenset({HookMoment.AFTER}),
    has_log=False,
    then="",
    source="https://opencode.ai/docs/plugins",
)
