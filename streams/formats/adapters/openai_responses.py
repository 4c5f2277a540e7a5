"""Lists of items of the OpenAI responses interface: ``function_call`` answered by ``function_call_output``.

Plain messages may have no ``type``. An item has an ``id`` and a call has a ``call_id``: answers name the
latter. A list says nothing of failures: every call is a success, unless an error pattern is given.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from streams.formats.adapters.adapter import CERTAIN, NO, PERHAPS, Format, UnitKind
from streams.formats.adapters.conversation import Conversation
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found
from streams.formats.adapters.message_list import MessageListAdapter, at
from streams.formats.adapters.record import block_text, text_or_none, words_text

NAME: Final = "openai-responses"
_LISTS: Final = ("input", "output")
_ARGUMENTS: Final = ("arguments", "input", "action", "operation")


class OpenAIResponses(MessageListAdapter):
    """Reads lists as the responses interface takes them: ``input``, and ``output`` if it stands beside."""

    agent: ClassVar[str] = "openai_responses"

    def items(self, value: dict[str, Any]) -> list[Any] | None:
        """Return the items of a request, of a response, or of both in one object."""
        lists = [value[key] for key in _LISTS if isinstance(value.get(key), list)]
        return [item for each in lists for item in each] if lists else None

    def messages(self, conversation: Conversation, messages: list[Any]) -> Found:
        """Yield what one list says."""
        responses = _responses(messages)
        for index, item in enumerate(messages):
            match item:
                case {"role": "user"}:
                    conversation.ask(words_text(item.get("content")))
                case {"role": "assistant"}:
                    conversation.say(words_text(item.get("content")))
                    if not _same_turn(messages, index):
                        yield from conversation.finish(f"{conversation.session_id}/{index}", at(index))
                case {"role": "system" | "developer"}:
                    self.ignored["instructions"] += 1
                case {"type": "mcp_call", "id": str(call_id), "name": str()}:
                    yield from self._whole_call(conversation, call_id, item, index)
                case {"type": str(kind), "call_id": str(call_id)} if kind.endswith("_call_output"):
                    output = block_text(item.get("output"))
                    yield from conversation.answer(call_id, output, at(index), self.status(output))
                case {"type": str(kind), "call_id": str(call_id)} if kind.endswith("_call"):
                    name = text_or_none(item.get("name")) or kind.removesuffix("_call")
                    round_id = f"{conversation.session_id}/{responses[index]}"
                    yield from conversation.call(
                        call_id, name, _arguments(item), at=at(index), round_id=round_id
                    )
                case {"type": str(kind)}:
                    self.ignored[f"item {kind}"[:60]] += 1
                case _:
                    yield self.unknown(conversation.session_id, f"item {index} without a type or a role")

    def _whole_call(
        self, conversation: Conversation, call_id: str, item: dict[str, Any], index: int
    ) -> Found:
        """Yield the record of a call that ran at the provider: its result stands in the same item."""
        round_id = f"{conversation.session_id}/{index}"
        yield from conversation.call(call_id, item["name"], _arguments(item), at=at(index), round_id=round_id)
        error = block_text(item.get("error"))
        output = block_text(item.get("output")) if error is None else error
        status = self.status(output) if error is None else "failure"
        yield from conversation.answer(call_id, output, at(index), status)


def _responses(messages: list[Any]) -> list[int]:
    """Return for each item the first of the calls that stand together with it: they are of one response.

    >>> _responses([{"role": "user"}, *[{"type": "function_call", "call_id": "c"}] * 2, {"type": "x"}])
    [0, 1, 1, 3]
    """
    firsts: list[int] = []
    for index, item in enumerate(messages):
        together = index > 0 and _is_call(item) and _is_call(messages[index - 1])
        firsts.append(firsts[-1] if together else index)
    return firsts


def _is_call(item: Any) -> bool:
    return isinstance(item, dict) and "call_id" in item and str(item.get("type")).endswith("_call")


def sniff(head: bytes, _name: str) -> int:
    """Recognise a list by its calls; perhaps by an ``input`` of messages."""
    best = NO
    for value in head_values(head):
        items = list(OpenAIResponses.listed(value))
        if any("call_id" in each and str(each.get("type")).startswith("function_call") for each in items):
            return CERTAIN
        is_request = isinstance(value, dict) and any(isinstance(value.get(key), list) for key in _LISTS)
        if is_request and any("role" in each and "content" in each for each in items):
            best = PERHAPS
    return best


def _arguments(item: dict[str, Any]) -> Any:
    return next((item[key] for key in _ARGUMENTS if item.get(key) is not None), None)


def _same_turn(items: list[Any], index: int) -> bool:
    """Tell whether the assistant continues after this message, thoughts left aside."""
    for item in items[index + 1 :]:
        if not isinstance(item, dict):
            return False
        if item.get("type") == "reasoning":
            continue
        kind = str(item.get("type"))
        return item.get("role") == "assistant" or (kind.endswith("_call") and "role" not in item)
    return False


FORMAT: Final = Format(NAME, UnitKind.DOCUMENT, sniff, OpenAIResponses, OpenAIResponses.resume)
