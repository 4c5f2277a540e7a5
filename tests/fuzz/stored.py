"""What a worker reads of its own: changelog records, the settings ledger, contributions between sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import orjson

from schemas.codec import Codec
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.aggregates.agent_health import AgentHealth
from streams.core.domain.aggregates.contribution import Contribution
from streams.core.domain.aggregates.exchange import Exchanges, Handed
from streams.core.domain.aggregates.task_profile import TaskNeeds
from streams.core.domain.run import Run
from streams.core.domain.session import DamagedSessionError, Session
from streams.core.domain.topic import Topic
from streams.core.errors import StateError
from streams.core.pipeline import expire
from streams.core.settings_document import Shadow, ShadowDocument, resolve
from streams.worker.aggregates_epoch import AGGREGATES_FORMAT
from streams.worker.aggregation import Aggregation, decode_aggregate, encode_aggregate, parts
from streams.worker.batch import Job
from streams.worker.contribution_record import handover_record
from streams.worker.run_result import RunResult
from streams.worker.settings_ledger import LedgerEntry, SettingsLedger, ShadowEntry
from streams.worker.state.changelog import decode_session, encode_session
from streams.worker.state.checkpoint import CheckpointMark
from tests.fuzz.target import Target
from tests.integration.load import decision
from tests.stream import Stream, repeated

_AGGREGATION = Aggregation(Codec.bundled(), group="g")
_JOB = Job(Codec.bundled(), group="g", version="1")
_HANDED = Handed(
    *("handover/trace/t", 0, 7, 900_000, "s", "s-e7", "a", "b", "tell", "t", "r"),
    known=True,
    worked=False,
    tokens=5,
    warn=3,
    loop=6,
)
_TRIED = Shadow(resolve({"identical_loop": 5}, DEFAULTS, 1)[0], 0)


def attack_state(data: bytes) -> None:
    """What can be read of a stored session, ledger or aggregate can be written again; else StateError."""
    for decode, encode in _FORMS:
        _survives(data, decode, encode)


def _survives(data: bytes, decode: Callable[[bytes], Any], encode: Callable[[Any], bytes]) -> None:
    try:
        value = decode(data)
    except StateError:
        return
    again = encode(value)
    assert encode(decode(again)) == again


class Sessions(dict[str, Session]):
    """Sessions as the job wants them."""

    def put(self, session: Session, session_id: str) -> None:
        self[session_id] = session


def attack_restored(data: bytes) -> None:
    """A stored session is judged with the next records, and removed, whatever it holds, or is damaged."""
    try:
        session = decode_session(data)
    except StateError:
        return
    for next_offset in (session.offset + 1, session.offset + 2):
        sessions = Sessions(s1=session)
        try:
            expire("s1", session, DEFAULTS)
            _JOB.fold(_run(session.partition, next_offset), sessions, DEFAULTS, RunResult(), _TRIED)
        except DamagedSessionError:
            return
        session = sessions["s1"]
        try:
            decode_session(encode_session(session))
        except StateError:
            return


def _run(partition: int, offset: int) -> Run:
    value = decision("s1", 9, tool_input='{"a":1}', tool_output_summary="x", error="y")
    message = _Message(offset, value["meta"]["timestamp"], b"s1", orjson.dumps(value), [])
    return Run(Topic.DECISION_LOGS, partition, [message])


_FORMS: list[tuple[Callable[[bytes], Any], Callable[[Any], bytes]]] = [
    (decode_session, encode_session),
    (SettingsLedger.decode, SettingsLedger.encode),
    (CheckpointMark.decode, CheckpointMark.encode),
    (AGGREGATES_FORMAT.decode, AGGREGATES_FORMAT.encode),
]


class _Message(NamedTuple):
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]


def attack_contributions(data: bytes) -> None:
    """Records of the repartition topic are added up, or refused before anything is added."""
    messages = [
        _Message(offset, offset, key, value, [])
        for offset, line in enumerate(data.split(b"\n")[:10])
        for key, _, value in [line.partition(b"\t")]
    ]
    try:
        found = parts(Run(Topic.REPARTITION, 0, messages))
    except StateError:
        return
    aggregates = _Aggregates()
    _AGGREGATION.fold(found, aggregates)
    for value in aggregates.values():
        assert decode_aggregate(encode_aggregate(value)) == value


class _Aggregates(dict[str, Any]):
    def put(self, value: Any, name: str) -> None:
        self[name] = value


def _states() -> Iterable[bytes]:
    stream = Stream()
    stream.run(repeated(6, tool_input='{"a":1}', tool_output_summary="x"))
    stream.run(repeated(1, session="s2", terminal=True))
    for session in stream.sessions.values():
        yield encode_session(session)
        yield encode_session(session._replace(shadow=Session(0, 3)))
    shadow = ShadowEntry(3, 2, ShadowDocument(5, 1, DEFAULTS))
    yield SettingsLedger((LedgerEntry(3, DEFAULTS),), 9000, (shadow,)).encode()
    yield SettingsLedger((LedgerEntry(3, DEFAULTS),), 9000, behind=True).encode()
    yield CheckpointMark(12, 7).encode()
    yield CheckpointMark(12).encode()
    yield b"[1, 5, []]"
    health = AgentHealth().plus(Contribution("a", 0, 7, 900_000, {"sessions": {3: 1}}, {3: {"ab": 1}}))
    yield encode_aggregate(health)
    yield encode_aggregate(TaskNeeds())
    exchanges, _ = Exchanges().plus(_HANDED)
    yield encode_aggregate(exchanges)


def _contributions() -> Iterable[bytes]:
    yield b'a\t[1,"health",0,7,900000,[["sessions",3,1],["cost",3,5]],[[3,"ab",2]]]'
    yield b'api\t[1,"task",0,7,{"steps_used":15,"tokens_used":25000},0,0.2]'
    value = handover_record(_HANDED, 5).value
    assert value is not None
    yield _HANDED.key.encode() + b"\t" + value


RESTORED = Target(
    "restored", attack_restored, _states, ("health", "active", "idle", "blocked", "1e308", "null", "[]")
)
STATE = Target("state", attack_state, _states, ("health", "active", "idle", "blocked", "1e308", "null"))
CONTRIBUTIONS = Target(
    "contributions", attack_contributions, _contributions, ("health", "task", "\t", "cost")
)
