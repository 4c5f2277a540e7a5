"""Contributions become records, records aggregates, and aggregates are published once per run."""

from __future__ import annotations

import itertools
from io import BytesIO
from typing import Any

import fastavro
import orjson
import pytest

from schemas.bundled import latest
from schemas.codec import Codec, OutputFormat
from schemas.encoder import check_fields
from streams.core.conclusion import handover_event
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.aggregates.contribution import Contribution
from streams.core.domain.aggregates.exchange import ExchangeTurn, Handed, HandoverAlert
from streams.core.domain.aggregates.task_profile import Completion, Outlay
from streams.core.domain.decision import Decision
from streams.core.domain.level import Level
from streams.core.domain.record import Outgoing, Unreadable
from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.domain.topic import Topic
from streams.core.errors import StateError
from streams.kafka.client import Stored
from streams.worker.aggregation import (
    Aggregate,
    Aggregation,
    Tallied,
    decode_aggregate,
    encode_aggregate,
    parts,
)
from streams.worker.batch import Job
from streams.worker.contribution_record import (
    handover_record,
    health_record,
    outlay_record,
    read,
    task_record,
)
from streams.worker.run_result import RunResult
from tests.integration.load import load
from tests.stream import START_MS, Stream, decision_log

BUCKET = 5_000_000
AT = BUCKET * 300_000


class Sessions(dict[str, Session]):
    """Sessions as the job wants them."""

    def put(self, session: Session, session_id: str) -> None:
        self[session_id] = session


class Aggregates(dict[str, Aggregate]):
    """Aggregates as the fold wants them."""

    def put(self, value: Aggregate, name: str) -> None:
        self[name] = value


def seen(key: str, offset: int, **counts: int) -> Outgoing:
    """Return a record about an agent or a tool."""
    buckets = {series: {BUCKET: n} for series, n in (counts or {"sessions": 1}).items()}
    return health_record(Contribution(key, 3, offset, AT, buckets, {BUCKET: {"digest": 2}}), 77)


def completed(task_type: str, offset: int) -> Outgoing:
    decision = Decision.of(3, offset, decision_log())
    used = {"task_type": task_type, "steps_used": 10, "tokens_used": 100.5, "total_progress": 1.0}
    return task_record(used, decision, DEFAULTS, 78)


def fold(
    aggregates: Aggregates, *records: Outgoing, output_format: OutputFormat = OutputFormat.JSON
) -> Tallied:
    messages = [
        Stored(0, offset, record.timestamp, record.key, record.value, ())
        for offset, record in enumerate(records)
    ]
    aggregation = Aggregation(Codec.bundled(output_format), group="g")
    return aggregation.fold(parts(Run("t", 0, messages)), aggregates)


@pytest.mark.parametrize("at_ms", [0, 2**53 + 1, 2**63 - 1])
def test_whatever_time_a_record_may_have_is_counted(at_ms: int) -> None:
    contributions = Stream().scored(decision_log(at_ms=at_ms - START_MS)).contributions
    tallied = fold(Aggregates(), *[health_record(each, 77) for each in contributions])
    told = [orjson.loads(record.value or b"") for record in tallied.outputs[Topic.AGENT_HEALTH]]
    assert [(each["as_of"], each["sessions_hour"]) for each in told] == [(at_ms, 1)] * 2


def test_an_aggregate_is_published_once_per_run_as_it_is_in_the_end() -> None:
    tallied = fold(Aggregates(), seen("a", 1), seen("tool/b", 1), seen("a", 2), completed("api", 2))
    assert (tallied.counted, tallied.repeated) == (4, 0)
    health, profiles = (tallied.outputs[topic] for topic in (Topic.AGENT_HEALTH, Topic.TASK_PROFILES))
    assert [(record.key, record.timestamp) for record in health] == [(b"a", 77), (b"tool/b", 77)]
    assert [orjson.loads(record.value or b"")["sessions_hour"] for record in health] == [2, 1]
    assert [(record.key, orjson.loads(record.value or b"")) for record in profiles] == [
        (b"api", {"task_type": "api", "recommendation": {"steps": 12, "tokens": 121, "samples": 1}})
    ]


