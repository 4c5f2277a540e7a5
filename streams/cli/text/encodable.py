"""Text that a stream can encode."""

from __future__ import annotations

from typing import TextIO


def encodable(text: str, stream: TextIO) -> str:
    """Return the text with escapes for what the stream cannot encode."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
