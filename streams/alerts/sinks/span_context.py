"""The span that an event came from, if it came from one."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_SPAN: Final = re.compile(r"(?P<trace>[0-9a-f]{32})/(?P<span>[0-9a-f]{16})")


class SpanContext(NamedTuple):
    """Trace id and span id, in hexadecimal."""

    trace_id: str
    span_id: str

    @property
    def traceparent(self) -> str:
        """As W3C's header has it."""
        return f"00-{self.trace_id}-{self.span_id}-01"


def span_context(event_id: str) -> SpanContext | None:
    """Return the span that an event id names, as ids of records from OpenTelemetry do.

    >>> span_context("0af7651916cd43dd8448eb211c80319c/b7ad6b7169203331").span_id
    'b7ad6b7169203331'
    >>> span_context("e-1")
    """
    found = _SPAN.fullmatch(event_id)
    if found is None or not int(found["trace"], 16) or not int(found["span"], 16):
        return None
    return SpanContext(found["trace"], found["span"])
