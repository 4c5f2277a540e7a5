"""Message lists of the Anthropic interface: ``tool_use`` answered by ``tool_result`` in a user message.

A result stands beside other blocks of its message. A call of a tool that runs at the provider is answered in
the assistant's own message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

from streams.formats.adapters.adapter import CERTAIN, NO, PERHAPS, Format, UnitKind
from streams.formats.adapters.claude_code import call_status
from streams.formats.adapters.conversation import Conversation
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found
from streams.formats.adapters.message_list import MessageListAdapter, at, same_turn
from streams.formats.adapters.record import block_text

NAME: Final = "anthropic-messages"
_LIKELY: Final = PERHAPS + 10


class AnthropicMessages(MessageListAdapter):
    """Reads lists as the messages interface takes them."""

    agent: ClassVar[str] = "anthropic_messages"

    def messages(self, conversation: Conversation, messages: list[Any]) -> Found:
        """Yield what one list says."""
        for index, message in enumerate(messages):
            match message:
                case {"role": "user" | "assistant" as role}:
                    opened = set(conversation.calls)
                    for block in _blocks(message.get("content")):
                        yield from self._block(conversation, block, role, index)
                    still_open = set(conversation.calls) - opened
                    if role == "assistant" and not still_open and not same_turn(messages, index):
                        yield from conversation.finish(f"{conversation.session_id}/{index}", at(index))
                case {"role": "system"}:
                    self.ignored["instructions"] += 1
                case _:
                    yield self.unknown(conversation.session_id, f"message {index} of no known role")

    def _block(self, conversation: Conversation, block: Any, role: str, index: int) -> Found:
        match block:
            case {"type": "text", "text": str(text)}:
                if role == "user":
                    conversation.ask(text)
                else:
                    conversation.say(text)
            case {"type": str(kind), "id": str(call_id), "name": str(name)} if kind.endswith("tool_use"):
                round_id = f"{conversation.session_id}/{index}"
                yield from conversation.call(
                    call_id, name, block.get("input"), at=at(index), round_id=round_id
                )
            case {"type": str(kind), "tool_use_id": str(call_id)} if kind.endswith("tool_result"):
                output = block_text(block.get("content"))
                failed = block.get("is_error") is True
                status, turn = call_status(failed, output) if failed else (self.status(output), None)
                yield from conversation.answer(call_id, output, at(index), status, user_turn=turn)
            case {"type": str(kind)}:
                self.ignored[f"block {kind}"[:60]] += 1
            case _:
                yield self.unknown(conversation.session_id, f"a block without a type in message {index}")


def sniff(head: bytes, _name: str) -> int:
    """Recognise a list by its blocks of calls and results; perhaps by what only this interface takes."""
    best = NO
    for value in head_values(head):
        roles = [each for each in AnthropicMessages.listed(value) if "role" in each]
        for block in (block for each in roles for block in _blocks(each.get("content"))):
            if isinstance(block, dict) and block.get("type") in ("tool_use", "tool_result"):
                return CERTAIN
        if roles and isinstance(value, dict) and "system" in value and "messages" in value:
            best = _LIKELY
    return best


def _blocks(content: Any) -> Iterator[Any]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        yield from content


FORMAT: Final = Format(NAME, UnitKind.DOCUMENT, sniff, AnthropicMessages, AnthropicMessages.resume)
