"""The log of GitHub Copilot CLI, ``~/.copilot/session-state/<id>/events.jsonl``.

Each line is an event: ``{type, data, id, parentId, timestamp}``. A message of the assistant names the calls
that it asks for. What belongs to a sub-agent names the call that started it, ``parentToolCallId``: that is a
session of its own.
"""

from __future__ import annotations

import re
from typing import Any, Final

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.conversation import ContextChange, Conversation, UserTurn
from streams.formats.adapters.document import session_of
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found, LogAdapter
from streams.formats.adapters.record import (
    LONGEST_NAME,
    block_text,
    json_value,
    text_or_none,
    whole,
    words_text,
)

NAME: Final = "copilot-cli"

_ENVELOPE: Final = frozenset({"type", "data", "id", "timestamp", "parentId"})
_SAY_NOTHING: Final = (
    "session.",
    "assistant.",
    "hook.",
    "skill.",
    "subagent.",
    "system.",
    "permission.",
    "user_input.",
    "elicitation.",
    "external_tool.",
    "command.",
    "commands.",
    "mcp.",
    "mcp_app.",
    "sampling.",
    "exit_plan_mode.",
    "auto_mode_switch.",
    "capabilities.",
    "pending_messages.",
    "tool.execution_partial_result",
    "tool.execution_progress",
)
"""How the types of events begin that tell of no step."""

_TOOL: Final = ("tool.user_requested", "tool.execution_start", "tool.execution_complete")
_ENDED: Final = ("subagent.completed", "subagent.failed")
_OF_A_CONVERSATION: Final = (
    "user.message",
    "assistant.message",
    "assistant.usage",
    "assistant.turn_end",
    "abort",
    "session.shutdown",
)

_REFUSED: Final = "The user rejected this tool call"
_INTERRUPTED: Final = "The execution of this tool, or a previous tool was interrupted"
_SHELLS: Final = ("bash", "powershell", "shell")
_EXIT: Final = re.compile(r"<(?:[^<>\n]{0,80} )?(?:exited|completed) with exit code (-?\d+)>\s*\Z")
_MOST_REMEMBERED: Final = 100


class CopilotCli(LogAdapter):
    """Reads one session, and the sub-agents in it."""

    def read(self, value: dict[str, Any]) -> Found:
        """Yield what one event completes."""
        kind, data = value.get("type"), value.get("data")
        if not isinstance(kind, str) or not isinstance(data, dict):
            yield self.unknown(self._session(), "no event: type or data is missing")
            return
        at = self.time_of(value.get("timestamp"))
        if kind == "session.start":
            self.memory["session"] = _name(data.get("sessionId"))
            self.memory["version"] = _name(data.get("copilotVersion"))
        elif kind in _TOOL:
            yield from self._tool(kind, value, data, at)
        elif kind == "subagent.started":
            self._started(value, data)
        elif kind in _ENDED:
            child = self.conversations.get(f"{self._session()}/{data.get('toolCallId')}")
            if child is not None:
                yield from self._child(str(data["toolCallId"])).conclude()
        elif kind in _OF_A_CONVERSATION:
            yield from self._event(self._whose(value, data), kind, value, at)
        elif (change := _change(kind, data)) is not None:
            self._whose(value, data).change_context(change)
        elif kind.startswith(_SAY_NOTHING):
            self.ignored[f"type {kind}"[:60]] += 1
        else:
            yield self.unknown(self._session(), f"type {kind}")

    def _event(self, conversation: Conversation, kind: str, line: dict[str, Any], at: int) -> Found:
        data = line["data"]
        match kind:
            case "user.message":
                yield from self._user(conversation, data)
            case "assistant.message":
                yield from self._message(conversation, line, data, at)
            case "assistant.usage":
                self._usage(conversation, data)
            case "abort":
                yield from self._abort(conversation, data)
            case _:
                yield from conversation.conclude()

    def _user(self, conversation: Conversation, data: dict[str, Any]) -> Found:
        yield from conversation.conclude()
        source = text_or_none(data.get("source"))
        if source not in (None, "user"):
            self.ignored[f"user.message of {source}"[:60]] += 1
            return
        conversation.ask(words_text(data.get("content")), is_person=conversation.parent_session_id is None)

    def _message(
        self, conversation: Conversation, line: dict[str, Any], data: dict[str, Any], at: int
    ) -> Found:
        message_id = text_or_none(data.get("messageId")) or text_or_none(line.get("id"))
        message_id = message_id or f"{conversation.session_id}/{at}"
        tokens = whole(data.get("outputTokens"))
        if tokens is not None:
            self.memory["outputs"] = True
            conversation.spend(tokens, message_id)
        conversation.say(words_text(data.get("content")))
        requests = data.get("toolRequests")
        if not requests:
            if conversation.words is None:
                yield from conversation.finish(message_id, at)
            conversation.hold(message_id, at)
            return
        for request in requests if isinstance(requests, list) else [requests]:
            match request:
                case {"toolCallId": str(call_id), "name": str(name), **rest}:
                    arguments = json_value(rest.get("arguments"))
                    yield from conversation.call(call_id, name, arguments, at=at, round_id=message_id)
                case _:
                    yield self.unknown(conversation.session_id, "a toolRequest without toolCallId or name")

    def _usage(self, conversation: Conversation, data: dict[str, Any]) -> None:
        """Count a model call: its input has the cached tokens in it, its output stands in the message too."""
        sent, cached = whole(data.get("inputTokens")), whole(data.get("cacheReadTokens"))
        output = None if self.memory.get("outputs") else whole(data.get("outputTokens"))
        if sent is not None or output is not None:
            conversation.spend(max(0, (sent or 0) - (cached or 0)) + (output or 0), cached=cached or None)

    def _abort(self, conversation: Conversation, data: dict[str, Any]) -> Found:
        yield from conversation.conclude()
        conversation.at_work = False
        reason = text_or_none(data.get("reason")) or "user"
        if "user" in reason or "remote" in reason:
            conversation.person(UserTurn.INTERRUPTION)
        else:
            self.ignored["abort by the program"] += 1

    def _started(self, line: dict[str, Any], data: dict[str, Any]) -> None:
        """Begin the session of a sub-agent: its goal is the prompt of the call that started it."""
        call_id, agent_id = _name(data.get("toolCallId")), _name(line.get("agentId"))
        if call_id is None:
            self.ignored["type subagent.started"] += 1
            return
        if agent_id is not None:
            agents: dict[str, str] = self.memory.setdefault("agents", {})
            agents[agent_id] = call_id
            if len(agents) > _MOST_REMEMBERED:
                del agents[next(iter(agents))]
        call = self._main().calls.get(call_id)
        child = self._child(call_id)
        child.agent_type = text_or_none(data.get("agentName")) or child.agent_type
        arguments = json_value(call.arguments) if call is not None else None
        if isinstance(arguments, dict):
            child.ask(text_or_none(arguments.get("prompt")), is_person=False)

    def _tool(self, kind: str, line: dict[str, Any], data: dict[str, Any], at: int) -> Found:
        conversation = self._whose(line, data)
        call_id = _name(data.get("toolCallId"))
        if call_id is None:
            yield self.unknown(conversation.session_id, f"{kind} without toolCallId")
            return
        by_person: list[str] = self.memory.setdefault("by_person", [])
        if kind == "tool.user_requested" or data.get("isUserRequested") is True or call_id in by_person:
            self.ignored["a call of the person"] += 1
            if call_id not in by_person:
                by_person.append(call_id)
                del by_person[:-_MOST_REMEMBERED]
        elif kind == "tool.execution_complete":
            call = conversation.calls.get(call_id)
            output, status, turn = _result(data, "" if call is None else call.name)
            yield from conversation.answer(call_id, output, at, status, user_turn=turn)
        elif call_id not in conversation.calls:  # else a message has asked for it
            name = text_or_none(data.get("toolName")) or text_or_none(data.get("mcpToolName"))
            if name is None:
                yield self.unknown(conversation.session_id, "tool.execution_start without toolName")
                return
            yield from conversation.call(call_id, name, json_value(data.get("arguments")), at=at)

    def _session(self) -> str:
        return self.memory.get("session") or session_of(self.name)

    def _main(self) -> Conversation:
        conversation = self.conversation(self._session(), NAME)
        conversation.version = self.memory.get("version")
        return conversation

    def _child(self, call_id: str) -> Conversation:
        session_id = self._session()
        child = self.conversation(f"{session_id}/{call_id}", NAME, "subagent")
        child.parent_session_id = session_id
        child.version = self.memory.get("version")
        return child

    def _whose(self, line: dict[str, Any], data: dict[str, Any]) -> Conversation:
        """Return the conversation that an event belongs to."""
        agent_id = _name(line.get("agentId"))
        parent = _name(data.get("parentToolCallId")) or self.memory.get("agents", {}).get(agent_id, agent_id)
        return self._main() if parent is None else self._child(parent)


