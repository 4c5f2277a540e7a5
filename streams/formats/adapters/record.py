"""The DecisionLog of one finished step, and the rules for its texts, the same for every format.

A field that a source does not have is left out. Texts are cut to `LONGEST_TEXT`. Half surrogate pairs, which
logs of agents do hold, become U+FFFD. So every record passes `streams.core.domain.validation`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final, NamedTuple
from zlib import crc32

import orjson

LONGEST_TEXT: Final = 16_000
"""Characters of arguments, result and error that are kept; the judgement reads the first 4,000."""

LONGEST_NAME: Final = 1_000
"""Characters of the name of a tool or an agent, and of a version."""

LONGEST_WORDS: Final = 500
LONGEST_ARGUMENTS_IN_INTENT: Final = 60

_DEEPEST_BLOCK: Final = 4
_DIGITS: Final = 8
_ONE_TEXT: Final = re.compile(r'\{\s*"[^"\\]*"\s*:\s*"([^"\\]*)"\s*\}')
_LONGEST_OF_A_PART: Final = 400
_PART: Final = re.compile(
    r'"(?:offset|limit|range|view_range|pages?|cursor|(?:start|end|first|last)_?[lL]ine(?:_?[nN]umber)?(?:_\w+)?'
    r'|line_?(?:[sS]tart|[eE]nd|[rR]ange|[nN]umbers?))"\s*:'
)
_WRITTEN: Final = re.compile(
    r'"(?:content|contents|new|old|text|patch|diff|replace|insert)\w*"\s*:', re.IGNORECASE
)
_MEDIA: Final = ("image", "document", "audio", "video", "file")
LARGEST_COUNT: Final = 2**62
_LATEST_S: Final = 100_000_000_000  # s of the year 5138, ms of 1973
_LATEST_MS: Final = 100_000_000_000_000

PATH_KEYS: Final = (
    "file_path",
    "path",
    "filepath",
    "filename",
    "file_name",
    "notebook_path",
    "absolute_path",
)


class Agent(NamedTuple):
    """Who acts: ``identity`` of a record."""

    agent_id: str
    agent_type: str
    version: str | None = None


class AgentStep(NamedTuple):
    """What one record says, before it is one.

    Attributes:
        event_id: the id of the call, of the message, or ``<trace>/<span>``.
        at: its end in ms.
        status: ``success``, ``failure`` or ``skipped``.
        kind: ``tool``, ``llm`` or ``system``.
        tool: the name of the tool as the source gives it.
        arguments: of the call: text, or a value that becomes compact JSON.
        output: the text of the result, or of the error if ``status`` is ``failure``.
        words: what the assistant said before its call, or as its answer.
        parent: the step or span above.
        tokens: of the model calls since the record before.
        cost: of the session up to here, as the source counts it.
        terminal: whether it ends the session.
        signal: the agent's own loop stop.
        target: the file it is about, empty if there is none; None if the arguments are to be searched for it.
        round_id: the message of the model that asked for it; equal for calls that were decided together.
        user_turn: how a person spoke since the step before, as `UserTurn` has it; None if nobody did.
        context_change: ``compacted`` or ``resumed`` if that was done to the context since the step before.
        cached: tokens that the model read from its cache; ``tokens`` leaves them out.
    """

    event_id: str
    at: int
    status: str = "success"
    kind: str = "tool"
    tool: str | None = None
    arguments: Any = None
    output: str | None = None
    words: str | None = None
    parent: str | None = None
    tokens: int | None = None
    cost: float | None = None
    terminal: bool = False
    signal: str | None = None
    target: str | None = None
    round_id: str | None = None
    user_turn: str | None = None
    context_change: str | None = None
    cached: int | None = None


def decision_log(
    session_id: str,
    agent: Agent,
    step: AgentStep,
    *,
    trace_id: str | None = None,
    goal: str | None = None,
    parent_session_id: str | None = None,
) -> dict[str, Any]:
    """Return the record of a step.

    >>> step = AgentStep("call-1", 5, tool="Read", arguments={"path": "a.py"}, output="x = 1")
    >>> log = decision_log("s1", Agent("coder", "coder"), step)
    >>> log["cognition"], log["action"]["target"], log["meta"]
    ({'intent': 'Read a.py'}, 'a.py', {'trace_id': 's1', 'timestamp': 5})
    """
    session = clean(session_id)
    meta: dict[str, Any] = {
        "trace_id": clean(trace_id) if trace_id else session,
        "timestamp": max(0, step.at),
    }
    if step.parent:
        meta["parent_step_id"] = clean(step.parent)
    if step.round_id:
        meta["round_id"] = clean(step.round_id[:LONGEST_NAME])
    if parent_session_id:
        meta["parent_session_id"] = clean(parent_session_id[:LONGEST_NAME])
    if step.user_turn is not None:
        meta["user_turn"] = step.user_turn
    if step.context_change is not None:
        meta["context_change"] = step.context_change
    identity = {
        "agent_id": clean(agent.agent_id[:LONGEST_NAME]),
        "agent_type": clean(agent.agent_type[:LONGEST_NAME]),
    }
    if agent.version:
        identity["capability_version"] = clean(agent.version[:LONGEST_NAME])
    log: dict[str, Any] = {
        "session_id": session,
        "event_id": clean(step.event_id),
        "meta": meta,
        "identity": identity,
    }
    tool = arguments = path = None
    if step.tool is not None:
        tool, arguments, path = clean(step.tool[:LONGEST_NAME]), argument_text(step.arguments), _target(step)
    if step.kind != "system":
        log["cognition"] = _cognition(step, goal, tool, arguments, path)
    log["action"] = _action(step, tool, arguments, path)
    _add_rest(log, step)
    return log


def _cognition(
    step: AgentStep, goal: str | None, tool: str | None, arguments: str | None, path: str | None
) -> dict[str, Any]:
    intent = clean(step.words.strip()[:LONGEST_WORDS]) if step.words else ""
    if not intent and tool is not None:
        intent = tool if is_not_captured(step.arguments) else _about(tool, arguments, path)
    cognition = {"intent": intent}
    if goal and step.kind == "tool":
        cognition["goal"] = clean(goal[:LONGEST_TEXT])
    return cognition


def _action(step: AgentStep, tool: str | None, arguments: str | None, path: str | None) -> dict[str, Any]:
    action: dict[str, Any] = {"status": step.status, "kind": step.kind}
    if tool is not None:
        action["tool_call"] = tool
    if arguments is not None:
        action["tool_input"] = arguments
    if path is not None:
        action["target"] = path
        if step.status == "success" and step.output is not None and _is_of_a_part(arguments):
            # Else reading a file in pieces would look like reading the same again and again.
            action["content_hash"] = _digits(step.output[:LONGEST_TEXT])
    if step.output is not None:
        name = "error" if step.status == "failure" else "tool_output_summary"
        action[name] = clean(step.output[:LONGEST_TEXT])
    return action


def _add_rest(log: dict[str, Any], step: AgentStep) -> None:
    """Add what few steps have."""
    delta: dict[str, Any] = {}
    if step.tokens is not None:
        delta["tokens_consumed"] = step.tokens
    if step.cost is not None:
        delta["cumulative_session_cost"] = step.cost
    if step.cached is not None:
        delta["tokens_cached"] = step.cached
    if delta:
        log["state_delta"] = delta
    control: dict[str, Any] = {}
    if step.terminal:
        control["is_terminal"] = True
    if step.signal is not None:
        control["interrupt_signal"] = step.signal
    if control:
        log["control"] = control


def _target(step: AgentStep) -> str | None:
    """Return the file that a step is about; one without a name is none."""
    given = step.target
    return target(step.arguments) if given is None else clean(given[:LONGEST_TEXT]) or None


def clean(text: str) -> str:
    r"""Replace half surrogate pairs, which UTF-8 cannot hold.

    >>> clean("a\ud800b")
    'a\ufffdb'
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def argument_text(arguments: Any) -> str | None:
    r"""Return arguments as text: text as it is, anything else as compact JSON, None if there are none.

    >>> argument_text({"q": "x"}), argument_text("ls -l"), argument_text(None)
    ('{"q":"x"}', 'ls -l', None)
    """
    match arguments:
        case None:
            return None
        case str():
            text = arguments
        case _:
            text = json_text(arguments)
    return clean(text[:LONGEST_TEXT])


