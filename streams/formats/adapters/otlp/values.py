"""What a span says of an agent: its kind, and the values of a call or of a model, by the names in use.

The names are those of the GenAI conventions, old and new, of OpenInference, OpenLLMetry (Traceloop), the
Vercel AI SDK, Google ADK, pydantic-ai, Langfuse and MLflow. The usage of agents is a sum over their models
and is not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streams.formats.adapters.otlp.span import ERROR, Received, Span, SpanKind
from streams.formats.adapters.record import (
    LONGEST_NAME,
    LONGEST_TEXT,
    LONGEST_WORDS,
    argument_text,
    json_value,
    text_or_none,
    whole,
)
from streams.formats.adapters.tool_answer import ToolAnswer, tool_answer

_AROUND_ARGUMENTS: Final = frozenset({"input_str", "tags", "metadata", "inputs", "kwargs"})


def opened_arguments(value: Any) -> Any:
    r"""Return the arguments of a call without what LangChain puts around them.

    >>> opened_arguments('{"input_str": "x", "tags": [], "metadata": {}, "inputs": {"q": "x"}}')
    {'q': 'x'}
    >>> opened_arguments('{"q": "x"}'), opened_arguments('"ls -l"')
    ('{"q": "x"}', 'ls -l')
    """
    match json_value(value):
        case {"input_str": given, **rest} if rest.keys() <= _AROUND_ARGUMENTS:
            inputs = rest.get("inputs")
            return given if inputs is None else inputs
        case str(text):
            return text
        case _:
            return value


def opened_result(value: Any) -> ToolAnswer:
    """Return the result of a call without the message, the blocks or the JSON text around it.

    >>> opened_result('[{"text": "no match"}]').text, opened_result('"no match"').text
    ('no match', 'no match')
    >>> opened_result(
    ...     '{"output": {"lc": 1, "kwargs": {"content": "a", "tool_call_id": "c"}}, "kwargs": {}}'
    ... ).text
    'a'
    """
    match json_value(value):
        case {"output": dict() as output, **rest} if rest.keys() <= {"kwargs"} and (rest or "lc" in output):
            return tool_answer(output)
        case {"output": output, "kwargs": _} as held if len(held) == 2:
            return opened_result(output)
        case [{"text": str()}, *_] | [{"lc": _}] | [{"type": "tool"}] as held:
            return tool_answer(held)
        case _:
            return tool_answer(value)


SESSION_KEYS: Final = (
    "gen_ai.conversation.id",
    "session.id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "langfuse.session.id",
    "gcp.vertex.agent.session_id",
    "ai.telemetry.metadata.sessionId",
    "mlflow.trace.session",
)
"""Attributes that name the session, the strongest first."""

_KINDS: Final = {
    "gen_ai.operation.name": {
        "execute_tool": SpanKind.TOOL,
        "tool_call": SpanKind.TOOL,
        "chat": SpanKind.MODEL,
        "generate_content": SpanKind.MODEL,
        "text_completion": SpanKind.MODEL,
        "llm_call": SpanKind.MODEL,
        "invoke_agent": SpanKind.AGENT,
        "invoke_workflow": SpanKind.AGENT,
    },
    "openinference.span.kind": {"TOOL": SpanKind.TOOL, "LLM": SpanKind.MODEL, "AGENT": SpanKind.AGENT},
    "traceloop.span.kind": {
        "tool": SpanKind.TOOL,
        "agent": SpanKind.AGENT,
        "workflow": SpanKind.AGENT,
    },
    "langfuse.observation.type": {
        "tool": SpanKind.TOOL,
        "generation": SpanKind.MODEL,
        "agent": SpanKind.AGENT,
    },
    "mlflow.spanType": {
        "TOOL": SpanKind.TOOL,
        "CHAT_MODEL": SpanKind.MODEL,
        "LLM": SpanKind.MODEL,
        "AGENT": SpanKind.AGENT,
    },
}
_STRONGEST: Final = (SpanKind.TOOL, SpanKind.MODEL, SpanKind.AGENT)
_MERGED_CALLS: Final = "(merged tools)"
_TOOL_NAMES: Final = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name")
_ARGUMENTS: Final = (
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "gcp.vertex.agent.tool_call_args",
    "ai.toolCall.args",
    "input.value",
    "traceloop.entity.input",
    "langfuse.observation.input",
    "mlflow.spanInputs",
)
_RESULTS: Final = (
    "gen_ai.tool.call.result",
    "tool_response",
    "gcp.vertex.agent.tool_response",
    "ai.toolCall.result",
    "output.value",
    "traceloop.entity.output",
    "langfuse.observation.output",
    "mlflow.spanOutputs",
)
_AGENT_NAMES: Final = (
    "gen_ai.agent.name",
    "agent.name",
    "lc_agent_name",
    "traceloop.association.properties.lc_agent_name",
)
_USAGE: Final = (
    ("llm.token_count.prompt", "llm.token_count.completion"),
    ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
    ("gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens"),
)
_CACHED: Final = (
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "llm.token_count.prompt_details.cache_read",
    "ai.usage.cachedInputTokens",
)
_USAGE_OBJECTS: Final = ("mlflow.chat.tokenUsage", "langfuse.observation.usage_details")
_CALL_PARTS: Final = frozenset({"tool_call", "tool_use", "toolUse", "function_call"})


def reduced(span: Received) -> Span:
    """Return what is kept of a span."""
    kind = kind_of(span)
    service = (text_or_none(span.service.get("service.name")) or "otlp")[:LONGEST_NAME]
    kept = Span(
        end=span.end,
        start=span.start,
        span_id=span.span_id,
        parent_id=span.parent_id,
        kind=kind.value,
        agent_id=(_agent(span.attributes) or service)[:LONGEST_NAME],
        agent_type=service,
        version=(text_or_none(span.service.get("service.version")) or "")[:LONGEST_NAME] or None,
    )
    if kind is SpanKind.TOOL:
        return _call(span, kept)
    if kind is SpanKind.MODEL:
        words, calls = answer_of(span)
        tokens, cached = billed_tokens_of(span.attributes), cached_tokens_of(span.attributes)
        return kept._replace(
            failed=failed(span), tokens=tokens, words=words[:LONGEST_WORDS], calls=calls, cached=cached
        )
    return kept._replace(failed=failed(span), output=_error(span, None))


def kind_of(span: Received) -> SpanKind:
    """Return what a span is."""
    attributes = span.attributes
    found = {
        kinds[value]
        for key, kinds in _KINDS.items()
        if isinstance(value := json_value(attributes.get(key)), str) and value in kinds
    }
    operation = text_or_none(attributes.get("ai.operationId")) or ""
    if operation.endswith((".doGenerate", ".doStream")):
        found.add(SpanKind.MODEL)
    unnamed = "gen_ai.operation.name" not in attributes
    if "ai.toolCall.name" in attributes or (unnamed and "gen_ai.tool.name" in attributes):
        found.add(SpanKind.TOOL)
    if attributes.get("gen_ai.tool.name") == _MERGED_CALLS:
        return SpanKind.OTHER  # ADK repeats parallel calls in one span
    return next((each for each in _STRONGEST if each in found), SpanKind.OTHER)


def session_of(span: Received, keys: tuple[str, ...] = SESSION_KEYS) -> tuple[int, str] | None:
    """Return the rank of the strongest attribute that names the session, and its value."""
    for rank, key in enumerate(keys):
        value = (
            json_value(span.attributes.get(key)) if key.startswith("mlflow.") else span.attributes.get(key)
        )
        if isinstance(value, str) and value:
            return rank, value[:LONGEST_TEXT]
        if isinstance(value, int) and not isinstance(value, bool):
            return rank, str(value)
    return None


def failed(span: Received) -> bool:
    """Tell whether a span says that it failed."""
    attributes = span.attributes
    return (
        span.code == ERROR
        or bool(attributes.get("error.type"))
        or attributes.get("gen_ai.tool.status") == "error"
        or attributes.get("langfuse.observation.level") == "ERROR"
    )


def tokens_of(attributes: dict[str, Any]) -> int | None:
    """Return the tokens of a model call: the total, else those in and out."""
    total = whole(attributes.get("llm.token_count.total"))
    if total is not None:
        return total
    for names in _USAGE:
        counts = [count for name in names if (count := whole(attributes.get(name))) is not None]
        if counts:
            return sum(counts)
    for name in _USAGE_OBJECTS:
        usage = json_value(attributes.get(name))
        if not isinstance(usage, dict):
            continue
        for keys in (("total_tokens",), ("total",), ("input_tokens", "output_tokens"), ("input", "output")):
            counts = [count for key in keys if (count := whole(usage.get(key))) is not None]
            if counts:
                return sum(counts)
    return None


def cached_tokens_of(attributes: dict[str, Any]) -> int | None:
    """Return the tokens that a model call read from a cache."""
    return next((count for name in _CACHED if (count := whole(attributes.get(name)))), None)


def billed_tokens_of(attributes: dict[str, Any]) -> int | None:
    """Return the tokens of a model call that were billed in full.

    The input includes those from a cache, but not if the counts of Anthropic are passed on as they are: then
    there may be more from the cache than of the input.

    >>> counts = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 15}
    >>> [billed_tokens_of(counts | {"gen_ai.usage.cache_read.input_tokens": n}) for n in (90, 5_000)]
    [25, 115]
    """
    tokens, cached = tokens_of(attributes), cached_tokens_of(attributes)
    if tokens is None or cached is None:
        return tokens
    sent = next((count for names in _USAGE if (count := whole(attributes.get(names[0]))) is not None), tokens)
    return max(0, tokens - cached) if cached <= sent else tokens


def answer_of(span: Received) -> tuple[str, bool]:
    """Return the words of a model's answer, and whether it holds a tool call."""
    attributes = span.attributes
    given = attributes.get("gen_ai.output.messages")
    if given is None:
        given = _of_event(span, None, "gen_ai.output.messages")
    if given is not None:
        return _of_messages(json_value(given))
    choice = json_value(_of_event(span, "gen_ai.choice", "message"))
    if choice is not None:
        return _of_messages([{"parts": choice}] if _are_parts(choice) else choice)
    words = text_or_none(attributes.get("ai.response.text"))
    calls = json_value(attributes.get("ai.response.toolCalls"))
    if words is not None or calls:
        return words or "", bool(calls)
    answer = {key: value for key, value in attributes.items() if key.startswith("llm.output_messages.")}
    texts = [
        value
        for key, value in answer.items()
        if key.endswith((".message.content", ".message_content.text")) and isinstance(value, str) and value
    ]
    return "\n".join(texts), any(".tool_calls." in key for key in answer)


