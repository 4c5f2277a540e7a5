"""An order to forget a session: what stood before it is gone, what comes behind it begins anew."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from schemas.codec import Codec, OutputFormat, Reason
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.erasure import (
    ERASED_FROM,
    HEADER,
    LONGEST_ORDER,
    NO_SESSION,
    PLACE,
    confirmed_by,
    order_record,
)
from streams.core.domain.record import Outgoing
from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.domain.topic import Topic
from streams.kafka.client import Stored
from streams.worker.batch import Job
from streams.worker.run_result import RunResult
from tests.unit.worker.test_batch import MESSAGES, Sessions

JOB = Job(Codec.bundled(OutputFormat.JSON), group="g", version="1")
#: The load without what is not acceptable, and without the orders in it.
RECORDS = [message for message in MESSAGES[:400] if message.value is not None and message.key is not None]
GONE = b"s4"
AT = RECORDS[-1].timestamp


def order(key: bytes = GONE, name: bytes = b"o-1") -> Outgoing:
    return Outgoing(key, None, AT, [(HEADER, name)])


def placed(records: Sequence[Stored | Outgoing]) -> list[Stored]:
    """Return records as they stand in a partition, one behind the other."""
    return [
        Stored(0, offset, each.timestamp, each.key, each.value, tuple(each.headers))
        for offset, each in enumerate(records)
    ]


def folded(messages: Sequence[Stored], sessions: Sessions | None = None) -> RunResult:
    found = RunResult()
    JOB.fold(
        Run(Topic.DECISION_LOGS, 0, messages), Sessions() if sessions is None else sessions, DEFAULTS, found
    )
    return found


def of(found: RunResult, key: bytes, *, from_offset: int = 0) -> list[tuple[str, Outgoing]]:
    """Return the outputs of a session that follow from records from an offset on."""
    return [
        (topic, record)
        for topic, records in sorted(found.outputs.items())
        for record in records
        if record.key == key
        and record.value is not None
        and topic in {Topic.ENRICHED, Topic.SESSION_ALERTS, Topic.TOPOLOGY, Topic.SESSION_BUDGETS}
        and _offset(record.value) >= from_offset
    ]


def of_others(found: RunResult, topic: Topic) -> list[Outgoing]:
    return [record for record in found.outputs.get(topic, ()) if record.key != GONE]


def _offset(value: bytes) -> int:
    fields = orjson.loads(value)
    return int(fields["offset"]) if "offset" in fields else int(fields["eddy"]["id"].split("/")[-2])


@examples(max_examples=12, deadline=None)
@given(st.integers(0, len(RECORDS)))
def test_a_session_goes_on_as_if_it_had_never_been_and_the_others_as_if_nothing_was(at: int) -> None:
    with_order = placed([*RECORDS[:at], order(), *RECORDS[at:]])
    found = folded(with_order)
    assert found.forgotten == 1
    assert of(found, GONE, from_offset=at) == of(folded(with_order[at + 1 :] or with_order[-1:]), GONE)
    without = folded(placed([*RECORDS[:at], order(b"nobody"), *RECORDS[at:]]))
    for topic in (Topic.ENRICHED, Topic.SESSION_ALERTS, Topic.DEAD_LETTERS):
        assert of_others(found, topic) == of_others(without, topic)


def test_the_state_is_a_stub_that_housekeeping_removes() -> None:
    sessions = Sessions()
    folded(placed([*RECORDS, order()]), sessions)
    assert sessions[GONE.decode()] == Session(0, len(RECORDS))


def test_the_compacted_topics_get_tombstones_that_name_the_order_and_its_place() -> None:
    found = folded(placed([*RECORDS, order()]))
    for topic in ERASED_FROM:
        last = found.outputs[topic][-1]
        assert (last.key, last.value, last.timestamp) == (GONE, None, AT)
        assert dict(last.headers) == {HEADER: b"o-1", PLACE: b"0/%d" % len(RECORDS)}


def test_an_open_loop_is_closed_once_and_counts_for_its_agent() -> None:
    sessions = Sessions()
    folded(placed(RECORDS), sessions)
    found = folded(placed([*RECORDS, order(), order()])[-2:], sessions)
    [closing] = [orjson.loads(each.value or b"") for each in found.outputs[Topic.SESSION_ALERTS]]
    assert (closing["phase"], closing["reason"]) == ("recovered", "terminal")
    assert closing["id"].endswith("/forgotten")
    assert found.events["loop_episode"] == len(found.episodes) == 1
    assert found.outputs[Topic.REPARTITION]
    assert found.forgotten == 2


def test_an_order_that_is_read_again_changes_nothing() -> None:
    sessions = Sessions()
    messages = placed([*RECORDS[:200], order(), *RECORDS[200:]])
    folded(messages, sessions)
    before = dict(sessions)
    again = folded(messages[200:], sessions)
    assert sessions == before
    assert again.scored == 0
    # Not even tombstones: they would bury what the session has said since.
    assert set(again.outputs) <= {Topic.DEAD_LETTERS}


def test_a_session_that_nobody_knows_leaves_no_state_behind() -> None:
    sessions = Sessions()
    assert folded(placed([order(b"nobody")]), sessions).forgotten == 1
    assert not sessions


def test_where_nothing_was_found_and_nothing_is_held_only_who_waits_hears_of_it() -> None:
    record = order_record("nobody", "o-1", AT, if_held=True)
    found = folded(placed([record]))
    assert {topic: [each.key for each in out] for topic, out in found.outputs.items()} == {
        Topic.TOPOLOGY: [NO_SESSION]
    }
    assert confirmed_by(placed(found.outputs[Topic.TOPOLOGY])[0]) == b"nobody"


def test_a_state_that_nobody_had_found_is_cleared_like_any_other() -> None:
    sessions = Sessions()
    found = folded(placed([*RECORDS, order_record(GONE.decode(), "o-1", AT, if_held=True)]), sessions)
    assert sessions[GONE.decode()].ended
    assert found.outputs[Topic.TOPOLOGY][-1].key == GONE


def test_a_damaged_session_is_forgotten_too() -> None:
    sessions = Sessions()
    folded(placed(RECORDS), sessions)
    held = sessions[GONE.decode()]
    sessions[GONE.decode()] = held._replace(states={**held.states, "verdict": ["no", "verdict"]})
    found = folded(placed([*RECORDS, order()])[-1:], sessions)
    assert sessions[GONE.decode()].ended
    assert Topic.SESSION_ALERTS not in found.outputs
    assert found.outputs[Topic.TOPOLOGY]


@pytest.mark.parametrize(
    "record",
    [
        order(name=b""),
        order(name=b"x" * (LONGEST_ORDER + 1)),
        order(key=b"\xff"),
        order(key=b""),
        Outgoing(GONE, None, AT),
        Outgoing(None, None, AT, [(HEADER, b"o-1")]),
    ],
)
def test_what_is_no_order_is_a_dead_letter(record: Outgoing) -> None:
    found = folded(placed([record]))
    assert (found.forgotten, dict(found.dead_lettered)) == (0, {Reason.NULL_VALUE: 1})


def test_a_value_makes_it_a_record_whatever_the_header_says() -> None:
    record = RECORDS[0]._replace(headers=((HEADER, b"o-1"),))
    assert folded(placed([record])).forgotten == 0


def test_no_order_is_made_for_an_id_that_no_record_can_have() -> None:
    with pytest.raises(UnicodeEncodeError):
        order_record("\ud800", "o-1", 0)
