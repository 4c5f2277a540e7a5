"""A chat of Gemini CLI before 2026: one JSON document, which the program rewrote as a whole.

``~/.gemini/tmp/<project>/chats/session-<time>-<id>.json``. Its messages are those of the later log.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.document import DocumentAdapter, DocumentValue
from streams.formats.adapters.gemini_cli import GeminiCli
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found

NAME: Final = "gemini-chat"


class GeminiChat(DocumentAdapter):
    """Reads one chat as its log would be read, line by line."""

    def read(self, parts: Iterator[DocumentValue]) -> Found:
        """Yield what the messages say, one after the other."""
        for part in parts:
            match part.value:
                case {"sessionId": str(session_id), "messages": list(messages)}:
                    log = GeminiCli(self.name)
                    yield from log.read({"sessionId": session_id, "kind": part.value.get("kind")})
                    for message in messages:
                        if isinstance(message, dict):
                            yield from log.read(message)
                        else:
                            yield self.unknown(session_id, "a message that is no object")
                    yield from log.close()
                    for kind, count in log.ignored.items():
                        self.leave_out(kind, count)
                case _:
                    yield self.unknown(self.name, "no chat: sessionId or messages are missing")


def sniff(head: bytes, _name: str) -> int:
    """Recognise a chat by its first keys, and that its messages stand in a list."""
    for value in head_values(head)[:1]:
        if isinstance(value, dict) and {"sessionId", "projectHash", "messages"} <= value.keys():
            return CERTAIN
    return NO


FORMAT: Final = Format(NAME, UnitKind.DOCUMENT, sniff, GeminiChat, GeminiChat.resume)
