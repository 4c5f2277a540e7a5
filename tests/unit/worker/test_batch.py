"""Settings tried out on a run: the differences fit their schema, and every other output is as without."""

import itertools
from collections.abc import Sequence

import orjson
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from schemas.codec import Codec, OutputFormat
from schemas.encoder import check_fields
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.record import Outgoing, RawKind, Unreadable
from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.domain.topic import Topic
from streams.core.pipeline import expire
from streams.core.policy.state_limits import StateLimit
from streams.core.settings_document import Shadow, resolve
from streams.kafka.client import Stored
from streams.operate.redrive.letter import read
from streams.worker.batch import Job
from streams.worker.dead_letter import record_size
from streams.worker.run_result import RunResult
from streams.worker.state.changelog import encode_session
from tests.integration.load import load
from tests.stream import decision_log
from tests.streams_strategy import CHANGES

JOB = Job(Codec.bundled(), group="g", version="1")
MESSAGES = [
    Stored(0, offset, record.timestamp, record.key, record.value, record.headers)
    for offset, (_, record) in enumerate(itertools.islice(load(1), 700))
]
FEW = MESSAGES[:250]


class Sessions(dict[str, Session]):
    """Sessions as the job wants them."""

    def put(self, session: Session, session_id: str) -> None:
        self[session_id] = session


def settings(**changes: object) -> DetectionSettings:
    return resolve(changes, DEFAULTS, 1)[0]


def folded(
    shadow: Shadow | None = None,
    sessions: Sessions | None = None,
    messages: Sequence[Stored] = MESSAGES,
    job: Job = JOB,
    settings: DetectionSettings = DEFAULTS,
) -> RunResult:
    found = RunResult()
    run = Run(Topic.DECISION_LOGS, 0, messages)
    job.fold(run, Sessions() if sessions is None else sessions, settings, found, shadow)
    return found


def differences(found: RunResult) -> list[Outgoing]:
    return found.outputs.get(Topic.SHADOW_DIFFERENCES, [])


def without_differences(found: RunResult) -> dict[str, list[Outgoing]]:
    return {topic: out for topic, out in found.outputs.items() if topic != Topic.SHADOW_DIFFERENCES}


@pytest.fixture(scope="module")
def live() -> dict[str, list[Outgoing]]:
    """Return what a few messages lead to without a trial."""
    return folded(messages=FEW).outputs


@examples(max_examples=30)
@given(CHANGES, st.integers(0, len(FEW)), st.integers(0, len(FEW)))
def test_a_trial_changes_no_other_output_whenever_it_begins_and_ends(
    live: dict[str, list[Outgoing]], changes: dict[str, object], one: int, other: int
) -> None:
    begin, end = sorted((one, other))
    shadow = Shadow(settings(**changes), since=begin)
    sessions = Sessions()
    whole: dict[str, list[Outgoing]] = {}
    parts = ((FEW[:begin], None), (FEW[begin:end], shadow), (FEW[end:], None))
    for messages, tried in parts:
        for topic, out in without_differences(folded(tried, sessions, messages)).items():
            whole.setdefault(topic, []).extend(out)
    assert whole == live


def test_a_difference_stands_under_the_key_and_time_of_its_record_and_fits_its_schema() -> None:
    json_job = Job(Codec.bundled(OutputFormat.JSON), group="g", version="1")
    shadow = Shadow(settings(entropy_window_size=3, max_future_ms=0), since=0)
    found = folded(shadow, job=json_job)
    by_offset = {message.offset: message for message in MESSAGES}
    kinds = set()
    for record in differences(found):
        fields = orjson.loads(record.value or b"")
        check_fields("shadow-differences-value", fields)
        source = by_offset[fields["offset"]]
        assert (record.key, record.timestamp) == (source.key, source.timestamp)
        assert fields["id"] == f"{fields['session_id']}/0/{fields['offset']}/shadow"
        kinds |= {each["field"] for each in fields["differences"]}
    # A record ahead of its time is one that the trial alone would have accepted.
    assert {"outcome", "severity", "node_state"} <= kinds
    assert len(differences(folded(shadow))) == len(differences(found))