def _are_parts(value: Any) -> bool:
    """Tell whether the message of an event is a text or a list of parts, not a whole message."""
    if isinstance(value, list):
        return not any(isinstance(each, dict) and {"parts", "content"} & each.keys() for each in value)
    return isinstance(value, str)


def _of_messages(messages: Any) -> tuple[str, bool]:
    texts: list[str] = []
    calls = False
    for message in messages if isinstance(messages, list) else [messages]:
        if not isinstance(message, dict):
            continue
        parts = message.get("parts", message.get("content"))
        calls = calls or bool(message.get("tool_calls"))
        for part in parts if isinstance(parts, list) else [parts]:
            match part:
                case str():
                    texts.append(part)
                case {"type": str(kind)} if kind in _CALL_PARTS:
                    calls = True
                case {"type": "text", "content": str(text)} | {"type": "text", "text": str(text)}:
                    texts.append(text)
                case {"toolUse": _}:
                    calls = True
                case {"text": str(text), **others} if "type" not in others:
                    texts.append(text)
                case _:
                    pass
    return "\n".join(text for text in texts if text), calls


def _call(span: Received, kept: Span) -> Span:
    attributes = span.attributes
    names = (text_or_none(attributes.get(name)) for name in _TOOL_NAMES)
    arguments = _first(attributes, _ARGUMENTS)
    if arguments is None:
        arguments = _of_event(span, "gen_ai.tool.message", "content")
    result = _first(attributes, _RESULTS)
    if result is None:
        result = _of_event(span, "gen_ai.choice", "message")
    answer = opened_result(result)
    flagged = failed(span)
    return kept._replace(
        failed=flagged or answer.failed,
        tool=next((name for name in names if name is not None), span.name or "tool")[:LONGEST_NAME],
        arguments=None if arguments is None else argument_text(opened_arguments(arguments)),
        output=_cut(_error(span, answer.text) if flagged else answer.text),
    )


