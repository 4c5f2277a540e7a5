"""What adapters of message lists share: which lists an input holds, whose they are, and a clock.

A list has no times: message n stands at second n of a made-up clock. It has no session either, unless the
object around it names one; its session is then the file and the number of the line. Programs between an agent
and its model write the whole history at every turn: of the lists of one session the longest is read.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, ClassVar, NamedTuple

from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import Adapter, Format
from streams.formats.adapters.conversation import EPOCH_MS, Conversation
from streams.formats.adapters.document import DocumentAdapter, DocumentValue, session_of
from streams.formats.adapters.log import Found
from streams.formats.adapters.record import block_text, json_text, text_or_none

_SESSION_KEYS = ("session_id", "conversation_id", "conversation")
_TASK_KEYS = ("task_id", "trial")
_ROLES = frozenset({"user", "assistant", "system", "developer", "tool", "function"})
_DEEPEST = 3
_LOOKED_AT = 5


class MessageList(NamedTuple):
    """One list of messages.

    Attributes:
        messages: the messages, oldest first.
        session_id: the session that the object around the list names.
        task: the task and the trial that it names, for a session that is named after its file.
    """

    messages: list[Any]
    session_id: str | None
    task: str | None = None


class MessageListAdapter(DocumentAdapter):
    """An adapter of message lists. A format implements `messages`, and `items` if it has keys of its own.

    Attributes:
        agent: the name under which records go: a list names no program.
        error_pattern: what the result of a failed call holds, where the format has no word for it.
    """

    agent: ClassVar[str]

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.error_pattern: re.Pattern[str] | None = None

    @abstractmethod
    def messages(self, conversation: Conversation, messages: list[Any]) -> Found:
        """Yield what one list says."""

    def items(self, value: dict[str, Any]) -> list[Any] | None:
        """Return the list that an object holds, under whatever key, None if it holds none."""
        messages = value.get("messages")
        if isinstance(messages, list):
            return messages
        return next((each for each in value.values() if holds_messages(each)), None)

    @classmethod
    def listed(cls, value: Any) -> Iterator[dict[str, Any]]:
        """Yield the messages of every list that would be read of a value, to recognise whose they are."""
        for each in cls("input").lists(value) or ():
            yield from (message for message in each.messages if isinstance(message, dict))

    def read(self, parts: Iterator[DocumentValue]) -> Found:
        """Yield what the longest list of each session says."""
        longest: dict[str, MessageList] = {}
        histories = _Histories()
        for part in parts:
            found = self.lists(part.value)
            if found is None:
                yield self.unknown(self.name, f"no list of messages{_line(part.number)}")
                continue
            for position, each in enumerate(found, 1):
                number = part.number or (position if len(found) > 1 else None)
                name = each.session_id or self._unnamed(each.task or number)
                if each.session_id is None and each.task is None and number is not None:
                    name = histories.name(each.messages, name)
                known = longest.get(name)
                if known is None or len(each.messages) > len(known.messages):
                    longest[name] = each
                if known is not None:
                    self.ignored["the same history, shorter"] += 1
        for session_id, each in longest.items():
            conversation = Conversation(session_id, self.agent, self.agent)
            yield from self.messages(conversation, each.messages)
            yield from conversation.unanswered()

    def status(self, output: str | None) -> str:
        """Return the status of a call that only its result can tell."""
        pattern = self.error_pattern
        return "failure" if pattern is not None and output and pattern.search(output) else "success"

    def _unnamed(self, place: int | str | None) -> str:
        session_id = session_of(self.name)
        return session_id if place is None else f"{session_id}/{place}"

    def lists(self, value: Any, depth: int = 0) -> list[MessageList] | None:
        """Return the lists that a value holds, under any key, None if it holds none."""
        if isinstance(value, dict):
            messages = self.items(value)
            if messages is not None:
                return [MessageList(messages, _session(value), _task(value))]
            return self._below(value.values(), depth)
        if not isinstance(value, list) or not value:
            return None
        if all(isinstance(each, dict) and self.items(each) is not None for each in value):
            return [MessageList(self.items(each) or [], _session(each), _task(each)) for each in value]
        if any(isinstance(each, dict) and ("role" in each or "type" in each) for each in value):
            return [MessageList(value, None)]
        return self._below(value, depth)

    def _below(self, values: Iterable[Any], depth: int) -> list[MessageList] | None:
        """Return the lists further down, such as those of ``samples[].messages``."""
        if depth >= _DEEPEST:
            return None
        found = [each for value in values for each in self.lists(value, depth + 1) or ()]
        return found or None


def holds_messages(value: Any) -> bool:
    """Tell whether a value is a list of messages with roles.

    >>> holds_messages([{"role": "user", "content": "a"}]), holds_messages(["a"]), holds_messages({})
    (True, False, False)
    """
    if not isinstance(value, list):
        return False
    begun = value[:_LOOKED_AT]
    return bool(begun) and all(isinstance(each, dict) and str(each.get("role")) in _ROLES for each in begun)


def messages_in(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the messages of every list that a value holds, to recognise whose they are."""
    if depth > _DEEPEST:
        return
    if holds_messages(value):
        yield from (each for each in value if isinstance(each, dict))
    elif isinstance(value, dict):
        for each in value.values():
            yield from messages_in(each, depth + 1)
    elif isinstance(value, list):
        for each in value:
            yield from messages_in(each, depth + 1)