def test_what_is_tried_out_is_counted_by_what_differs() -> None:
    found = folded(Shadow(settings(entropy_window_size=3), since=0))
    assert found.tried == found.scored > 0
    assert found.differences["severity"] <= len(differences(found)) < found.tried
    assert found.differences["severity"] > 0
    assert (folded().tried, folded().differences) == (0, {})


def test_each_record_again_tells_no_difference_again() -> None:
    sessions = Sessions()
    shadow = Shadow(settings(entropy_window_size=3), since=0)
    assert differences(folded(shadow, sessions))
    assert differences(folded(shadow, sessions)) == []


def test_a_trial_of_what_is_live_costs_no_byte_of_state() -> None:
    alone, beside = Sessions(), Sessions()
    folded(None, alone)
    found = folded(Shadow(settings(), since=0), beside)
    assert (differences(found), found.tried) == ([], found.scored)
    assert {name: encode_session(session) for name, session in beside.items()} == {
        name: encode_session(session) for name, session in alone.items()
    }


def test_a_record_is_late_when_it_finds_no_state_and_came_more_than_the_grace_after_its_time() -> None:
    sessions = Sessions()
    first = folded(sessions=sessions, messages=FEW[:1])
    until = orjson.loads(FEW[0].value or b"")["meta"]["timestamp"] + DEFAULTS.state_grace_ms
    assert (first.late(until), first.late(until + 1)) == (0, 1)
    again = folded(sessions=sessions, messages=[FEW[1]._replace(offset=1)])
    assert (again.scored, again.late(until + 1)) == (1, 0)


def test_no_record_is_late_when_sessions_stay_for_ever() -> None:
    found = RunResult()
    JOB.fold(Run(Topic.DECISION_LOGS, 0, FEW), Sessions(), settings(session_ttl_ms=0), found)
    assert found.scored
    assert found.late(2**63) == 0


def test_what_the_removal_of_a_session_tells_fits_its_schemas_and_has_the_time_of_its_end() -> None:
    sessions = Sessions()
    folded(sessions=sessions)
    found = RunResult()
    for session_id, session in sessions.items():
        JOB.expired(session_id, expire(session_id, session, DEFAULTS), 7, found)
    assert {record.timestamp for records in found.outputs.values() for record in records} == {7}
    assert {Topic.SESSION_ALERTS, Topic.TOPOLOGY, Topic.REPARTITION} <= found.outputs.keys()
    for topic in (Topic.SESSION_ALERTS, Topic.TOPOLOGY):
        decoder = Codec.bundled().decoder(f"{topic}-value")
        told = [decoder.decode(record.value, record.headers) for record in found.outputs[topic]]
        assert all(value["id"].endswith("/expired") for value in told)
    assert found.events.total() >= len(found.outputs[Topic.TOPOLOGY])


def job(**largest: int) -> Job:
    """Return a job whose topics take so many bytes, by the name in `Topic`."""
    limits = {Topic[name]: size for name, size in largest.items()}
    return Job(Codec.bundled(OutputFormat.JSON), group="g", version="1", largest=limits)


def test_a_record_whose_outputs_a_topic_does_not_take_is_a_dead_letter_and_changes_no_session() -> None:
    sessions = Sessions()
    found = folded(sessions=sessions, messages=FEW[:1], job=job(ENRICHED=500))
    assert set(found.outputs) == {Topic.DEAD_LETTERS}
    [letter] = found.outputs[Topic.DEAD_LETTERS]
    headers = dict(letter.headers)
    assert (letter.key, letter.value) == (FEW[0].key, FEW[0].value)
    assert headers["x-dlq-reason"] == b"oversize"
    assert b"decision-logs-enriched takes (500 bytes)" in headers["__streams.errors.message"]
    assert (found.scored, dict(found.dead_lettered)) == (0, {"oversize": 1})
    assert sessions == {}