def test_what_was_counted_before_changes_and_publishes_nothing() -> None:
    aggregates = Aggregates()
    fold(aggregates, seen("a", 1), completed("api", 1))
    before = dict(aggregates)
    tallied = fold(aggregates, seen("a", 1), seen("a", 0), completed("api", 1))
    assert (tallied.counted, tallied.repeated, tallied.outputs) == (0, 3, {})
    assert aggregates == before


def test_an_agent_and_a_task_of_one_name_are_counted_apart() -> None:
    aggregates = Aggregates()
    tallied = fold(aggregates, seen("api", 1), completed("api", 1))
    assert aggregates.keys() == {"hapi", "tapi"}
    assert set(tallied.outputs) == {Topic.AGENT_HEALTH, Topic.TASK_PROFILES}


@pytest.mark.parametrize("topic", [Topic.AGENT_HEALTH, Topic.TASK_PROFILES])
def test_in_avro_it_says_the_same(topic: Topic) -> None:
    records = seen("a", 1, tokens=5, cost=12, episodes=1), completed("api", 2)
    [as_json] = fold(Aggregates(), *records).outputs[topic]
    [as_avro] = fold(Aggregates(), *records, output_format=OutputFormat.AVRO).outputs[topic]
    schema = latest(f"{topic}-value")
    assert as_avro.value is not None
    assert as_avro.value[:5] == b"\0" + schema.id.to_bytes(4, "big")
    told: Any = fastavro.schemaless_reader(BytesIO(as_avro.value[5:]), schema.parsed, None)
    assert told == orjson.loads(as_json.value or b"")
    assert dict(as_avro.headers)["eddy-schema"] == schema.name.encode()


def test_aggregates_are_read_back_as_they_were_stored() -> None:
    aggregates = Aggregates()
    fold(aggregates, seen("a", 1), completed("api", 1))
    for aggregate in aggregates.values():
        stored = encode_aggregate(aggregate)
        assert decode_aggregate(stored) == aggregate
        assert encode_aggregate(decode_aggregate(stored)) == stored


@pytest.mark.parametrize("stored", [b"{}", b"[]", b'["x",1]', b'["h",2,0]', b'["t",1]', b""])
def test_what_is_no_aggregate_is_refused(stored: bytes) -> None:
    with pytest.raises((ValueError, TypeError)):
        decode_aggregate(stored)


@pytest.mark.parametrize(
    "value",
    [
        *(
            b"",
            None,
            b"{}",
            b"[1]",
            b'[2,"health",0,1,2,[],[]]',
            b'[1,"health",0]',
            b'[1,"other",0]',
            b"\xff",
        ),
        b'[1,"task",0,7,{"steps_used":15},0,0.2]',
        b'[1,"task",0,7,{"steps_used":15,"tokens_used":"many"},0,0.2]',
        b'[1,"task",0,null,{"steps_used":15,"tokens_used":1},0,0.2]',
        b'[1,"task",0,7,{"steps_used":15,"tokens_used":1},0,1e308]',
        b'[1,"health","x",7,900000,[],[]]',
        b'[1,"health",0,7,9223372036854775808,[],[]]',
        b'[1,"health",0,7,900000,[["sessions",3,"1"]],[]]',
        b'[1,"health",0,7,900000,[["sessions",3.5,1]],[]]',
        b'[1,"health",0,7,900000,[],[[3,7,1]]]',
    ],
)
def test_a_record_nobody_understands_stops_the_worker_and_says_what_to_do(value: bytes | None) -> None:
    with pytest.raises(StateError, match=r"offset 9 .* newer one"):
        read(Stored(0, 9, 0, b"a", value, ()))


def test_a_key_that_is_no_text_is_nobodys() -> None:
    with pytest.raises(StateError):
        read(Stored(0, 9, 0, b"\xff", seen("a", 1).value, ()))