def _first(attributes: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """Return the first value that was captured. ADK writes an empty object where it captures nothing."""
    for key in keys:
        value = attributes.get(key)
        if value is None or value == "":
            continue
        if key.startswith("gcp.vertex.agent.") and value in ("{}", {}):
            continue
        return value
    return None


def _of_event(span: Received, name: str | None, key: str) -> Any:
    """Return an attribute of the last event that has it."""
    for event, attributes in reversed(span.events):
        if (name is None or event == name) and (value := attributes.get(key)) is not None:
            return None if value == "" else value
    return None


def _error(span: Received, result: str | None) -> str | None:
    """Return the text of a failure: of the exception, the result, the status, or its type."""
    return next(_errors(span, result), None)


def _errors(span: Received, result: str | None) -> Iterator[str]:
    attributes = span.attributes
    exception = _of_event(span, None, "exception.message")
    said = attributes.get("langfuse.observation.status_message")
    for text in (exception, result, span.message, said, attributes.get("error.type")):
        if isinstance(text, str) and text:
            yield _cut(text) or text


def _agent(attributes: dict[str, Any]) -> str | None:
    for name in _AGENT_NAMES:
        found = text_or_none(attributes.get(name))
        if found is not None:
            return found
    metadata = json_value(attributes.get("metadata"))
    if isinstance(metadata, dict):
        found = text_or_none(metadata.get("lc_agent_name"))
        if found is not None:
            return found
    return text_or_none(attributes.get("ai.telemetry.functionId"))


def _cut(text: str | None) -> str | None:
    return None if text is None else text[:LONGEST_TEXT]
