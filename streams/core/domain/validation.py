"""Which records are accepted, and what of them is forwarded (specification 2.1, 2.2).

Null means absent throughout: an optional field may be either. What is accepted can always be digested as
UTF-8 and written as JSON and with the Avro schema of the DecisionLog: nothing after this point can fail on a
value.

What is wrong with a rejected record, and what is allowed: sentences for people.

They name types and lengths, never a value: what an agent writes may be secret, and dead letters travel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from streams.core.domain.record import Record
from streams.core.domain.settings.general import GeneralSettings
from streams.core.domain.text.figures import count

STATUSES = frozenset({"success", "failure", "pending", "skipped"})

_SMALLEST_LONG, _LARGEST_LONG, _LARGEST_UNSIGNED = -(2**63), 2**63 - 1, 2**64 - 1

Fields = dict[str, Any]
Rule = Callable[[Any], bool]


def _text(value: object) -> bool:
    return type(value) is str and (value.isascii() or _is_unicode(value))


def _is_unicode(text: str) -> bool:
    """Tell whether UTF-8 can write the text: JSON escapes can make half a surrogate pair, which it cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _filled_text(value: object) -> bool:
    return value != "" and _text(value)


def _status(value: object) -> bool:
    return type(value) is str and value in STATUSES


def _texts(value: object) -> bool:
    if type(value) is not list:
        return False
    try:
        return _text("".join(value))
    except TypeError:
        return False


def _flag(value: object) -> bool:
    return type(value) is bool


def _number(value: object) -> bool:
    if type(value) is float:
        return isfinite(value)
    # JSON readers deliver integers up to 64 bits, larger ones as floats; JSON writers write no others.
    return type(value) is int and _SMALLEST_LONG <= value <= _LARGEST_UNSIGNED


def _tokens(value: object) -> bool:
    if type(value) is int:
        return _SMALLEST_LONG <= value <= _LARGEST_LONG
    return _number(value)