def with_error_pattern(given: Format, pattern: str) -> Format:
    """Return the format with an error pattern: results that it finds are failures.

    Raises:
        ConfigurationError: the pattern is no regular expression, or the format reads no message lists.
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ConfigurationError(f"The error pattern is no regular expression: {error}.") from error
    if not isinstance(given.start("input"), MessageListAdapter):
        raise ConfigurationError(f"{given.name} says which calls failed: it takes no error pattern.")

    def prepared(adapter: Adapter) -> Adapter:
        if isinstance(adapter, MessageListAdapter):
            adapter.error_pattern = compiled
        return adapter

    return given._replace(
        start=lambda name: prepared(given.start(name)),
        resume=lambda name, state: prepared(given.resume(name, state)),
    )


def at(index: int) -> int:
    """Return the made-up time of a message."""
    return EPOCH_MS + 1000 * index


def same_turn(messages: list[Any], index: int) -> bool:
    """Tell whether the assistant continues after this message, so that it ends no turn."""
    following = messages[index + 1] if index + 1 < len(messages) else None
    return isinstance(following, dict) and following.get("role") == "assistant"


def _session(value: dict[str, Any]) -> str | None:
    for key in _SESSION_KEYS:
        given = value.get(key)
        found = text_or_none(given.get("id") if isinstance(given, dict) else given)
        if found is not None:
            return found
    return None


def _task(value: dict[str, Any]) -> str | None:
    """Return the task that an object names, and which trial of it."""
    named = [value[key] for key in _TASK_KEYS if isinstance(value.get(key), int | str)]
    return "/".join(map(str, named)) if "task_id" in value and named else None


def _line(number: int | None) -> str:
    return "" if number is None else f" in line {number:,}"


class _Histories:
    """Which lists without a session are of one: a list that begins with the whole of the longest of them."""

    def __init__(self) -> None:
        self._longest: dict[bytes, str] = {}
        self._begun: dict[bytes, str] = {}

    def name(self, messages: list[Any], new: str) -> str:
        """Return the name of the lists that these messages continue or repeat, else the new one."""
        beginnings = list(_beginnings(messages))
        if not beginnings:
            return new
        repeated = self._begun.get(beginnings[-1])
        if repeated is not None:
            return repeated
        continued = next((each for each in reversed(beginnings) if each in self._longest), None)
        name = new if continued is None else self._longest.pop(continued)
        self._longest[beginnings[-1]] = name
        for each in beginnings:
            self._begun.setdefault(each, name)
        return name


def _beginnings(messages: list[Any]) -> Iterator[bytes]:
    """Yield a digest of each beginning of a list: its roles, texts and ids, not its marks for a cache."""
    running = blake2b(digest_size=12)
    for message in messages:
        if not isinstance(message, dict):
            running.update(b"?")
        elif message.get("role") in ("system", "developer"):
            continue  # holds the time of day in some programs
        else:
            running.update(_essence(message).encode("utf-8", "replace"))
        yield running.digest()


def _essence(message: dict[str, Any]) -> str:
    content = message.get("content")
    ids = [message.get(key) for key in ("role", "type", "call_id", "tool_call_id", "output")]
    for blocks in (message.get("tool_calls"), content):
        if isinstance(blocks, list):
            ids += [each.get("id") or each.get("tool_use_id") for each in blocks if isinstance(each, dict)]
    ids = [each for each in ids if each is not None]
    return f"{json_text(ids)}\0{block_text(content)}\0"