def test_what_the_sessions_of_a_partition_contribute_comes_out_by_agent_tool_and_task() -> None:
    messages = [
        Stored(0, offset, record.timestamp, record.key, record.value, record.headers)
        for offset, (_, record) in enumerate(itertools.islice(load(1), 1200))
    ]
    folded = RunResult()
    job = Job(Codec.bundled(), group="g", version="1")
    job.fold(Run(Topic.DECISION_LOGS, 0, messages), Sessions(), DEFAULTS, folded)
    sent = folded.outputs[Topic.REPARTITION]
    # Far fewer than records: a session that goes on as it was has nothing to tell.
    assert len(sent) < folded.scored
    health, profiles = (
        {record.key: orjson.loads(record.value or b"") for record in records}
        for records in fold(Aggregates(), *sent).outputs.values()
    )
    agents = {key: told for key, told in health.items() if told["scope"] == "agent"}
    assert agents.keys() == {b"agent-0", b"agent-1", b"agent-2"}
    assert sum(told["sessions_day"] for told in agents.values()) == health[b"tool/shell"]["sessions_day"]
    assert sum(told["episodes_day"] for told in agents.values()) == health[b"tool/shell"]["episodes_day"]
    assert profiles.keys() == {b"api", b"refactoring"}
    completions = [
        event
        for event in (read(Stored(0, 0, 0, each.key, each.value, ())) for each in sent)
        if isinstance(event, Completion)
    ]
    assert sum(told["recommendation"]["samples"] for told in profiles.values()) == len(completions) > 0


def test_a_contribution_that_no_client_reads_stops_the_worker_with_what_to_do() -> None:
    with pytest.raises(StateError, match=r"offset 7 of eddy-contributions cannot be read: a header.*ACLs"):
        parts(Run("eddy-contributions", 0, [Unreadable(7, 5, "a header")]))


def ping_pong(rounds: int) -> list[Outgoing]:
    """Two sessions, in partitions 3 and 5, that hand each other the same task."""
    return [
        handover_record(
            Handed(
                *("handover/trace/t", partition, 10 + number, AT + 1000 * number + partition),
                *(session, f"{session}-e{number}", agent, peer, "send_message", "t", session),
                known=True,
                worked=False,
                tokens=100 * number,
                warn=3,
                loop=6,
            ),
            77 + number,
        )
        for number in range(rounds)
        for partition, session, agent, peer in ((3, "s1", "coder", "tester"), (5, "s2", "tester", "coder"))
    ]


def test_a_ping_pong_is_alerted_where_each_session_is() -> None:
    tallied = fold(Aggregates(), *ping_pong(8))
    assert (tallied.counted, tallied.outputs, dict(tallied.events)) == (16, {}, {"handover_loop": 4})
    assert sorted(tallied.alerts) == [3, 5]
    warning, loop = (orjson.loads(each.value or b"") for each in tallied.alerts[3])
    assert [each.key for each in tallied.alerts[3]] == [b"s1", b"s1"]
    assert [each.timestamp for each in tallied.alerts[3]] == [79, 82]
    assert (warning["level"], warning["count"]) == ("WARNING", 3)
    told = {name: value for name, value in loop.items() if value is not None}
    assert told == {
        "id": "s1/3/15/handover_loop/LOOP",
        "event_type": "handover_loop",
        "session_id": "s1",
        "agent_id": "coder",
        "event_id": "s1-e5",
        "timestamp": AT + 5003,
        "partition": 3,
        "offset": 15,
        "level": "LOOP",
        "count": 6,
        "chain_id": "s2",
        "target": "tester",
        "tools": ["send_message"],
        "first_offset": 10,
        "first_timestamp": AT + 3,
        "last_offset": 15,
        "last_timestamp": AT + 5003,
        "tokens_since_onset": 500,
    }
    headers = dict(tallied.alerts[3][1].headers)
    assert headers["ce_id"] == b"s1/3/15/handover_loop/LOOP"
    assert headers["ce_source"] == b"/eddy/g/session-alerts/3"
    assert headers["ce_type"] == b"io.eddy.handover_loop.v5"


