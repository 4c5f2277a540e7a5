"""The log of Codex, ``~/.codex/sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl``.

Every command is there twice, and so are its tokens: as items of the model and as events of the program. The
items are read. Tokens come before the result of a call, and after the last words of a turn. These wait.

The first header of a file names its session. A fork and a sub-agent begin with a copy of the log of the
session above, header included, which is no work of theirs: see `Codex._copies`. Before version 0.35 a line is
the bare item, without a time.
"""

from __future__ import annotations

from typing import Any, Final

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.conversation import ContextChange, Conversation, Usage, UserTurn
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found, LogAdapter
from streams.formats.adapters.record import (
    block_text,
    json_value,
    media_text,
    text_or_none,
    whole,
    words_text,
)
from streams.formats.adapters.shell_output import codex_failure, codex_output

NAME: Final = "codex"
#: Calls that the provider carries out: the log has no result of them.
_OF_THE_PROVIDER: Final = frozenset({"web_search_call", "image_generation_call", "file_search_call"})
_HEADER_OF_BEFORE: Final = frozenset({"id", "timestamp", "instructions"})
#: A copy is written at once. A line that comes later than this after the one before is none of it, ms.
_PAUSE_AFTER_A_COPY: Final = 1_000
#: The same for the beginning of a turn, which a copy may hold, too.
_PAUSE_BEFORE_A_TURN: Final = 10
_TURN_BEGINS: Final = frozenset({"task_started", "turn_started"})
_CALLS: Final = {
    "function_call": None,
    "custom_tool_call": None,
    "local_shell_call": "local_shell",
    "tool_search_call": "tool_search",
}
"""The calls that Codex carries out, and their tool where the item names none."""
_ANSWERS: Final = frozenset(
    {"function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output"}
)


