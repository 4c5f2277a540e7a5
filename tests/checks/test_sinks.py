"""What every sink must hold, whatever the alert is."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.alerts.sink_kinds import KINDS
from streams.alerts.sinks.request import Outcome, SinkAnswer
from streams.alerts.sinks.sink import Chat, Delivery, DeliveryStep, Digest, Sink
from tests.unit.alerts.sinks.alerts import CASES, NOW_MS, SECRET, SECRETS, SINKS, alert, told

NAMES = list(SINKS)

texts = st.text(max_size=60)
wild = st.builds(
    alert,
    phase=st.sampled_from(["opened", "escalated", "still_open", "recovered", "a later phase"]),
    session=texts,
    agent_id=texts | st.none(),
    event_id=texts,
    level=st.sampled_from(["LOOP", "WARNING", "DOOM", None]),
    rule=st.sampled_from(["R1", "R2", "R7", "R9", "R99", None]),
    period=st.none() | st.integers(0, 60),
    count=st.none() | st.integers(0, 2**62),
    tools=st.none() | st.lists(texts | st.none(), max_size=4),
    timestamp=st.integers(-(2**62), 2**62),
    first_timestamp=st.none() | st.integers(-(2**62), 2**62),
    last_timestamp=st.none() | st.integers(-(2**62), 2**62),
    tokens_since_onset=st.none() | st.integers(0, 2**62) | st.floats(),
    cost_since_onset=st.none() | st.floats(),
    reason=st.none() | st.sampled_from(["quiet", "terminal", "expired", "a later reason"]),
    stuck=st.none()
    | st.fixed_dictionaries(
        {"score": st.floats(0, 12), "kinds": st.just({"old_error": 3, "a_later_kind": 1})}
    ),
)


def no_json(word: str) -> None:
    """Refuse what Python reads as JSON, and nobody else."""
    raise ValueError(word)


def all_of(sink: Sink, delivery: Delivery) -> list[bytes]:
    return [request.body for request in sink.requests(delivery, None, NOW_MS)]


@pytest.mark.parametrize("name", NAMES)
@given(first=wild, second=wild)
def test_no_alert_stops_a_sink_and_each_request_is_json(name: str, first: Any, second: Any) -> None:
    sink = SINKS[name]
    delivery = told(first, second) if first.id != second.id else told(first)
    if sink.wants(delivery):
        for request in sink.requests(delivery, None, NOW_MS):
            json.loads(request.body, parse_constant=no_json)
            for header in (*request.headers, *request.headers.values()):
                assert "\n" not in header
                assert "\r" not in header
                header.encode("latin-1")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", CASES)
def test_the_same_delivery_is_the_same_bytes(name: str, case: str) -> None:
    if SINKS[name].wants(CASES[case]):
        assert all_of(SINKS[name], CASES[case]) == all_of(SINKS[name], CASES[case])


@pytest.mark.parametrize("name", NAMES)
def test_every_beginning_and_every_end_is_wanted(name: str) -> None:
    for delivery in CASES.values():
        if delivery.step in {DeliveryStep.TRIGGER, DeliveryStep.RESOLVE}:
            assert SINKS[name].wants(delivery)
            assert all_of(SINKS[name], delivery)


@pytest.mark.parametrize("name", NAMES)
def test_a_message_names_the_agent_the_loop_its_cost_its_beginning_and_the_page(name: str) -> None:
    [body] = all_of(SINKS[name], CASES["loops"])
    text = body.decode()
    assert "coder-19 is looping. Read: the same call with the same result, 4 times in a row (R1)" in text
    assert "Since 08:58:46 UTC (1 min 14 s), cost $0.42, 18,400 tokens" in text
    assert "https://eddy.example.com/session?id=s-1" in text


@pytest.mark.parametrize("name", NAMES)
def test_no_secret_is_shown(name: str) -> None:
    sink = SINKS[name]
    secrets = {SECRETS.get(name, SECRET), SECRET}
    assert not any(secret in repr(sink) for secret in secrets)
    for request in sink.requests(CASES["loops"], None, NOW_MS):
        shown = repr(request) + os.linesep.join(request.shown())
        assert not any(secret in shown for secret in secrets)


@pytest.mark.parametrize("name", NAMES)
@given(status=st.integers(100, 599), body=st.binary(max_size=200), after=st.text(max_size=30))
def test_no_answer_stops_a_sink(name: str, status: int, body: bytes, after: str) -> None:
    judged: Outcome = SINKS[name].judge(SinkAnswer(status, {"retry-after": after}, body), NOW_MS / 1000)
    assert judged is not None


@pytest.mark.parametrize("name", [name for name in NAMES if isinstance(SINKS[name], Chat)])
def test_a_chat_says_many_things_at_once(name: str) -> None:
    sink = SINKS[name]
    assert isinstance(sink, Chat)
    many = tuple(told(alert(session=f"s-{number}")) for number in range(12))
    [request] = sink.digest(Digest(many))
    assert re.search(rb"12 more sessions loop: coder-19 \(s-0\)", request.body)


@pytest.mark.parametrize("name", NAMES)
def test_a_rate_lets_something_through(name: str) -> None:
    assert SINKS[name].traits.per_second > 0
    assert SINKS[name].traits.burst >= 1
    assert SINKS[name].traits.resolves >= 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_documents_say_how_it_is_set_up(kind: str) -> None:
    receivers = (Path(__file__).parents[2] / "docs" / "notify.md").read_text().partition("## Receivers")[2]
    sections = re.split(r"\n#+ ", receivers.partition("\n## ")[0])
    assert [each for each in sections if f"EDDY_NOTIFY_{kind.upper()}_" in each] != []