def _name(value: Any) -> str | None:
    """Return an id or a version, cut to what a record can hold."""
    found = text_or_none(value)
    return None if found is None else found[:LONGEST_NAME]


def _change(kind: str, data: dict[str, Any]) -> ContextChange | None:
    """Return what an event says was done to the context."""
    if kind == "session.resume":
        return ContextChange.RESUMED
    if kind == "session.compaction_complete" and data.get("success") is not False:
        return ContextChange.COMPACTED
    if kind == "session.truncation" and whole(data.get("messagesRemovedDuringTruncation")):
        return ContextChange.COMPACTED
    return None


def _is_shell(name: str) -> bool:
    return name.lower().endswith(_SHELLS)


def _result(data: dict[str, Any], name: str) -> tuple[str | None, str, UserTurn | None]:
    """Return the output of a call, how it ended, and what a person did to it."""
    result, error = data.get("result"), data.get("error")
    if isinstance(result, dict):
        content = result.get("content")
        output = block_text(result.get("contents") if content is None else content)
    else:
        output = block_text(result)
    if data.get("success") is True:
        found = _EXIT.search(output, max(0, len(output) - 200)) if output and _is_shell(name) else None
        if output is None or found is None:
            return output, "success", None
        # The line has the number of the shell, which is another one for each call.
        return output[: found.start()].rstrip(), "failure" if int(found[1]) else "success", None
    code = None
    if isinstance(error, dict):
        code = error.get("code")
        output = block_text(error.get("message")) or output
    elif error is not None:
        output = block_text(error)
    words = (output or "").lstrip()
    if code == "rejected" or words.startswith(_REFUSED):
        return output, "skipped", UserTurn.REFUSAL
    if words.startswith(_INTERRUPTED):
        return output, "skipped", UserTurn.INTERRUPTION
    return output, "failure", None


def sniff(head: bytes, _name: str) -> int:
    """Recognise a session by its first event, or events by their envelope."""
    for value in head_values(head):
        match value:
            case {"type": "session.start", "data": {"sessionId": str(), "copilotVersion": _}}:
                return CERTAIN
            case {"type": str(kind), "data": dict()} if value.keys() >= _ENVELOPE and "." in kind:
                return CERTAIN
            case _:
                continue
    return NO


FORMAT: Final = Format(
    NAME,
    UnitKind.LINES,
    sniff,
    CopilotCli,
    CopilotCli.resume,
    folder=".copilot/session-state/**/*.jsonl",
)
