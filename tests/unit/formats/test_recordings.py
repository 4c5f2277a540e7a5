"""The recordings: each shows what the catalogue says, and nothing else."""

import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from schemas.codec import Codec, UndecodableError
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.detectors.verdict.settings import RULES
from streams.core.domain.level import Level
from streams.core.domain.outcome import Rejected, Scored
from streams.core.offline import Judgement, judge
from streams.formats.reading import entries
from streams.formats.recordings.catalogue import RECORDINGS, Recording, messages

NAMES = [recording.name for recording in RECORDINGS]
ALERTS = {"entropy_alert", "divergence_suspected", "drift_pattern", "loop_episode"}


def judged(recording: Recording, settings: DetectionSettings = DEFAULTS) -> list[Judgement]:
    return list(judge(entries([str(recording.path)], recording.input_format), settings))


def findings(judgements: list[Judgement]) -> Counter[str]:
    return Counter(
        event.fields.get("pattern", event.fields["event_type"])
        for judgement in judgements
        if isinstance(judgement.outcome, Scored)
        for event in judgement.outcome.events
        if event.fields["event_type"] in ALERTS
    )


def levels(judgements: list[Judgement]) -> set[str]:
    """Those of the ratio and of the verdict."""
    blocks = [j.outcome.enriched["eddy"] for j in judgements if isinstance(j.outcome, Scored)]
    return {eddy["uniqueness"]["severity"] for eddy in blocks} | {eddy["verdict"]["level"] for eddy in blocks}


@pytest.mark.parametrize("recording", RECORDINGS, ids=NAMES)
def test_what_is_told_is_what_the_catalogue_says(recording: Recording) -> None:
    assert set(findings(judged(recording))) == recording.findings


@pytest.mark.parametrize("recording", RECORDINGS, ids=NAMES)
def test_records_and_refusals_are_as_many_as_the_catalogue_says(recording: Recording) -> None:
    judgements = judged(recording)
    rejected = [judgement for judgement in judgements if isinstance(judgement.outcome, Rejected)]
    assert (len(judgements), len(rejected)) == (recording.records, recording.rejected)


@pytest.mark.parametrize("recording", [r for r in RECORDINGS if not r.goes_in_circles], ids=lambda r: r.name)
def test_a_session_that_gets_on_never_reaches_loop(recording: Recording) -> None:
    assert Level.LOOP not in levels(judged(recording))


@pytest.mark.parametrize("recording", [r for r in RECORDINGS if r.goes_in_circles], ids=lambda r: r.name)
def test_every_loop_is_at_least_suspected(recording: Recording) -> None:
    assert findings(judged(recording))


@pytest.mark.parametrize(
    ("name", "rule", "at", "rules"),
    [
        ("read_loop", "R7", 9, RULES),
        ("same_call", "R1", 8, RULES),
        ("flip_flop", "R7", 16, RULES),
        ("flip_flop", "R2", 19, ("R2",)),
        ("paraphrased_loop", "R7", 13, RULES),
    ],
)
def test_the_verdict_names_its_rule_at_the_record_that_gives_it(
    name: str, rule: str, at: int, rules: tuple[str, ...]
) -> None:
    [recording] = [each for each in RECORDINGS if each.name == name]
    first = next(
        event.fields
        for judgement in judged(recording, replace(DEFAULTS, verdict_rules=rules))
        if isinstance(judgement.outcome, Scored)
        for event in judgement.outcome.events
        if event.fields["event_type"] == "loop_episode" and event.fields["level"] == Level.LOOP
    )
    assert (first["phase"], first["rule"], first["offset"] + 1) == ("escalated", rule, at)
    assert first["tokens_since_onset"] > 0
    assert first["cost_since_onset"] > 0


@pytest.mark.parametrize("recording", [r for r in RECORDINGS if r.name != "broken"], ids=lambda r: r.name)
def test_a_recording_is_one_session_of_one_agent_in_order_of_time(recording: Recording) -> None:
    values = [entry.value for entry in entries([str(recording.path)])]
    records = [value for value in values if value is not None]
    assert len({(record["session_id"], record["identity"]["agent_id"]) for record in records}) == 1
    assert len({record["event_id"] for record in records}) == len(records)
    times = [record["meta"]["timestamp"] for record in records]
    assert times == sorted(times)
    costs = [record["state_delta"]["cumulative_session_cost"] for record in records]
    assert costs == sorted(costs)


@pytest.mark.parametrize("recording", [r for r in RECORDINGS if r.name != "broken"], ids=lambda r: r.name)
def test_arguments_are_json_text(recording: Recording) -> None:
    texts = [
        entry.value["action"]["tool_input"]
        for entry in entries([str(recording.path)])
        if entry.value is not None and "tool_input" in entry.value["action"]
    ]
    assert texts
    assert all(isinstance(orjson.loads(text), dict) for text in texts)


def test_every_file_is_in_the_catalogue() -> None:
    folder = RECORDINGS[0].path.parent
    assert {path.stem for path in folder.glob("*.jsonl")} == set(NAMES)
    assert folder == Path(folder)


def test_a_replay_has_every_message_in_order_of_time() -> None:
    replayed = list(messages())
    assert len(replayed) == sum(recording.records for recording in RECORDINGS)
    times = [message.timestamp for message in replayed if message.timestamp is not None]
    assert len(times) == len(replayed)
    assert times == sorted(times)


def test_a_replay_is_the_same_each_time() -> None:
    assert list(messages()) == list(messages())


def test_a_replay_mixes_the_sessions() -> None:
    keys = [message.key for message in messages()]
    changes = sum(1 for one, other in itertools.pairwise(keys) if one != other)
    assert changes > len(keys) / 2
    assert len(set(keys[:60])) >= 8


def test_a_replay_can_begin_at_any_time_and_keeps_its_pace() -> None:
    recorded, moved = list(messages()), list(messages(first_timestamp=2_000_000_000_000))
    assert moved[0].timestamp == 2_000_000_000_000
    assert recorded[0].timestamp is not None
    shift = 2_000_000_000_000 - recorded[0].timestamp
    for before, after in zip(recorded, moved, strict=True):
        assert before.key == after.key
        assert before.timestamp is not None
        assert after.timestamp == before.timestamp + shift
    reported = [orjson.loads(message.value)["meta"]["timestamp"] for message in (recorded[0], moved[0])]
    assert reported[1] - reported[0] == shift


@pytest.mark.parametrize("first_timestamp", [None, 2_000_000_000_000])
def test_a_replay_tells_the_worker_what_the_files_tell(first_timestamp: int | None) -> None:
    decoder = Codec.bundled().decoder("decision-logs-value")
    undecodable = 0
    for message in messages(first_timestamp=first_timestamp):
        try:
            decoder.decode(message.value)
        except UndecodableError:
            undecodable += 1
    assert undecodable == 4


def test_a_part_of_the_recordings_can_be_replayed() -> None:
    loops = [recording for recording in RECORDINGS if recording.goes_in_circles]
    assert {message.key for message in messages(loops)} == {
        b"checkout-rounding-19aa",
        b"explain-billing-config-d4c2",
        b"circular-import-3b90",
        b"ticket-48213-refund",
        b"research-heatpump-77b0",
    }
