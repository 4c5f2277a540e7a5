"""Trajectories in ATIF, ``trajectory.json``, into which Harbor converts the logs of some thirty agents.

A step holds the calls of a turn with their results, and one time: that of the calls. A step with
``is_copied_context`` repeats one of an earlier trajectory. A result keeps the text of the agent's own log,
with what stands around it there. Results without the id of their call belong to the calls of their step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.claude_code import call_status
from streams.formats.adapters.conversation import EPOCH_MS, Conversation
from streams.formats.adapters.document import DocumentAdapter, DocumentValue, session_of
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found
from streams.formats.adapters.record import block_text, milliseconds, number, text_or_none, whole, words_text
from streams.formats.adapters.shell_output import agent_output

NAME: Final = "atif"
_PREFIX: Final = "ATIF-"
_DEEPEST_AGENT: Final = 8
# What a program writes in the name of the user before the user has said anything.
_NOT_THE_USER: Final = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions")


class Atif(DocumentAdapter):
    """Reads one trajectory, with those of sub-agents in it: sessions of their own, ``<session>/<agent>``."""

    def read(self, parts: Iterator[DocumentValue]) -> Found:
        """Yield what trajectories say."""
        for part in parts:
            for each in part.value if isinstance(part.value, list) else [part.value]:
                if isinstance(each, dict) and isinstance(each.get("steps"), list):
                    names = (text_or_none(each.get(key)) for key in ("session_id", "trajectory_id"))
                    session_id = next((name for name in names if name), session_of(self.name))
                    yield from self._trajectory(each, session_id, 0)
                else:
                    yield self.unknown(self.name, "no trajectory: no steps")

    def _trajectory(self, value: dict[str, Any], session_id: str, depth: int) -> Found:
        given = value.get("agent")
        agent = given if isinstance(given, dict) else {}
        name, version = text_or_none(agent.get("name")) or NAME, text_or_none(agent.get("version"))
        conversations: dict[str, Conversation] = {}
        steps = [each for each in value["steps"] if not _is_copied(each)]
        self.leave_out("copied step", len(value["steps"]) - len(steps))
        latest = None
        for index, step in enumerate(steps):
            if not isinstance(step, dict):
                yield self.unknown(session_id, f"step {index + 1} is not an object")
                continue
            time = milliseconds(step.get("timestamp"))
            latest = latest if time is None else time
            at = EPOCH_MS + 1000 * index if latest is None else latest
            whose = _whose(step, session_id)
            conversation = conversations.setdefault(whose, Conversation(whose, name, name, version))
            following = steps[index + 1] if index + 1 < len(steps) else None
            last = not (isinstance(following, dict) and following.get("source") == "agent")
            yield from self._step(conversation, step, index, at, last=last)
        for conversation in conversations.values():
            yield from conversation.unanswered()
        others = value.get("subagent_trajectories")
        for position, each in enumerate(others if isinstance(others, list) else (), 1):
            if isinstance(each, dict) and isinstance(each.get("steps"), list) and depth < _DEEPEST_AGENT:
                below = text_or_none(each.get("trajectory_id")) or f"agent-{position}"
                yield from self._trajectory(each, f"{session_id}/{below}", depth + 1)
            else:
                yield self.unknown(session_id, "a trajectory of a sub-agent without steps")

    def _step(
        self, conversation: Conversation, step: dict[str, Any], index: int, at: int, *, last: bool
    ) -> Found:
        words = words_text(step.get("message"))
        match step.get("source"):
            case "user":
                if words and not words.lstrip().startswith(_NOT_THE_USER):
                    conversation.ask(words)
                yield from self._results(conversation, step, set(), at)
            case "agent":
                billed, cached = _tokens(step.get("metrics"))
                conversation.spend(billed, cached=cached)
                _pay(conversation, step.get("metrics"))
                conversation.say(words)
                called: set[str] = set()
                number_of = step.get("step_id")
                step_id = index + 1 if whole(number_of) is None else number_of
                message_id = f"{conversation.session_id}/{step_id}"
                yield from self._calls(conversation, step, at, called, message_id)
                yield from self._results(conversation, step, called, at)
                if last and not called:
                    yield from conversation.finish(message_id, at)
            case "system":
                self.ignored["step of the system"] += 1
                yield from self._results(conversation, step, set(), at)
            case _:
                yield self.unknown(conversation.session_id, f"step {index + 1} of no known source")

    def _calls(
        self, conversation: Conversation, step: dict[str, Any], at: int, called: set[str], message_id: str
    ) -> Found:
        calls = step.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            match call:
                case {"tool_call_id": str(call_id), "function_name": str(name)}:
                    called.add(call_id)
                    arguments = call.get("arguments")
                    yield from conversation.call(call_id, name, arguments, at=at, round_id=message_id)
                case _:
                    yield self.unknown(conversation.session_id, "a call without an id or a name")

    def _results(self, conversation: Conversation, step: dict[str, Any], called: set[str], at: int) -> Found:
        observation = step.get("observation")
        results = observation.get("results") if isinstance(observation, dict) else None
        nameless: list[dict[str, Any]] = []
        for result in results if isinstance(results, list) else ():
            match result:
                case {"source_call_id": str(call_id)}:
                    yield from _answer(conversation, call_id, result, at)
                case dict():
                    nameless.append(result)
                case _:
                    yield self.unknown(conversation.session_id, "a result that is not an object")
        waiting = [
            call_id
            for call_id, call in conversation.calls.items()
            if nameless and call_id in called and call.answered is None
        ]
        # One result for several calls is what stood there after the last of them.
        silent = max(0, len(waiting) - len(nameless))
        for call_id in waiting[:silent]:
            yield from conversation.answer(call_id, None, at)
        for call_id, result in zip(waiting[silent:], nameless, strict=False):
            yield from _answer(conversation, call_id, result, at)
        self.leave_out("observation without a call", len(nameless) - len(waiting))


def sniff(head: bytes, _name: str) -> int:
    """Recognise a trajectory by its schema version."""
    for value in head_values(head):
        version = value.get("schema_version") if isinstance(value, dict) else None
        if isinstance(version, str) and version.startswith(_PREFIX):
            return CERTAIN
    return NO


def _answer(conversation: Conversation, call_id: str, result: dict[str, Any], at: int) -> Found:
    text = block_text(result.get("content"))
    output = None if text is None else agent_output(text)
    extra = result.get("extra")
    status, turn = call_status(isinstance(extra, dict) and extra.get("tool_result_is_error"), text)
    if status == "success" and output is not None and output.exit_code:
        status = "failure"
    answer = None if output is None else output.text
    yield from conversation.answer(call_id, answer, at, status, user_turn=turn)


def _is_copied(step: Any) -> bool:
    if not isinstance(step, dict):
        return False
    extra = step.get("extra")
    copied = step.get("is_copied_context"), isinstance(extra, dict) and extra.get("is_copied_context")
    return True in copied


def _whose(step: dict[str, Any], session_id: str) -> str:
    extra = step.get("extra")
    if not isinstance(extra, dict) or extra.get("is_sidechain") is not True:
        return session_id
    names = (text_or_none(extra.get(key)) for key in ("agent_id", "agentId"))
    return f"{session_id}/{next((name for name in names if name), 'sidechain')}"


def _tokens(metrics: Any) -> tuple[int | None, int | None]:
    """Return the tokens that were billed in full, and those from a cache, which the prompt includes."""
    if not isinstance(metrics, dict):
        return None, None
    cached = whole(metrics.get("cached_tokens"))
    given = (whole(metrics.get(key)) for key in ("prompt_tokens", "completion_tokens"))
    counts = [count for count in given if count is not None]
    return (max(0, sum(counts) - (cached or 0)) if counts else None), cached or None


def _pay(conversation: Conversation, metrics: Any) -> None:
    cost = number(metrics.get("cost_usd")) if isinstance(metrics, dict) else None
    if cost:
        conversation.cost = (conversation.cost or 0.0) + cost


FORMAT: Final = Format(NAME, UnitKind.DOCUMENT, sniff, Atif, Atif.resume)
