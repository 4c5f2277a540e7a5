"""The task folders of Cline, Roo Code and Kilo Code: ``tasks/<id>/api_conversation_history.json``.

The file beside it, ``ui_messages.json``, is what the editor shows: it has no results of calls. It is
recognised and left out, so that a folder with both gives each call once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.cline_history import ClineHistory
from streams.formats.adapters.conversation import Conversation
from streams.formats.adapters.document import DocumentAdapter, DocumentValue, session_of
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found
from streams.formats.adapters.record import LONGEST_NAME

NAME: Final = "cline-task"

_FILE: Final = "api_conversation_history"
_AGENTS: Final = (("roo-cline", "roo-code"), ("roo-code", "roo-code"), ("kilo", "kilo-code"))
_DETAILS: Final = "<environment_details>"
_ASKED: Final = ("<task>", "<user_message>", "] Result:", "[TASK RESUMPTION]", "<feedback>")
_SNIFFED: Final = 6


class ClineTask(DocumentAdapter):
    """Reads one task."""

    def read(self, parts: Iterator[DocumentValue]) -> Found:
        """Yield what the messages say, one after the other."""
        for part in parts:
            match part.value:
                case list(messages) if messages and _is_shown(messages[0]):
                    said = "message of ui_messages.json: the calls stand in api_conversation_history.json"
                    self.leave_out(said, len(messages))
                case list(messages) if messages:
                    session_id = session_of(self.name)[:LONGEST_NAME]
                    agent = _agent(self.name)
                    conversation = Conversation(session_id, agent, agent)
                    yield from ClineHistory(conversation, self.ignored).read(messages)
                case _:
                    yield self.unknown(self.name, "no list of messages")


def _agent(name: str) -> str:
    lower = name.lower()
    return next((agent for part, agent in _AGENTS if part in lower), "cline")


def _is_shown(value: Any) -> bool:
    return isinstance(value, dict) and "role" not in value and value.get("type") in ("ask", "say")


def sniff(head: bytes, name: str) -> int:
    """Recognise a task by the name of its file, by what the programs write, or by what the editor shows."""
    for value in head_values(head)[:1]:
        if not isinstance(value, list) or not value:
            continue
        if _is_shown(value[0]):
            return CERTAIN if {"ts", str(value[0]["type"])} <= value[0].keys() else NO
        messages = [each for each in value[:_SNIFFED] if isinstance(each, dict) and "role" in each]
        if messages and (
            _FILE in name.replace("\\", "/").rsplit("/", 1)[-1] or any(map(_is_typical, messages))
        ):
            return CERTAIN
    return NO


def _is_typical(message: dict[str, Any]) -> bool:
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"text": content}]
    texts = [each.get("text") for each in blocks if isinstance(each, dict)]
    whole = "\n".join(text[:100_000] for text in texts if isinstance(text, str))
    return message.get("role") == "user" and _DETAILS in whole and any(each in whole for each in _ASKED)


FORMAT: Final = Format(
    NAME,
    UnitKind.DOCUMENT,
    sniff,
    ClineTask,
    ClineTask.resume,
    folder=".config/Code/User/globalStorage/*/tasks/*/*_history.json",
)
