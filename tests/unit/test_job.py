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
from streams.domain.detection_settings import DEFAULTS, DetectionSettings
from streams.domain.outgoing import Outgoing
from streams.domain.run import Run
from streams.domain.session import Session
from streams.domain.settings_document import resolve
from streams.domain.shadow import Shadow
from streams.domain.topic import Topic
from streams.engine.changelog import encode_session
from streams.engine.client import Stored
from streams.job import Folded, Job
from tests.integration.load import load
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
) -> Folded:
    found = Folded()
    run = Run(Topic.DECISION_LOGS, 0, messages)
    job.fold(run, Sessions() if sessions is None else sessions, DEFAULTS, found, shadow)
    return found


def differences(found: Folded) -> list[Outgoing]:
    return found.outputs.get(Topic.SHADOW_DIFFERENCES, [])


def without_differences(found: Folded) -> dict[str, list[Outgoing]]:
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