def test_a_limit_on_one_topic_sets_aside_only_the_records_that_tell_something_there() -> None:
    every = folded(messages=FEW)
    found = folded(messages=FEW, job=job(TOPOLOGY=1))
    assert Topic.TOPOLOGY in every.outputs
    assert Topic.TOPOLOGY not in found.outputs
    assert 0 < found.dead_lettered["oversize"] < found.scored


def test_a_difference_that_its_topic_does_not_take_is_counted_and_changes_no_other_output() -> None:
    shadow = Shadow(settings(entropy_window_size=3), since=0)
    every = folded(shadow, messages=FEW, job=job())
    largest = max(map(record_size, differences(every))) - 1
    found = folded(shadow, messages=FEW, job=job(SHADOW_DIFFERENCES=largest))
    assert 0 < len(differences(found)) < len(differences(every))
    assert without_differences(found) == without_differences(every)
    assert (found.differences, found.dead_lettered) == (every.differences, every.dead_lettered)


WIDE = settings(entropy_window_size=1000, pattern_window=1000, verdict_window=1000)
CHANGELOG = "eddy-sessions-changelog"


def limited(most: int) -> Job:
    """Return a job that stores sessions of so many bytes."""
    limit = StateLimit(most, encode_session, CHANGELOG)
    return Job(Codec.bundled(OutputFormat.JSON), group="g", version="1", state_limit=limit)


def growing() -> list[Stored]:
    """Return records of one session, each with an intent of its own, and one in five as short as can be."""
    values = [decision_log("x" if at % 5 == 4 else f"{at:04}" * 50, number=at) for at in range(60)]
    return [Stored(0, at, -1, b"s1", orjson.dumps(value), []) for at, value in enumerate(values)]


def test_a_record_that_would_make_its_session_too_large_to_store_is_a_dead_letter() -> None:
    most, sessions, every = 5_580, Sessions(), Sessions()
    folded(sessions=every, messages=growing(), settings=WIDE)
    assert len(encode_session(every["s1"])) > 2 * most
    found = folded(sessions=sessions, messages=growing(), job=limited(most), settings=WIDE)
    assert most / 2 < len(encode_session(sessions["s1"])) <= most
    letters = found.outputs[Topic.DEAD_LETTERS]
    assert len(letters) == found.dead_lettered["oversize"] == 60 - found.scored
    headers = dict(letters[0].headers)
    assert headers["x-dlq-reason"] == b"oversize"
    assert headers["__streams.errors.message"].decode() == (
        f"with it the state of its session would be larger than {most} bytes, a quarter of what "
        f"{CHANGELOG} takes"
    )
    assert {letter.value for letter in letters} < {message.value for message in growing()}
    told = {orjson.loads(record.value or b"")["event_id"] for record in found.outputs[Topic.ENRICHED]}
    assert len(told) == found.scored
    # What the full session still has room for goes on to be scored.
    assert {"s1-e54", "s1-e59"} <= told
    assert "s1-e58" not in told


def test_where_the_settings_keep_states_small_none_is_measured() -> None:
    def measured(_session: Session) -> bytes:
        pytest.fail("it was measured")

    limit = StateLimit.of(8 << 20, measured, CHANGELOG)
    job = Job(Codec.bundled(OutputFormat.JSON), group="g", version="1", state_limit=limit)
    assert folded(Shadow(settings(entropy_window_size=3), since=0), job=job).scored > 0


