"""The job: messages that bytes decide, under settings that bytes decide, up to the outputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson

from schemas.codec import Codec
from schemas.encoder import check_fields
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.domain.topic import OUTPUTS, Topic
from streams.core.pipeline import expire
from streams.core.settings_document import Shadow, resolve
from streams.worker.aggregation import Aggregation, decode_aggregate, encode_aggregate, parts
from streams.worker.batch import Job
from streams.worker.contribution_record import read
from streams.worker.run_result import RunResult
from streams.worker.state.changelog import decode_session, encode_session
from tests.fuzz.choices import MISFITS, Choices
from tests.fuzz.decoding import recorded
from tests.fuzz.settings_documents import chosen_document
from tests.fuzz.target import Target

_CODEC = Codec.bundled()
_JOB = Job(_CODEC, group="fuzz", version="0")
_AGGREGATION = Aggregation(_CODEC, group="fuzz")
_DECODERS = {topic: _CODEC.decoder(f"{topic}-value") for topic in OUTPUTS}
_MOST_MESSAGES = 16
_MOST_STATE = 40_000

_GROUPS = {
    "meta": ("trace_id", "timestamp", "parent_step_id", "cluster_id"),
    "identity": ("agent_id", "agent_type", "capability_version"),
    "cognition": (
        *("intent", "goal", "reasoning_chain", "confidence_score", "strategy_used", "entropy_score"),
    ),
    "action": (
        *("status", "kind", "tool_call", "tool_input", "target", "content_hash", "error"),
        "tool_output_summary",
    ),
    "state_delta": (
        *("added_to_memory", "tokens_consumed", "cumulative_session_cost", "progress_delta"),
        "context_quality",
    ),
    "control": ("hitl_required", "interrupt_signal", "is_terminal"),
}
_NUMBERS = frozenset(
    {
        *(
            "confidence_score",
            "entropy_score",
            "tokens_consumed",
            "cumulative_session_cost",
            "progress_delta",
        ),
        "context_quality",
    }
)
_STATUSES = ("success", "failure", "failure", "pending", "skipped")
_START = 1_700_000_000_000


class _Message(NamedTuple):
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]


class _Sessions(dict[str, Session]):
    """Sessions that are stored and read again between two records."""

    stored = False

    def put(self, session: Session, session_id: str) -> None:
        data = encode_session(session)
        assert len(data) < _MOST_STATE, f"a session of {len(data)} bytes"
        self[session_id] = decode_session(data) if self.stored else session


class _StoredSessions(_Sessions):
    stored = True


def attack_messages(data: bytes) -> None:
    """Lines, each the value of a message: every one is scored or a dead letter."""
    messages = []
    for offset, line in enumerate(data.split(b"\n")[:_MOST_MESSAGES]):
        try:
            session_id = orjson.loads(line)["session_id"].encode()
        except (ValueError, LookupError, TypeError, AttributeError):
            session_id = None
        messages.append(_Message(offset, _START, session_id, line, []))
    fold(messages, DEFAULTS, None)


def attack_sessions(data: bytes) -> None:
    """Records of a few sessions with whatever a field may hold."""
    choices = Choices(data)
    settings, _ = resolve(chosen_document(choices), DEFAULTS, 1)
    shadow = None
    if choices.byte() > 200:
        shadow = Shadow(resolve(chosen_document(choices), DEFAULTS, 1)[0], choices.byte() % 4)
    messages = []
    while choices and len(messages) < _MOST_MESSAGES:
        value = _value(choices, len(messages))
        try:
            written, key = orjson.dumps(value), str(value.get("session_id")).encode()
        except (TypeError, ValueError):
            continue
        for _ in range(1 + (choices.byte() > 180) * (choices.byte() % 6)):
            messages.append(_Message(len(messages), choices.one_of([_START, -1, 2**62]), key, written, []))
    fold(messages, settings, shadow)


def _value(choices: Choices, number: int) -> dict[str, Any]:
    value: dict[str, Any] = {"session_id": choices.one_of(["s", "t", "\u202e\x00"]), "event_id": f"e{number}"}
    if choices.byte() > 200:
        value["task_type"] = choices.text()
    for group, fields in _GROUPS.items():
        value[group] = {field: _field(choices, field, number) for field in fields if choices.byte() > 80}
    value["meta"].setdefault("trace_id", "t")
    value["meta"].setdefault("timestamp", _START + 1000 * number)
    value["identity"] = {"agent_id": "a", "agent_type": "b", **value["identity"]}
    value["action"].setdefault("status", "success")
    if choices.byte() > 100:
        value["cognition"].setdefault("intent", "look")
    else:
        del value["cognition"]
    if choices.byte() > 250:
        value[choices.text()] = choices.json()
    return value


def _field(choices: Choices, name: str, number: int) -> Any:
    if choices.byte() > 252:
        return choices.one_of(MISFITS)
    if name in _NUMBERS:
        return choices.number()
    match name:
        case "timestamp":
            jump = choices.one_of([0, 0, 1, 300_000, 86_400_001, -(10**9), 2**40])
            return _START + 1000 * number + jump
        case "status":
            return choices.one_of(_STATUSES)
        case "added_to_memory" | "reasoning_chain":
            return [choices.text() for _ in range(choices.byte() % 3)]
        case "hitl_required" | "is_terminal":
            return choices.byte() > 200
        case _:
            return choices.text()


def fold(messages: list[_Message], settings: DetectionSettings, shadow: Shadow | None) -> None:
    """Process the messages, with the sessions kept and with the sessions stored, and read the outputs."""
    if not messages:
        return
    kept, stored = RunResult(), RunResult()
    sessions, restored = _Sessions(), _StoredSessions()
    for message in messages:
        run = Run("decision-logs", 0, [message])
        _JOB.session_ids(run)
        _JOB.fold(run, sessions, settings, kept, shadow)
        _JOB.fold(run, restored, settings, stored, shadow)
    assert kept.outputs == stored.outputs, "a stored session tells something else"
    assert kept.scored + kept.duplicates + kept.dead_lettered.total() == len(messages)
    assert len(kept.outputs.get(Topic.ENRICHED, ())) == kept.scored
    _outputs_decode(kept)
    _contributions_add_up(kept)
    for session_id, session in sessions.items():
        for event in expire(session_id, session, settings).events:
            if event.topic is not None:
                check_fields(f"{event.topic}-value", event.fields)


def _outputs_decode(folded: RunResult) -> None:
    for topic in OUTPUTS:
        for record in folded.outputs.get(topic, ()):
            assert record.value is not None
            value = _DECODERS[topic].decode(record.value)
            orjson.dumps(value)
            if topic is Topic.ENRICHED:
                check_fields(f"{topic}-value", value)


def _contributions_add_up(folded: RunResult) -> None:
    records = folded.outputs.get(Topic.REPARTITION, ())
    messages = [
        _Message(offset, record.timestamp, record.key, record.value, [])
        for offset, record in enumerate(records)
    ]
    if not messages:
        return
    aggregates = _Aggregates()
    for message in messages:
        read(message)
    _AGGREGATION.fold(parts(Run(Topic.REPARTITION, 0, messages)), aggregates)


class _Aggregates(dict[str, Any]):
    def put(self, value: Any, name: str) -> None:
        self[name] = decode_aggregate(encode_aggregate(value))


def _lines() -> Iterable[bytes]:
    values = [orjson.dumps(value) for value in recorded() if "session_id" in value]
    return [b"\n".join(values[at : at + 4]) for at in range(0, len(values), 4)]


MESSAGES = Target(
    "messages",
    attack_messages,
    _lines,
    [
        *_GROUPS,
        *(f'"{field}":' for fields in _GROUPS.values() for field in fields),
        "1e308",
        "\\u0000",
        "true",
    ],
)
SESSIONS = Target("sessions", attack_sessions, lambda: [bytes(range(256)) * 4, bytes([255, 90] * 300)])
