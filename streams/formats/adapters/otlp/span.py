"""A span as it was received, the same for JSON and protobuf, and what of it is kept."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, NamedTuple

ERROR: Final = 2
"""The code of a status that says the span failed."""


class Received(NamedTuple):
    """A span of a request. Ids are hex digits, times ns; the values of attributes are values of JSON.

    Attributes:
        events: name and attributes of each, in their order.
        service: the attributes of its resource.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    start: int
    end: int
    code: int
    message: str
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    service: dict[str, Any]


class SpanKind(StrEnum):
    """What a span is of an agent."""

    TOOL = "tool"
    MODEL = "model"
    AGENT = "agent"
    OTHER = "other"


class Span(NamedTuple):
    """What is kept of a span until its record goes out.

    Attributes:
        arguments, output, tool: of a tool call; ``arguments`` is None if they were not captured.
        tokens, words, calls: of a model: ``calls`` if its answer holds a tool call.
        cached: tokens that the model read from a cache; ``tokens`` leaves them out.
    """

    end: int
    start: int
    span_id: str
    parent_id: str | None
    kind: str
    agent_id: str
    agent_type: str
    version: str | None
    failed: bool = False
    tool: str | None = None
    arguments: Any = None
    output: str | None = None
    tokens: int | None = None
    words: str | None = None
    calls: bool = False
    cached: int | None = None
