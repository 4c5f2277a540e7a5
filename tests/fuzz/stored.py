"""What a worker reads of its own: changelog records, the settings ledger, contributions between sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from schemas.codec import Codec
from streams.aggregation import Aggregation, decode_aggregate, encode_aggregate, parts
from streams.domain.agent_health import AgentHealth
from streams.domain.contribution import Contribution
from streams.domain.detection_settings import DEFAULTS
from streams.domain.run import Run
from streams.domain.session import Session
from streams.domain.shadow import ShadowDocument
from streams.domain.task_needs import TaskNeeds
from streams.domain.topic import Topic
from streams.engine.aggregates_epoch import AGGREGATE_FORM
from streams.engine.changelog import decode_session, encode_session
from streams.engine.settings_ledger import Entry, SettingsLedger, ShadowEntry
from streams.errors import StateError
from tests.fuzz.target import Target
from tests.stream import Stream, repeated

_AGGREGATION = Aggregation(Codec.bundled())


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


_FORMS: list[tuple[Callable[[bytes], Any], Callable[[Any], bytes]]] = [
    (decode_session, encode_session),
    (SettingsLedger.decode, SettingsLedger.encode),
    (AGGREGATE_FORM.decode, AGGREGATE_FORM.encode),
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
    yield SettingsLedger((Entry(3, DEFAULTS),), 9000, (shadow,)).encode()
    yield b"[1, 5, []]"
    health = AgentHealth().plus(Contribution("a", 0, 7, 900_000, {"sessions": {3: 1}}, {3: {"ab": 1}}))
    yield encode_aggregate(health)
    yield encode_aggregate(TaskNeeds())


def _contributions() -> Iterable[bytes]:
    yield b'a\t[1,"health",0,7,900000,[["sessions",3,1],["cost",3,5]],[[3,"ab",2]]]'
    yield b'api\t[1,"task",0,7,{"steps_used":15,"tokens_used":25000},0,0.2]'


STATE = Target("state", attack_state, _states, ("health", "active", "idle", "blocked", "1e308", "null"))
CONTRIBUTIONS = Target(
    "contributions", attack_contributions, _contributions, ("health", "task", "\t", "cost")
)
