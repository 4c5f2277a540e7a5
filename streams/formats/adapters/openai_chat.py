"""Message lists of the OpenAI chat interface: ``tool_calls`` answered by messages of the role ``tool``.

A list says nothing of failures: every call is a success, unless an error pattern is given.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from streams.formats.adapters.adapter import CERTAIN, NO, PERHAPS, Format, UnitKind
from streams.formats.adapters.conversation import Conversation
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found
from streams.formats.adapters.message_list import MessageListAdapter, at, messages_in, same_turn
from streams.formats.adapters.record import block_text, text_or_none, words_text

NAME: Final = "openai-chat"


class OpenAIChat(MessageListAdapter):
    """Reads lists as the chat interface takes them."""

    agent: ClassVar[str] = "openai_chat"

    def messages(self, conversation: Conversation, messages: list[Any]) -> Found:
        """Yield what one list says."""
        for index, message in enumerate(messages):
            match message:
                case {"role": "user"}:
                    conversation.ask(words_text(message.get("content")))
                case {"role": "assistant"}:
                    yield from self._assistant(conversation, messages, index)
                case {"role": "tool", "tool_call_id": str(call_id)}:
                    yield from self._answer(conversation, call_id, message, index)
                case {"role": "function", "name": str(name)}:
                    called = (each for each, call in conversation.calls.items() if call.name == name)
                    yield from self._answer(conversation, next(called, name), message, index)
                case {"role": "system" | "developer"}:
                    self.ignored["instructions"] += 1
                case _:
                    yield self.unknown(conversation.session_id, f"message {index} of no known role")

    def _assistant(self, conversation: Conversation, messages: list[Any], index: int) -> Found:
        message = messages[index]
        conversation.say(words_text(message.get("content")))
        calls = message.get("tool_calls")
        called, round_id = False, f"{conversation.session_id}/{index}"
        for call in calls if isinstance(calls, list) else ():
            match call:
                case {"id": str(call_id), "function": {"name": str(name)}}:
                    called = True
                    arguments = call["function"].get("arguments")
                    yield from conversation.call(call_id, name, arguments, at=at(index), round_id=round_id)
                case {"id": str(call_id), "custom": {"name": str(name)}}:
                    called = True
                    arguments = call["custom"].get("input")
                    yield from conversation.call(call_id, name, arguments, at=at(index), round_id=round_id)
                case _:
                    yield self.unknown(
                        conversation.session_id, f"a call of no known shape in message {index}"
                    )
        match message.get("function_call"):
            case {"name": str(name)} as call:  # the interface of 2023, which had no ids
                called = True
                arguments = call.get("arguments")
                yield from conversation.call(round_id, name, arguments, at=at(index), round_id=round_id)
            case _:
                pass
        if not called and not same_turn(messages, index):
            yield from conversation.finish(f"{conversation.session_id}/{index}", at(index))

    def _answer(self, conversation: Conversation, call_id: str, message: dict[str, Any], index: int) -> Found:
        output = block_text(message.get("content"))
        yield from conversation.answer(call_id, output, at(index), self.status(output))


def sniff(head: bytes, _name: str) -> int:
    """Recognise a list by its roles, and by calls and answers as this interface has them."""
    best = NO
    for value in head_values(head):
        if isinstance(value, dict) and "trajectory_format" in value:
            return NO
        listed = value.get("messages") if isinstance(value, dict) else value
        is_plain = isinstance(listed, list)  # else the list stands elsewhere, and only calls make it certain
        messages = listed if isinstance(listed, list) and not _is_nested(listed) else messages_in(value)
        for message in messages:
            if not isinstance(message, dict):
                continue
            if message.get("role") == "tool" and text_or_none(message.get("tool_call_id")):
                return CERTAIN
            if isinstance(message.get("tool_calls"), list) and message.get("role") == "assistant":
                return CERTAIN
            if is_plain and message.get("role") in ("user", "assistant", "system", "developer"):
                best = PERHAPS
    return best


def _is_nested(listed: list[Any]) -> bool:
    return bool(listed) and not any(isinstance(each, dict) and "role" in each for each in listed)


FORMAT: Final = Format(NAME, UnitKind.DOCUMENT, sniff, OpenAIChat, OpenAIChat.resume)
