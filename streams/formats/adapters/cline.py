"""The session of Cline, ``<id>.messages.json``: messages with their times, tokens and cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.cline_history import ClineHistory
from streams.formats.adapters.conversation import Conversation
from streams.formats.adapters.document import DocumentAdapter, DocumentValue
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found
from streams.formats.adapters.record import LONGEST_NAME

NAME: Final = "cline"


class Cline(DocumentAdapter):
    """Reads one session."""

    def read(self, parts: Iterator[DocumentValue]) -> Found:
        """Yield what the messages say, one after the other."""
        for part in parts:
            match part.value:
                case {"sessionId": str(session_id), "messages": list(messages)} if session_id:
                    conversation = Conversation(session_id[:LONGEST_NAME], NAME, NAME)
                    yield from ClineHistory(conversation, self.ignored).read(messages)
                case _:
                    yield self.unknown(self.name, "no session: sessionId or messages are missing")


def sniff(head: bytes, _name: str) -> int:
    """Recognise a session by its first keys, and that its messages stand in a list."""
    for value in head_values(head)[:1]:
        match value:
            case {"sessionId": str(), "messages": list(), "updated_at": _}:
                return CERTAIN
            case _:
                continue
    return NO


FORMAT: Final = Format(
    NAME,
    UnitKind.DOCUMENT,
    sniff,
    Cline,
    Cline.resume,
    folder=".cline/data/**/*.messages.json",
)
