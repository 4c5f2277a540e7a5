"""A4 in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streams.core.detectors.presentation import Fields, Fired, Presentation
from streams.core.domain.level import Level


class LoopPresentation(Presentation):
    """Which ways of looking found a loop, and in which steps. It emits no event."""

    __slots__ = ()

    def fired(self, block: Fields, tool: str) -> Iterator[Fired]:  # noqa: ARG002 - the steps may have several
        """Yield each way that found one."""
        for name, found in block["all_detections"].items():
            if found is not None:
                evidence = f"confidence {found['confidence']:g}, steps {_span(found['steps'])}"
                yield Fired(f"A4:{name}", Level.WARNING.value, evidence)


def _span(steps: Sequence[int]) -> str:
    return f"{steps[0]} to {steps[-1]}" if steps else "unknown"
