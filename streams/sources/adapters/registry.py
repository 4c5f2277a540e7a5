"""The formats, in the order in which they are tried."""

from __future__ import annotations

from typing import Final

from streams.sources.adapters import anthropic_messages, claude_code, openai_chat, openai_responses
from streams.sources.adapters.adapter import Format

FORMATS: Final[tuple[Format, ...]] = (
    claude_code.FORMAT,
    anthropic_messages.FORMAT,
    openai_responses.FORMAT,
    openai_chat.FORMAT,
)

BY_NAME: Final = {each.name: each for each in FORMATS}