def _timestamp(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST_LONG


class _Group(NamedTuple):
    """A nested record: the rules of its fields in the order of specification 2.1, and which must be there.

    ``nullable`` are those that may be null, and are then forwarded as null; ``texts`` may hold any text.
    """

    rules: Mapping[str, Rule]
    required: tuple[str, ...]
    optional: bool
    never_null: frozenset[str]
    nullable: frozenset[str]
    texts: frozenset[str]


def _group(
    rules: Mapping[str, Rule],
    required: tuple[str, ...],
    *,
    optional: bool = False,
    never_null: frozenset[str] = frozenset(),
) -> _Group:
    nullable = frozenset(rules).difference(required, never_null)
    texts = frozenset(name for name, rule in rules.items() if rule is _text)
    return _Group(rules, required, optional, never_null, nullable, texts)


_TOP: Mapping[str, Rule] = MappingProxyType(
    {"session_id": _filled_text, "event_id": _filled_text, "task_type": _text}
)
_TOP_REQUIRED = ("session_id", "event_id")

_GROUPS: Mapping[str, _Group] = MappingProxyType(
    {
        "meta": _group(
            {
                "trace_id": _text,
                "timestamp": _timestamp,
                "parent_step_id": _text,
                "cluster_id": _text,
                "round_id": _text,
                "parent_session_id": _text,
                "user_turn": _text,
                "context_change": _text,
            },
            required=("trace_id", "timestamp"),
        ),
        "identity": _group(
            {"agent_id": _text, "agent_type": _text, "capability_version": _text},
            required=("agent_id", "agent_type"),
        ),
        "cognition": _group(
            {
                "intent": _text,
                "goal": _text,
                "reasoning_chain": _texts,
                "confidence_score": _number,
                "strategy_used": _text,
                "entropy_score": _number,
            },
            required=("intent",),
            optional=True,
        ),
        "action": _group(
            {
                "status": _status,
                "kind": _text,
                "tool_call": _text,
                "tool_input": _text,
                "target": _text,
                "content_hash": _text,
                "error": _text,
                "tool_output_summary": _text,
            },
            required=("status",),
        ),
        "state_delta": _group(
            {
                "added_to_memory": _texts,
                "tokens_consumed": _tokens,
                "cumulative_session_cost": _number,
                "progress_delta": _number,
                "context_quality": _number,
                "tokens_cached": _tokens,
            },
            required=(),
            optional=True,
        ),
        "control": _group(
            {"hitl_required": _flag, "interrupt_signal": _text, "is_terminal": _flag},
            required=(),
            optional=True,
            # Plain booleans of the schema: a null is left out, so that their default is written.
            never_null=frozenset({"hitl_required", "is_terminal"}),
        ),
    }
)


_WORDS: Mapping[Rule, str] = MappingProxyType(
    {
        _text: "text",
        _filled_text: "text of at least one character",
        _status: f"one of {', '.join(sorted(STATUSES))}",
        _texts: "a list of texts",
        _flag: "true or false",
        _number: "a finite number",
        _tokens: "a finite number",
        _timestamp: "a whole number of milliseconds since 1970",
    }
)


def allowed(path: str) -> str:
    """Return what the field at a path of `problems` may hold, in words.

    >>> allowed("action.status"), allowed("control")
    ('one of failure, pending, skipped, success', 'an object')
    """
    group, _, name = path.rpartition(".")
    rules = _GROUPS[group].rules if group else _TOP
    return _WORDS[rules[name]] if name in rules else "an object"


def known_fields(value: Mapping[str, Any]) -> Fields | None:
    """Return what is forwarded of a valid record, None when something is wrong with it: ask `problems` then.

    Unknown fields of any group are left out; the rest stays as it came, absent or null included, except
    that an empty ``meta.parent_step_id`` becomes null and a null boolean is left out. ``value`` is not
    changed; groups in which nothing had to be changed are shared with it.
    """
    known: Fields = {}
    for name, part in value.items():
        group = _GROUPS.get(name)
        if group is not None:
            if type(part) is dict:
                known[name] = fields = _known_of_group(part, group)
                if fields is None:
                    return None
            elif part is None and group.optional:
                known[name] = None
            else:
                return None
        elif name in _TOP:
            if part is not None and not _TOP[name](part):
                return None
            known[name] = part
    try:
        complete = known["session_id"] is not None and known["event_id"] is not None
        meta = known["meta"]
        complete = complete and "identity" in known and "action" in known
    except KeyError:
        return None
    if meta.get("parent_step_id") == "":
        known["meta"] = {**meta, "parent_step_id": None}
    return known if complete else None


def _known_of_group(part: Fields, group: _Group) -> Fields | None:
    rules, required, _, never_null, nullable, texts = group
    as_it_came = True
    for name, value in part.items():
        # The commonest cases first and without a call: this loop is most of what validation costs.
        if value is None:
            if name in nullable:
                continue
        elif type(value) is str and value.isascii() and name in texts:
            continue
        rule = rules.get(name)
        if rule is None or (value is None and name in never_null):
            as_it_came = False
        elif value is None or not rule(value):
            return None
    for name in required:
        if name not in part:
            return None
    return part if as_it_came else dict(_kept(part, group))


def _kept(part: Fields, group: _Group) -> Iterator[tuple[str, Any]]:
    for name, value in part.items():
        if name in group.rules and not (value is None and name in group.never_null):
            yield name, value


def problems(value: Mapping[str, Any]) -> tuple[str, ...]:
    """Name every field that keeps a record from being accepted, as paths in the order of specification 2.1.

    A group that is not a record is named itself; of a required group that is missing, its required fields.

    >>> problems(
    ...     {"session_id": "s", "event_id": "", "meta": {"timestamp": -1, "trace_id": "t"}, "control": []}
    ... )
    ('event_id', 'meta.timestamp', 'identity.agent_id', 'identity.agent_type', 'action.status', 'control')
    """
    found = list(_wrong("", value, _TOP, _TOP_REQUIRED))
    for name, group in _GROUPS.items():
        part = value.get(name)
        if part is None:
            found += () if group.optional else [f"{name}.{field}" for field in group.required]
        elif type(part) is dict:
            found += _wrong(f"{name}.", part, group.rules, group.required)
        else:
            found.append(name)
    return tuple(found)


def _wrong(
    prefix: str, part: Mapping[str, Any], rules: Mapping[str, Rule], required: tuple[str, ...]
) -> Iterator[str]:
    for name, rule in rules.items():
        value = part.get(name)
        wrong = name in required if value is None else not rule(value)
        if wrong:
            yield prefix + name


KEY_PROBLEM: Final = "key"
FUTURE_PROBLEM: Final = "meta.timestamp:future"

_MOST: Final = 5
"""Problems that get a sentence; a header has to stay small."""


def explained(problems: Sequence[str], record: Record, settings: GeneralSettings) -> str:
    """Return what is wrong with a record that was rejected for these problems (specification 2.2).

    >>> record = Record(0, 0, "s-1", None, {"session_id": "s-1", "action": {"status": "done"}})
    >>> explained(["action.status"], record, GeneralSettings())
    'action.status: text of 4 characters is not one of failure, pending, skipped, success'
    """
    sentences = "; ".join(_sentence(path, record, settings) for path in problems[:_MOST])
    more = len(problems) - _MOST
    return sentences if more <= 0 else f"{sentences}; and {more} more {'field' if more == 1 else 'fields'}"


def _sentence(path: str, record: Record, settings: GeneralSettings) -> str:
    if path == FUTURE_PROBLEM:
        ahead = f"more than {settings.max_future_ms:,} ms (max_future_ms) ahead"
        return f"meta.timestamp: {ahead} of the timestamp of the Kafka record"
    if path == KEY_PROBLEM:
        value, must = record.key, "the session_id of the record"
    else:
        value, must = _at(path, record.value), allowed(path)
    wrong = "missing, must be" if value is None else f"{_found(value)} is not"
    return f"{path}: {wrong} {must}"


def _at(path: str, value: Any) -> Any:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _found(value: object) -> str:
    """Return the type of a value, and its size."""
    match value:
        case bool():
            return "a boolean"
        case int():
            size = "" if -(2**63) <= value < 2**63 else " beyond 64 bits"
            return f"a negative whole number{size}" if value < 0 else f"a whole number{size}"
        case float():
            return "a number with a fraction or an exponent" if isfinite(value) else "a number without an end"
        case "":
            return "empty text"
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                return "text that is no Unicode"
            return f"text of {count(len(value), 'character')}"
        case bytes():
            return count(len(value), "byte")
        case list():
            return f"a list of {count(len(value), 'value')}"
        case dict():
            return f"an object of {count(len(value), 'field')}"
        case _:
            return "a value of another type"