def test_the_alerts_of_hand_overs_are_the_same_however_runs_are_cut_and_repeated() -> None:
    whole = fold(Aggregates(), *ping_pong(8)).alerts
    aggregates, found = Aggregates(), {3: [], 5: []}  # type: ignore[var-annotated]
    for record in ping_pong(8):
        tallied = fold(aggregates, record)
        for partition, alerts in tallied.alerts.items():
            found[partition] += alerts
        assert fold(aggregates, record).repeated == 1
        for name, value in aggregates.items():
            aggregates[name] = decode_aggregate(encode_aggregate(value))
    assert found == whole
    assert fold(aggregates, *ping_pong(8)).alerts == {}


def test_an_alert_of_hand_overs_can_be_written_in_avro() -> None:
    tallied = fold(Aggregates(), *ping_pong(3), output_format=OutputFormat.AVRO)
    [as_avro] = tallied.alerts[5]
    schema = latest("session-alerts-value")
    assert as_avro.value is not None
    told: Any = fastavro.schemaless_reader(BytesIO(as_avro.value[5:]), schema.parsed, None)
    assert (told["level"], told["chain_id"], told["target"]) == ("WARNING", "s1", "coder")
    check_fields("session-alerts-value", told)


def test_an_alert_without_tokens_and_names_says_so() -> None:
    turn = ExchangeTurn(AT, 7, "e", known=True, worked=False, tokens=0)
    alert = HandoverAlert("s", 0, "", "o", "", Level.WARNING, 3, (), turn, turn)
    fields = handover_event(alert).fields
    assert (fields["agent_id"], fields["target"], fields["tools"]) == ("", None, [])
    assert fields["tokens_since_onset"] is None


def told_over(number: int, session: str, agent: str, peer: str) -> dict[str, Any]:
    arguments = orjson.dumps({"to": peer, "text": f"Please check the table again, {number}"}).decode()
    about = {"session": session, "agent": agent, "tool_input": arguments}
    value = decision_log("work", "send_message", "success", number=number, **about)
    value["meta"]["trace_id"] = f"t-{session}"
    return value


def test_what_a_job_contributes_of_two_sessions_is_joined_by_the_names() -> None:
    job = Job(Codec.bundled(OutputFormat.JSON), group="g", version="1")
    aggregates, sessions, offsets, alerts = Aggregates(), Sessions(), itertools.count(), []
    for number in range(8):
        for session, agent, peer in (("s1", "coder", "tester"), ("s2", "tester", "coder")):
            value = orjson.dumps(told_over(number, session, agent, peer))
            message = Stored(0, next(offsets), START_MS, session.encode(), value, ())
            folded = RunResult()
            job.fold(Run("decision-logs", 0, [message]), sessions, DEFAULTS, folded)
            sent = [
                each
                for each in folded.outputs.get(Topic.REPARTITION, [])
                if (each.key or b"").startswith(b"handover/")
            ]
            tallied = fold(aggregates, *sent)
            alerts += [orjson.loads(each.value or b"") for each in tallied.alerts.get(0, [])]
    assert [(each["session_id"], each["chain_id"], each["level"]) for each in alerts] == [
        ("s2", "s1", "WARNING"),
        ("s1", "s2", "WARNING"),
        ("s2", "s1", "LOOP"),
        ("s1", "s2", "LOOP"),
    ]


# -- sessions beside others of their kind


def used(offset: int, tokens: float, session: str = "s1", **given: Any) -> Outgoing:
    told = {
        "task_type": "api",
        "agent_id": "coder",
        "event_id": f"e-{offset}",
        "cost": 1.5,
        "times": 10,
        "number": offset,
    }
    place = {"partition": 3, "offset": offset, "at": AT + offset, "session_id": session}
    return outlay_record(Outlay(**{**told, **place, "tokens": tokens, **given}), 79)


TASKS = [completed("api", offset) for offset in range(20)]


