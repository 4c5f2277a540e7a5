"""Logs, exports and traces of other programs: an attack on each format of the registry, and on mappings.

Half of the inputs are units as they are. The other half says how a sample is changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from typing import Any

import orjson

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.outcome import Rejected
from streams.core.domain.validation import problems
from streams.core.entry import Entry
from streams.core.offline import judge
from streams.formats.adapters.adapter import Adapter, Format, Problem, UnitKind
from streams.formats.adapters.mapped import mapped_format
from streams.formats.adapters.otlp.proto_requests import cut_requests
from streams.formats.registry import FOREIGN
from tests.fuzz.changes import changed
from tests.fuzz.choices import Choices
from tests.fuzz.sample_seeds import seeds, words
from tests.fuzz.target import Target

Found = list[Entry | Problem]

_DOCUMENTS_END = b"\0"
_ALWAYS = 255
_EMPTY_STATE = 40_000
_STATE_OF_A_BYTE = 30  # a call of 40 bytes is held with all of its fields, a NUL is written with 6 bytes


def attack_on(given: Format) -> Callable[[bytes], None]:
    """Return the attack on a format."""
    samples: list[list[Any]] = []

    def attack(data: bytes) -> None:
        """Units give records that are scored, or problems, and the same if the adapter is resumed between.

        The first byte says after which unit, the second where the units come from.
        """
        choices = Choices(data)
        resumed_at, from_sample = choices.byte(), choices.byte() % 2 == 1
        rest = choices.rest()
        if from_sample and given.kind is not UnitKind.REQUESTS:
            samples[:] = samples or _values(given)
            rest = _joined(given, changed(samples, Choices(rest)))
        units = list(_units(given, rest))
        found, ignored = _read(given, units, None)
        again, ignored_again = _read(given, units, resumed_at)
        assert _comparable(again) == _comparable(found)
        assert ignored_again == ignored
        entries = [each for each in found if not isinstance(each, Problem)]
        for entry in entries:
            assert entry.value is not None
            assert not problems(entry.value), problems(entry.value)
        for judged in judge(entries, DEFAULTS):
            assert not isinstance(judged.outcome, Rejected), judged.outcome
        assert 0 <= given.sniff(rest, "input") <= 100

    return attack


def _read(given: Format, units: list[bytes], resumed_at: int | None) -> tuple[Found, dict[str, int]]:
    """Return what units give, and what was left out."""
    adapter = given.start("input")
    found: Found = []
    fed = 0
    for number, unit in enumerate(units):
        found.extend(adapter.feed(unit))
        fed += len(unit)
        if resumed_at is not None and (resumed_at == _ALWAYS or number == resumed_at % len(units)):
            adapter = _resumed(given, adapter, fed)
    _resumed(given, adapter, fed)
    found.extend(adapter.close())
    return found, dict(adapter.ignored)


def _resumed(given: Format, adapter: Adapter, fed: int) -> Adapter:
    """Return the adapter, stored and read again. What is stored grows with what was fed, and no faster."""
    state = adapter.state()
    assert len(state) <= _EMPTY_STATE + _STATE_OF_A_BYTE * fed, len(state)
    again = given.resume("input", state)
    assert orjson.loads(again.state()) == orjson.loads(state)
    return again


def _values(given: Format) -> list[list[Any]]:
    """Return the seeds of a format as values of JSON: of a document as one, of lines one each."""
    found = [list(map(_json, _units(given, seed[2:]))) for seed in _seeds(given)]
    return [values for values in found if any(isinstance(each, dict | list) for each in values)] or [[{}]]


def _json(unit: bytes) -> Any:
    try:
        return orjson.loads(unit)
    except orjson.JSONDecodeError:
        return unit.decode("utf-8", "replace")


def _joined(given: Format, values: Iterable[Any]) -> bytes:
    """Return values as an input, with numbers and halves of characters that strict writers refuse."""
    between = _DOCUMENTS_END if given.kind is UnitKind.DOCUMENT else b"\n"
    written = (
        each if isinstance(each, str) and given.name == "mapped-csv" else json.dumps(each) for each in values
    )
    return between.join(each.encode("utf-8", "replace") for each in written)


def _comparable(found: Found) -> list[Any]:
    return [each if isinstance(each, Problem) else orjson.dumps(each.value) for each in found]


def _units(given: Format, data: bytes) -> Iterable[bytes]:
    match given.kind:
        case UnitKind.LINES:
            return data.split(b"\n")
        case UnitKind.DOCUMENT | UnitKind.CONTAINER:
            return data.split(_DOCUMENTS_END)
        case UnitKind.REQUESTS:
            return cut_requests(BytesIO(data))


_MAPPED_JSON = mapped_format(
    b"""
session_id = "/run/id"
event_id = "/id"
timestamp = "/time"
agent_id = "/agent"
tool = "/tool/name"
arguments = "/tool/input"
result = "/output/0/text"
status = "/status"
exit_code = "/code"
error = "/error"
intent = "/thought"
goal = "/goal"
tokens = "/usage/total"
cost = "/usage/cost"
terminal = "/event"
terminal_words = ["end"]
"""
)._replace(name="mapped-json")
_MAPPED_CSV = mapped_format(
    b"""
session_id = "run"
timestamp = "time"
tool = "tool"
arguments = "input"
result = "output"
exit_code = "code"
error = "error"
intent = "thought"
tokens = "tokens"
cost = "cost"
terminal = "last"
"""
)._replace(name="mapped-csv")

_WRITTEN: dict[str, bytes] = {
    "mapped-json": b"""{"run": {"id": "r1"}, "id": "e1", "time": 1795376349.5, "agent": "a", "goal": "g", """
    b""""tool": {"name": "search", "input": {"q": "x"}}, "output": [{"text": "no"}], "status": "error", """
    b""""code": 1, "error": "no", "thought": "I look.", "usage": {"total": 9, "cost": 0.5}, "event": ""}"""
    b"""\n{"run": {"id": "r1"}, "thought": "Done.", "event": "end"}""",
    "mapped-csv": b"""run,time,tool,input,output,code,error,thought,tokens,cost,last
r1,2026-04-01T17:30:01Z,search,"{""q"": ""x""}","two
lines",1,no,I look.,9,0.5,
r1,,,,,,,Done.,,,yes
""",
}
"""What is written by hand, for formats without a sample."""


def _seeds(given: Format) -> Iterator[bytes]:
    for number, seed in enumerate((*seeds(given), _WRITTEN.get(given.name, b"{}"))):
        yield bytes([number % 8 if number % 3 else _ALWAYS, 0]) + seed


def _attacks(given: Format) -> Iterator[bytes]:
    yield from _seeds(given)
    for number in range(8):
        yield bytes([_ALWAYS, 1, *range(number, 200, 7 + number)])


def _target(given: Format) -> Target:
    return Target(given.name, attack_on(given), lambda: _attacks(given), words(given))


ADAPTERS = tuple(map(_target, (*FOREIGN, _MAPPED_JSON, _MAPPED_CSV)))