class Codex(LogAdapter):
    """Reads one rollout. A sub-agent has a rollout, and so a session, of its own."""

    version = 3

    def read(self, value: dict[str, Any]) -> Found:
        """Yield what one line completes."""
        if "payload" not in value:
            value = self._of_before(value)
        kind, payload = value.get("type"), value.get("payload")
        if not isinstance(kind, str) or not isinstance(payload, dict):
            yield self.unknown(self.name, "a line without type or payload")
            return
        memory = self.memory
        before: int | None = memory.get("at")
        at = self.time_of(value.get("timestamp"))
        if kind == "session_meta":
            self._header(payload, at)
        conversation = self.conversation(memory.get("session") or self.name, NAME)
        if kind == "session_meta":
            conversation.version = memory.get("version")
            conversation.parent_session_id = memory.get("parent")
            if memory.pop("resumed", False):
                conversation.change_context(ContextChange.RESUMED)
            self.ignored["type session_meta"] += 1
            return
        if memory.get("copying") and self._copies(kind, payload, before, at):
            self._inherit(conversation, payload)
            self.ignored["line copied from the session above"] += 1
            return
        yield from self._line(conversation, kind, payload, at)

    def _line(self, conversation: Conversation, kind: str, payload: dict[str, Any], at: int) -> Found:
        match kind:
            case "response_item":
                yield from self._item(conversation, payload, at)
            case "event_msg":
                yield from self._event(conversation, payload)
            case "token_usage_record":
                self.memory["counted"] = True
                self.memory["round"] = None
                billed, cached, used = self._tokens(payload.get("usage"))
                conversation.spend(billed, cached=cached, usage=used)
                yield from conversation.conclude()
            case "turn_context":
                self.memory["model"] = text_or_none(payload.get("model"))
                self.ignored["type turn_context"] += 1
            case "compacted":
                conversation.change_context(ContextChange.COMPACTED)
                self.ignored["type compacted"] += 1
            case _:
                self.ignored[f"type {kind}"[:60]] += 1

    def _tokens(self, usage: Any) -> tuple[int | None, int | None, Usage | None]:
        """Return the tokens that were billed in full, those from a cache, and all by what they cost.

        The input includes what was read from a cache.
        """
        if not isinstance(usage, dict):
            return None, None, None
        total, cached = whole(usage.get("total_tokens")), whole(usage.get("cached_input_tokens"))
        sent, written = whole(usage.get("input_tokens")), whole(usage.get("output_tokens"))
        used: Usage | None = None
        if sent is not None and written is not None:
            used = Usage(self.memory.get("model"), max(0, sent - (cached or 0)), 0, written, cached or 0)
        if total is None and (sent is not None or written is not None):
            total = (sent or 0) + (written or 0)
        return (None if total is None else max(0, total - (cached or 0))), cached or None, used

    def _of_before(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return a line of a version before 0.35 in the form of today."""
        if "record_type" in value:
            return {"type": "state", "payload": {}}
        if "type" in value:
            return {"type": "response_item", "payload": value}
        if value.keys() >= _HEADER_OF_BEFORE:
            return {"type": "session_meta", "timestamp": value.get("timestamp"), "payload": value}
        return value

    def _header(self, payload: dict[str, Any], at: int) -> None:
        """Take the header of the file, or the one with which a copy of another session begins."""
        session_id = text_or_none(payload.get("id")) or text_or_none(payload.get("session_id"))
        known = self.memory.get("session")
        if known is None:
            self.memory["session"] = session_id
            self.memory["version"] = text_or_none(payload.get("cli_version"))
            self.memory["begun"] = at
            above = _parent(payload)
            self.memory["parent"] = None if above == session_id else above
            self.memory["sub"] = _sub_agent(payload) is not None
        elif session_id == known:
            self.memory["resumed"] = True
        else:
            self.memory["copying"] = True
            self.memory["parent"] = self.memory.get("parent") or session_id

    def _copies(self, kind: str, payload: dict[str, Any], before: int | None, at: int) -> bool:
        """Tell whether a line belongs to the copy of another session.

        A copy begins with the header of that session. It is written at once, under the time of the copying
        or under the old times, so it ends with a turn that begins after it, or with a pause.
        """
        pause = abs(at - (at if before is None else before))
        if kind == "event_msg" and text_or_none(payload.get("type")) in _TURN_BEGINS:
            started = whole(payload.get("started_at"))
            if started is not None:
                ended = started >= self.memory["begun"] // 1000
            else:
                ended = pause > _PAUSE_BEFORE_A_TURN
        else:
            ended = at >= self.memory["begun"] and pause > _PAUSE_AFTER_A_COPY
        if ended:
            self.memory["copying"] = False
        return not ended

    def _inherit(self, conversation: Conversation, payload: dict[str, Any]) -> None:
        """Begin the running sum of the tokens where the copied session stood."""
        match payload:
            case {"type": "token_count", "info": dict(info)}:
                spent = conversation.tokens, conversation.cached, conversation.spent
                conversation.spent = {}
                conversation.spend_sum(*self._tokens(info.get("total_token_usage")))
                conversation.tokens, conversation.cached, conversation.spent = spent
            case _:
                pass

    def _item(self, conversation: Conversation, item: dict[str, Any], at: int) -> Found:
        kind, call_id = (
            text_or_none(item.get("type")),
            text_or_none(item.get("call_id")) or text_or_none(item.get("id")),
        )
        if kind in ("tool_search_call", "tool_search_output") and item.get("execution") == "server":
            if kind == "tool_search_call":
                yield from self._of_the_provider(conversation, kind, item, call_id, at)
            else:
                self.ignored["item tool_search_output"] += 1
        elif kind in _CALLS and call_id is not None:
            name = _tool(item) or _CALLS[kind] or "local_shell"
            arguments = next(
                (item[key] for key in ("arguments", "input", "action") if item.get(key) is not None), None
            )
            yield from conversation.call(call_id, name, arguments, at=at, round_id=self._round(call_id))
        elif kind in _ANSWERS and call_id is not None:
            self.memory["round"] = None
            yield from self._answer(conversation, call_id, item, at)
        elif kind in _OF_THE_PROVIDER:
            yield from self._of_the_provider(conversation, kind, item, call_id, at)
        elif kind == "message":
            yield from self._message(conversation, item, call_id or f"{conversation.session_id}/{at}", at)
        else:
            self.ignored[f"item {kind}"[:60]] += 1

    def _answer(self, conversation: Conversation, call_id: str, item: dict[str, Any], at: int) -> Found:
        text = _output(item.get("output") if "tools" not in item else item["tools"])
        output = codex_output(text or "")
        status, turn = output.status, None
        # Below a head stand the words of the command, not those of Codex.
        if output.exit_code is None and (failure := codex_failure(text or "")) is not None:
            status, refused = failure
            turn = None if refused is None else UserTurn(refused)
        if item.get("success") is False and status == "success":
            status = "failure"
        result = None if text is None else output.text
        yield from conversation.answer(call_id, result, at, status, user_turn=turn)

    def _of_the_provider(
        self, conversation: Conversation, kind: str, item: dict[str, Any], call_id: str | None, at: int
    ) -> Found:
        """Yield a call that the provider has carried out. Of its results only images are in the log."""
        count: int = self.memory.get("provided", 0) + 1
        self.memory["provided"] = count
        call_id = call_id or f"{conversation.session_id}/{kind}/{count}"
        given = (item.get(key) for key in ("action", "queries", "arguments", "revised_prompt"))
        arguments = next((each for each in given if each is not None), None)
        name = kind.removesuffix("_call")
        yield from conversation.call(call_id, name, arguments, at=at, round_id=self._round(call_id))
        status = "failure" if item.get("status") == "failed" else "success"
        image = item.get("result") if kind == "image_generation_call" else None
        result = media_text("image", image) if isinstance(image, str) and image else None
        yield from conversation.answer(call_id, result, at, status)

    def _round(self, call_id: str) -> str:
        """Return the round of a call: the first call of its response. A result ends the response."""
        found: str | None = self.memory.get("round")
        if found is None:
            self.memory["round"] = found = call_id
        return found

    def _message(self, conversation: Conversation, item: dict[str, Any], event_id: str, at: int) -> Found:
        text = words_text(item.get("content"))
        match item.get("role"):
            case "assistant":
                conversation.say(text)
                conversation.hold(event_id, at)
            case "user":
                self.memory["round"] = None
                yield from conversation.conclude()
                conversation.ask(text, is_person=not self.memory.get("sub"))
            case role:
                self.ignored[f"message of {role}"[:60]] += 1

    def _event(self, conversation: Conversation, event: dict[str, Any]) -> Found:
        match event:
            case {"type": "token_count", "info": dict(info)} if "counted" not in self.memory:
                # What older versions have alone: the sum over the session.
                self.memory["round"] = None
                conversation.spend_sum(*self._tokens(info.get("total_token_usage")))
                yield from conversation.conclude()
            case {"type": "task_complete" | "turn_complete"}:
                yield from conversation.conclude()
                conversation.at_work = False
            case {"type": "turn_aborted"}:
                yield from conversation.conclude()
                conversation.at_work = False
                if event.get("reason") in (None, "interrupted"):
                    conversation.person(UserTurn.INTERRUPTION)
            case {"type": "context_compacted"}:
                conversation.change_context(ContextChange.COMPACTED)
                self.ignored["event context_compacted"] += 1
            case {"type": str(kind)}:
                self.ignored[f"event {kind}"[:60]] += 1
            case _:
                yield self.unknown(conversation.session_id, "an event without a type")


def sniff(head: bytes, _name: str) -> int:
    """Recognise a rollout by its first line, or by the items of the model."""
    for value in head_values(head):
        match value:
            case {"type": "session_meta" | "response_item" | "event_msg", "payload": dict()}:
                return CERTAIN
            case {"id": str(), "timestamp": str(), "instructions": _} if "type" not in value:
                return CERTAIN
            case {"record_type": "state"}:
                return CERTAIN
            case _:
                continue
    return NO


def _tool(item: dict[str, Any]) -> str | None:
    """Return the tool of a call. Tools of two MCP servers may have the same name."""
    name, server = text_or_none(item.get("name")), text_or_none(item.get("namespace"))
    if name is None or server is None or not server.startswith("mcp__") or name.startswith("mcp__"):
        return name
    return f"{server}{name}" if server.endswith("_") or name.startswith("_") else f"{server}__{name}"


def _output(output: Any) -> str | None:
    """Return the text of an output: text, blocks, or an object with the text in it."""
    match json_value(output) if isinstance(output, str) and output.startswith("{") else output:
        case {"content": content} if not isinstance(output, str):
            return block_text(content)
        case _:
            return block_text(output)


def _sub_agent(header: dict[str, Any]) -> Any:
    source = header.get("source")
    return source.get("subagent") if isinstance(source, dict) else None


def _parent(header: dict[str, Any]) -> str | None:
    """Return the session above, as any version names it."""
    given = [header.get("forked_from_id"), header.get("parent_thread_id")]
    match _sub_agent(header):
        case {"thread_spawn": {"parent_thread_id": above}}:
            given.append(above)
        case _:
            pass
    return next((each for each in map(text_or_none, given) if each is not None), None)


FORMAT: Final = Format(
    NAME,
    UnitKind.LINES,
    sniff,
    Codex,
    Codex.resume,
    folder=".codex/sessions/**/rollout-*.jsonl*",  # older ones are packed: .jsonl.zst
    also=(".codex/archived_sessions/**/rollout-*.jsonl*",),
)