def test_a_session_that_uses_many_times_what_its_kind_takes_is_told_where_it_is() -> None:
    records = *TASKS, used(20, 1_004.9), used(21, 1_005), used(22, 9_000), used(23, 1_005, "s2")
    tallied = fold(Aggregates(), *records)
    assert dict(tallied.events) == {"overspending": 3}
    one, again, two = tallied.alerts[3]
    assert (one.key, two.key, one.timestamp) == (b"s1", b"s2", 79)
    later = orjson.loads(again.value or b"")
    assert (later["phase"], later["episode_id"], later["records"]) == ("still_over", "s1/3/21/kind", 1)
    told = {name: value for name, value in orjson.loads(one.value or b"").items() if value is not None}
    assert told == {
        "id": "s1/3/21/overspending/kind/over",
        "event_type": "overspending",
        "session_id": "s1",
        "agent_id": "coder",
        "event_id": "e-21",
        "timestamp": AT + 21,
        "partition": 3,
        "offset": 21,
        "phase": "over",
        "rule": "kind",
        "episode_id": "s1/3/21/kind",
        "spent": 1_005.0,
        "limit": 1_005.0,
        "samples": 20,
        "records": 0,
        "first_offset": 21,
        "first_timestamp": AT + 21,
        "last_offset": 21,
        "last_timestamp": AT + 21,
        "tokens_since_onset": 1_005,
        "cost_since_onset": 1.5,
    }


def test_what_a_session_uses_changes_no_profile_and_publishes_none() -> None:
    aggregates = Aggregates()
    fold(aggregates, *TASKS)
    before = aggregates["tapi"]
    tallied = fold(aggregates, used(20, 10**6))
    assert tallied.outputs == {}
    assert aggregates["tapi"].report("api") == before.report("api")  # type: ignore[union-attr]


def test_nobody_is_told_before_twenty_tasks_of_the_kind_are_known() -> None:
    assert fold(Aggregates(), *TASKS[:19], used(20, 10**9)).alerts == {}
    assert fold(Aggregates(), *TASKS, used(20, 10**9, task_type="other")).alerts == {}


def test_the_alerts_of_spending_are_the_same_however_runs_are_cut_and_repeated() -> None:
    records = *TASKS, used(20, 2_000), used(21, 3_000), used(22, 4_000, "s2")
    whole = fold(Aggregates(), *records).alerts[3]
    aggregates, found = Aggregates(), []  # type: ignore[var-annotated]
    for record in records:
        found += fold(aggregates, record).alerts.get(3, [])
        assert fold(aggregates, record).repeated == 1
        for name, value in aggregates.items():
            aggregates[name] = decode_aggregate(encode_aggregate(value))
    assert found == whole
    assert len(found) == 3


def test_a_session_that_begins_again_is_told_again_and_one_that_is_told_now_and_then_is_remembered() -> None:
    begins = fold(Aggregates(), *TASKS, used(20, 2_000), used(21, 9_000), used(22, 1_500))
    phases = [orjson.loads(each.value or b"")["phase"] for each in begins.alerts[3]]
    assert phases == ["over", "still_over", "over"]
    others = [used(21 + number, 2_000, f"o-{number}") for number in range(60)]
    more = [used(82 + number, 2_000, f"p-{number}") for number in range(60)]
    tallied = fold(Aggregates(), *TASKS, used(20, 2_000), *others, used(81, 3_000), *more, used(142, 4_000))
    told = [orjson.loads(each.value or b"") for each in tallied.alerts[3] if each.key == b"s1"]
    assert [each["phase"] for each in told] == ["over", "still_over", "still_over"]


def test_the_state_of_a_kind_of_which_nobody_was_told_is_as_earlier_versions_read_it() -> None:
    aggregates = Aggregates()
    fold(aggregates, *TASKS, used(20, 50))
    assert orjson.loads(encode_aggregate(aggregates["tapi"]))[:2] == ["t", 1]
    fold(aggregates, used(21, 10**6))
    assert orjson.loads(encode_aggregate(aggregates["tapi"]))[:2] == ["t", 2]