def test_a_trial_that_needs_too_much_room_begins_anew_and_changes_nothing_else() -> None:
    shadow, sessions = Shadow(WIDE, since=0), Sessions()
    every = folded(shadow, messages=growing(), job=limited(1 << 20))
    found = folded(shadow, sessions, messages=growing(), job=limited(4_000))
    assert without_differences(found) == without_differences(every)
    assert (found.scored, found.dead_lettered) == (60, {})
    shadow_alone = sessions["s1"].shadow
    assert shadow_alone is not None
    assert len(encode_session(shadow_alone)) <= 4_000


@pytest.mark.parametrize("largest", [1_500, 5_000])
def test_a_letter_that_the_topic_does_not_take_is_cut_and_says_so(largest: int) -> None:
    message = FEW[0]._replace(value=b"\xff" * 9_000, headers=[("own", b"x" * 2_000)])
    [letter] = folded(messages=[message], job=job(DEAD_LETTERS=largest)).outputs[Topic.DEAD_LETTERS]
    assert record_size(letter) <= largest
    read_back = read(Stored(0, 0, 0, letter.key, letter.value, letter.headers))
    assert read_back.source == (Topic.DECISION_LOGS, 0, message.offset)
    assert read_back.reason == "undecodable"
    if largest == 5_000:
        assert (letter.key, read_back.headers) == (message.key, message.headers)
        assert 0 < len(letter.value or b"") < 9_000
        assert read_back.cut == "value 9000"
    else:
        assert (letter.key, letter.value, read_back.headers) == (None, b"", [])
        assert read_back.cut == f"value 9000, headers 1, key {len(message.key or b'')}"


def test_a_letter_that_the_topic_takes_is_whole() -> None:
    message = FEW[0]._replace(value=b"\xff" * 9_000)
    [letter] = folded(messages=[message], job=job(DEAD_LETTERS=20_000)).outputs[Topic.DEAD_LETTERS]
    assert letter.value == message.value
    assert read(Stored(0, 0, 0, letter.key, letter.value, letter.headers)).cut == ""


def test_what_no_client_reads_is_set_aside_among_the_others_in_their_order() -> None:
    unreadable = [
        Unreadable(1, 5, "a header", b"k", b"v", (("own", None),)),
        Unreadable(3, 5, "a batch", value=b"raw", raw=RawKind.BATCH),
        Unreadable(4, 5, "too large", batch_bytes=77, last=5),
        Unreadable(5, 5, "too large", batch_bytes=77, is_logged=False),
    ]
    bad = [Stored(0, offset, 5, b"k", b"bad", ()) for offset in (0, 2)]
    messages: list[Stored | Unreadable] = sorted([*unreadable, *bad], key=lambda message: message.offset)
    found = folded(messages=messages)
    assert found.dead_lettered == {"undecodable": 2, "unreadable": 2, "oversize": 2}
    letters = [
        read(Stored(0, 0, record.timestamp, record.key, record.value, record.headers))
        for record in found.outputs[Topic.DEAD_LETTERS]
    ]
    assert [
        (letter.source.offset, letter.reason, letter.value, letter.raw, letter.cut)
        for letter in letters
        if letter.source is not None
    ] == [
        (0, "undecodable", b"bad", "", ""),
        (1, "unreadable", b"v", "", ""),
        (2, "undecodable", b"bad", "", ""),
        (3, "unreadable", b"raw", "batch", ""),
        (4, "oversize", None, "", "batch 77"),
    ]
    assert list(letters[1].headers) == [("own", None)]


async def test_raw_bytes_ask_no_registry_for_a_schema() -> None:
    class Decoder:
        async def prepare(self, messages, progress):
            self.asked = list(messages)

    job = Job(Codec.bundled(), group="g", version="1")
    job._decoder = decoder = Decoder()
    raw = Unreadable(0, 5, "?", value=b"\0\0\0\0\7", raw=RawKind.BATCH)
    await job.prepare(Run(Topic.DECISION_LOGS, 0, [raw, Stored(0, 1, 5, b"k", b"v", ())]), lambda: None)
    assert decoder.asked == [(b"v", ())]
