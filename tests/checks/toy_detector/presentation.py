"""The echo in words."""

from __future__ import annotations

from collections.abc import Iterator

from streams.core.detectors.presentation import Fields, Fired, Presentation


class EchoPresentation(Presentation):
    """How often the newest intent came."""

    __slots__ = ()

    def fired(self, block: Fields, tool: str) -> Iterator[Fired]:
        """Yield T1 for each record that is an echo."""
        if block["echo"]:
            yield Fired("T1", "WARNING", f"count {block['count']}, {tool}")

    def summary(self, block: Fields) -> str:
        """Return the count."""
        return f"the newest intent came {block['count']} times"