def json_text(value: Any) -> str:
    """Return a value of JSON as compact JSON, also one that a strict writer refuses."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        pass
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    except (ValueError, RecursionError):
        return "[nested too deeply]"


def json_value(text: Any) -> Any:
    """Return what a JSON text holds, the text itself if it holds none; other values as they are.

    >>> json_value('{"a": 1}'), json_value("ls"), json_value([2])
    ({'a': 1}, 'ls', [2])
    """
    if not isinstance(text, str) or text[:1] not in '{["':
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def target(arguments: Any) -> str | None:
    """Return the file that the arguments name, None if none.

    >>> target({"file_path": "a.py"}), target('{"path": "b.py"}'), target("cat c.py")
    ('a.py', 'b.py', None)
    """
    value = json_value(arguments)
    if not isinstance(value, Mapping):
        return None
    paths = (value.get(key) for key in PATH_KEYS)
    return next((clean(path[:LONGEST_TEXT]) for path in paths if isinstance(path, str) and path), None)


def _about(tool: str, arguments: str | None, path: str | None) -> str:
    """Return the intent of a step that comes without words (specification 12.2).

    Whatever of the arguments is not shown is told apart by digits: normalised results keep these.

    >>> _about("Bash", '{"command":"ls"}', None), _about("Read", '{"path":"a.py"}', "a.py")
    ('Bash {"command":"ls"}', 'Read a.py')
    >>> _about("Read", '{"path":"a.py","offset":200}', "a.py")
    'Read a.py #30745114'
    """
    arguments = arguments or ""
    if path is None:
        shown = arguments[:LONGEST_ARGUMENTS_IN_INTENT]
        is_whole = len(arguments) <= LONGEST_ARGUMENTS_IN_INTENT
    else:
        only = _ONE_TEXT.fullmatch(arguments)
        shown, is_whole = path, arguments in ("", "{}", path) or (only is not None and only[1] == path)
    return f"{tool} {shown}".rstrip() + ("" if is_whole else f" #{_digits(arguments)}")


def _is_of_a_part(arguments: str | None) -> bool:
    """Tell whether arguments name a part of a file, and nothing to write.

    >>> _is_of_a_part('{"path":"a.py","offset":200}'), _is_of_a_part('{"path":"a.py","content":"x"}')
    (True, False)
    """
    if arguments is None or len(arguments) > _LONGEST_OF_A_PART:
        return False
    return _PART.search(arguments) is not None and _WRITTEN.search(arguments) is None


def _digits(text: str) -> str:
    return f"{crc32(text.encode('utf-8', 'replace')) % 10**_DIGITS:0{_DIGITS}d}"


def not_captured(span_id: str) -> dict[str, str]:
    """Return the arguments of a call whose own were not captured: they equal those of no other call."""
    return {"not_captured": span_id}


def is_not_captured(arguments: Any) -> bool:
    """Tell whether these are the arguments of `not_captured`."""
    return isinstance(arguments, Mapping) and list(arguments) == ["not_captured"]


def block_text(content: Any, depth: int = 0) -> str | None:
    r"""Return the text of a content: text as it is; of a list of blocks their texts.

    An image or a document becomes a digest of itself, any other block its canonical JSON: contents that
    differ never become equal.

    >>> block_text("a"), block_text([{"type": "text", "text": "a"}, {"query": "b"}]), block_text(None)
    ('a', 'a\n{"query":"b"}', None)
    >>> block_text([{"type": "image", "data": "iVBORw0"}])
    '[image 76862700]'
    """
    match content:
        case None:
            return None
        case str():
            return content
        case list() if depth <= _DEEPEST_BLOCK:
            return "\n".join(part for block in content if (part := _one_block(block, depth)) is not None)
        case _:
            return canonical_text(content)


def _one_block(block: Any, depth: int) -> str | None:
    match block:
        case None:
            return None
        case str():
            return block
        case {"text": str(text)}:
            return text
        case {"type": str(kind)} if any(each in kind for each in _MEDIA):
            return media_text(kind, block)
        case {"type": "tool_reference", "tool_name": str(name)}:
            return f"[tool {name}]"
        case {"content": str() | list() as content}:
            return block_text(content, depth + 1)
        case _:
            return canonical_text(block)


def words_text(content: Any) -> str | None:
    r"""Return the words of a message: text as it is, of a list of blocks those that are text.

    >>> words_text("a"), words_text([{"type": "text", "text": "a"}, {"type": "image"}]), words_text([])
    ('a', 'a', None)
    """
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    texts = [each if isinstance(each, str) else _text_of(each) for each in content]
    return "\n".join(each for each in texts if each) or None


def _text_of(block: Any) -> str | None:
    text = block.get("text") if isinstance(block, dict) else None
    return text if isinstance(text, str) else None


def media_text(kind: str, content: Any) -> str:
    """Return what stands for an image or a document: its kind, and digits that differ as the contents do."""
    name = next((each for each in _MEDIA if each in kind), kind[:20])
    digest = blake2b(canonical_text(content).encode("utf-8", "replace"), digest_size=8).digest()
    return f"[{name} {int.from_bytes(digest, 'big') % 10**_DIGITS:0{_DIGITS}d}]"


def canonical_text(value: Any) -> str:
    """Return a value of JSON as compact JSON with sorted keys."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError:
        return json_text(value)


