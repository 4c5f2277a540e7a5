"""Records judged together, a detector at a time, are judged as one after another: outputs, states, errors."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from schemas.codec import Codec, OutputFormat
from streams.core.detectors.registry import DETECTORS
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.decision import Decision
from streams.core.domain.outcome import Rejected
from streams.core.domain.record import Unreadable
from streams.core.domain.run import Message, Run
from streams.core.domain.session import DamagedSessionError, Session
from streams.core.domain.topic import Topic
from streams.core.pipeline import admit, step, steps
from streams.core.policy.state_limits import StateLimit
from streams.core.settings_document import Shadow, resolve
from streams.kafka.client import Stored
from streams.worker.batch import Job
from streams.worker.dead_letter import record_size
from streams.worker.run_result import RunResult
from streams.worker.state.changelog import decode_session, encode_session
from tests.property.test_pipeline_properties import written
from tests.stream import START_MS, Stream
from tests.streams_strategy import CHANGES, Change, Entry, Send, partitions

JOB = Job(Codec.bundled(OutputFormat.JSON), group="g", version="1")


class Sessions(dict[str, Session]):
    """Sessions as the job wants them."""

    def put(self, session: Session, session_id: str) -> None:
        self[session_id] = session

    def stored(self) -> dict[str, bytes]:
        return {name: encode_session(session) for name, session in self.items()}


def admitted(sends: Iterable[Send], settings: DetectionSettings) -> list[Decision]:
    """Return the records that are accepted, as if just decoded."""
    stream = Stream()
    found = []
    for entry in sends:
        record = stream.record(deepcopy(entry.value), partition=entry.partition, offset=entry.offset)
        decision = admit(record, settings)
        if not isinstance(decision, Rejected):
            found.append(decision)
    return found


def runs(entries: list[Entry], cuts: set[int]) -> Iterator[tuple[list[Send], DetectionSettings]]:
    """Yield the records between changes of the settings, cut further, with the settings in force."""
    stream, run = Stream(), list[Send]()
    for at, entry in enumerate(entries):
        if run and (at in cuts or isinstance(entry, Change)):
            yield run, stream.settings
            run = []
        if isinstance(entry, Change):
            stream.set(**entry.settings)
        else:
            run.append(entry)
    yield run, stream.settings


def again_and_again(data: st.DataObject, run: list[Send]) -> list[Send]:
    """Return a run in which some records come a second time, in the middle or at the end."""
    repeated = data.draw(st.lists(st.sampled_from(run), max_size=3)) if run else []
    for entry in repeated:
        run = run[:]
        run.insert(data.draw(st.integers(0, len(run))), entry)
    return run


@given(partitions(sessions=4), st.data())
def test_a_detector_at_a_time_is_a_record_at_a_time(entries: list[Entry], data: st.DataObject) -> None:
    cuts = data.draw(st.sets(st.integers(0, len(entries)), max_size=4))
    one_by_one, together = Sessions(), Sessions()
    for run, settings in runs(entries, cuts):
        sends = again_and_again(data, run)
        done = steps(together.get, admitted(sends, settings), settings)
        expected = []
        for decision in admitted(sends, settings):
            each = step(one_by_one.get(decision.session_id), decision, settings)
            expected.append(each)
            one_by_one[decision.session_id] = each.session
        together.update({each.outcome.decision.session_id: each.session for each in done})
        assert [written(each.outcome) for each in done] == [written(each.outcome) for each in expected]
        assert [encode_session(each.session) for each in done] == [
            encode_session(each.session) for each in expected
        ]
        assert together.stored() == one_by_one.stored()
        if data.draw(st.booleans()):
            together = Sessions({name: decode_session(each) for name, each in together.stored().items()})


@given(partitions(sessions=3), st.data())
def test_damaged_state_is_found_and_blamed_as_in_a_record_at_a_time(
    entries: list[Entry], data: st.DataObject
) -> None:
    decisions = admitted([entry for entry in entries if isinstance(entry, Send)], DEFAULTS)
    held = Sessions()
    half = len(decisions) // 2
    for decision in decisions[:half]:
        held[decision.session_id] = step(held.get(decision.session_id), decision, DEFAULTS).session
    for name in data.draw(st.sets(st.sampled_from(sorted(held) or ["s1"]))):
        if name in held and not held[name].ended:
            snapshot = orjson.loads(encode_session(held[name]))
            detector = data.draw(st.sampled_from(DETECTORS)).name
            snapshot[9][detector] = data.draw(st.sampled_from([[None] * 30, [], [3], ["x", {}, 1]]))
            held[name] = decode_session(orjson.dumps(snapshot))

    def one_by_one() -> Iterator[Any]:
        sessions = Sessions(held)
        for decision in decisions[half:]:
            sessions[decision.session_id], outcome = step(
                sessions.get(decision.session_id), decision, DEFAULTS
            )
            yield written(outcome)

    def together() -> Iterator[Any]:
        for each in steps(held.get, decisions[half:], DEFAULTS):
            yield written(each.outcome)

    assert outcome_of(together) == outcome_of(one_by_one)


def outcome_of(judging: Any) -> list[bytes] | str:
    """Return what judging comes to: all outcomes, or the error."""
    try:
        return [*judging()]
    except DamagedSessionError as error:
        return str(error)


def message(entry: Send, partition_offset: int) -> Message:
    """Return a record as it comes from the broker; some times lie ahead of it."""
    value = orjson.dumps(entry.value)
    return Stored(
        0, partition_offset, START_MS + 3_600_000, str(entry.value.get("session_id")).encode(), value, ()
    )


def spoilt(data: st.DataObject, messages: list[Message]) -> list[Message]:
    """Put records between the others that cannot be read or decoded."""
    for offset, each in enumerate(messages):
        how = data.draw(st.integers(0, 19))
        if how == 0:
            messages[offset] = Unreadable(each.offset, each.timestamp, "damaged", is_logged=offset % 2 == 0)
        elif how == 1:
            messages[offset] = Stored(0, each.offset, each.timestamp, each.key, b"{", ())
    return messages


def folded(
    job: Job,
    runs: Iterable[list[Message]],
    settings: DetectionSettings,
    shadow: Shadow | None,
    sessions: Sessions,
) -> RunResult:
    found = RunResult()
    for run in runs:
        job.fold(Run(Topic.DECISION_LOGS, 0, run), sessions, settings, found, shadow)
    return found


@given(partitions(sessions=4), CHANGES, st.none() | CHANGES, st.data())
def test_how_records_are_cut_into_runs_changes_nothing_that_a_job_does(
    entries: list[Entry], changes: dict[str, Any], tried: dict[str, Any] | None, data: st.DataObject
) -> None:
    settings = resolve(changes, DEFAULTS, 1)[0]
    shadow = None if tried is None else Shadow(resolve(tried, DEFAULTS, 2)[0], since=0)
    sends = again_and_again(data, [entry for entry in entries if isinstance(entry, Send)])
    messages = spoilt(data, [message(entry, number) for number, entry in enumerate(sends)])
    job, singly = data.draw(st.sampled_from([JOB, limited(messages)])), [[each] for each in messages]
    alone, beside = Sessions(), Sessions()
    one = folded(job, singly, settings, shadow, alone)
    other = folded(job, [messages], settings, shadow, beside)
    assert other == one
    assert list(other.outputs) == list(one.outputs)
    assert beside.stored() == alone.stored()


def limited(messages: list[Message]) -> Job:
    """Return a job whose topics, and whose state, take only what is not unusually large."""
    sizes = sorted(
        record_size(out)
        for topic, records in folded(JOB, [messages], DEFAULTS, None, Sessions()).outputs.items()
        if topic == Topic.ENRICHED
        for out in records
    )
    largest = sizes[len(sizes) * 2 // 3] if sizes else 1_000_000
    limit = StateLimit(3_000, encode_session, "the changelog")
    return Job(
        Codec.bundled(OutputFormat.JSON),
        group="g",
        version="1",
        largest={Topic.ENRICHED: largest},
        state_limit=limit,
    )