def decoded(unit: bytes) -> Any:
    r"""Return the JSON value of these bytes; `UNDECODABLE` if they are none.

    A half surrogate pair, which some logs hold, and bytes that are not UTF-8 do not make a value unreadable:
    each becomes U+FFFD, so that everything read can be written.

    >>> decoded(b'{"a": 1}'), decoded(b'{"a"') is UNDECODABLE
    ({'a': 1}, True)
    >>> decoded(b'["\\ud800"]')
    ['\ufffd']
    """
    try:
        return orjson.loads(unit)
    except orjson.JSONDecodeError:
        pass
    try:
        value = json.loads(unit.decode("utf-8", "replace"))
        return json.loads(clean(json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return UNDECODABLE


def whole(value: Any) -> int | None:
    """Return a count of a source, None if it is none.

    >>> whole(7), whole(7.0), whole(True), whole("7"), whole(-1)
    (7, 7, None, None, None)
    """
    if type(value) is int:  # nearly every count
        return value if 0 <= value <= LARGEST_COUNT else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value <= LARGEST_COUNT:  # also false for NaN
        return None
    return int(value)


def number(value: Any) -> float | None:
    """Return a finite number of a source, such as a cost; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -LARGEST_COUNT <= value <= LARGEST_COUNT else None


def text_or_none(value: Any) -> str | None:
    """Return a text that holds something, None for anything else."""
    return value if isinstance(value, str) and value else None


def milliseconds(value: Any) -> int | None:
    """Return a time as ms since 1970: ISO 8601 (UTC if it names no zone), or a number of s, ms, µs or ns.

    >>> milliseconds("1970-01-01T00:00:01.5Z"), milliseconds(1795376349.1), milliseconds(1795376349100)
    (1500, 1795376349100, 1795376349100)
    """
    if type(value) is str:  # nearly every time
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return max(0, round(moment.timestamp() * 1000))
    match value:
        case bool():
            return None
        case int() | float():
            if not 0 <= value <= LARGEST_COUNT:
                return None
            for unit in (
                1_000_000,
                1_000,
            ):  # ns and µs of any day after 1973 are larger than ms of the year 5000
                if value >= _LATEST_MS * unit / 1_000:
                    return round(value / unit)
            return round(value) if value >= _LATEST_S else round(value * 1000)
        case _:
            return None


class _Undecodable:
    """The value of bytes that are not JSON."""


UNDECODABLE: Final = _Undecodable()
