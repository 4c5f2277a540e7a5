"""What a worker writes out of what agents wrote: all, hashes, nothing; and what a redactor takes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from schemas.codec import Codec, OutputFormat
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.event_kind import EventKind
from streams.core.domain.record import Outgoing
from streams.core.domain.run import Run
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError
from streams.formats.content import Content, hashed, redacted
from streams.kafka.client import Stored
from streams.worker.batch import Job
from streams.worker.run_result import RunResult
from streams.worker.state.changelog import encode_session
from streams.worker.wiring import redactor
from tests.integration.load import as_avro, as_json, decision
from tests.unit.worker.test_batch import MESSAGES, Sessions

SECRET = "kim@example.org"


def told(number: int, **action: Any) -> dict[str, Any]:
    """Return a record with the secret wherever an agent can write."""
    value = decision(f"s-{number % 2}", number, intent=f"write to {SECRET}", **action)
    value["cognition"] |= {"goal": SECRET, "reasoning_chain": [SECRET], "strategy_used": SECRET}
    value["action"] |= {
        "tool_call": "read_file",
        "tool_input": orjson.dumps({"to": SECRET, "many": [SECRET, 7]}).decode(),
        "target": SECRET,
        "content_hash": "h1",
        "tool_output_summary": f"sent to {SECRET}",
    }
    value["state_delta"] = {"added_to_memory": [SECRET], "progress_delta": 0.5, "tokens_consumed": 9}
    value["control"] = {"hitl_required": False, "interrupt_signal": f"see {SECRET}"}
    return value


RECORDS = [told(number) for number in range(24)]
STORED = [
    Stored(
        0,
        offset,
        value["meta"]["timestamp"],
        value["session_id"].encode(),
        as_avro(value) if offset % 2 else as_json(value),
        (),
    )
    for offset, value in enumerate(RECORDS)
]


def folded(
    job: Job, messages: list[Stored] = STORED, sessions: Sessions | None = None
) -> tuple[RunResult, Sessions]:
    found, held = RunResult(), Sessions() if sessions is None else sessions
    job.fold(Run(Topic.DECISION_LOGS, 0, messages), held, DEFAULTS, found)
    return found, held


def job(content: Content = Content.FULL, **more: Any) -> Job:
    return Job(Codec.bundled(OutputFormat.JSON), group="g", version="1", content=content, **more)


def values(found: RunResult, *, but: Topic | None = None) -> list[Any]:
    return [
        orjson.loads(record.value or b"")
        for topic, records in found.outputs.items()
        if topic not in {but, Topic.DEAD_LETTERS, Topic.REPARTITION}
        for record in records
    ]


@pytest.mark.parametrize("content", [Content.HASH, Content.NONE])
def test_no_text_of_an_agent_is_in_what_is_written_out(content: Content) -> None:
    full, less = values(folded(job())[0]), values(folded(job(content))[0])
    assert SECRET in orjson.dumps(full).decode()
    assert SECRET not in orjson.dumps(less).decode()
    assert {each["event_type"] for each in less if "event_type" in each} >= {
        EventKind.ENTROPY_ALERT,
        EventKind.DRIFT_PATTERN,
    }


@pytest.mark.parametrize("content", [Content.HASH, Content.NONE])
def test_what_eddy_says_and_what_it_remembers_is_the_same(content: Content) -> None:
    (full, sessions), (less, others) = folded(job()), folded(job(content))
    assert {name: encode_session(each) for name, each in sessions.items()} == {
        name: encode_session(each) for name, each in others.items()
    }
    assert (full.events, full.scored, full.outputs.keys()) == (less.events, less.scored, less.outputs.keys())
    for whole, part in zip(values(full), values(less), strict=True):
        assert _without_texts(whole) == _without_texts(part)


def _without_texts(value: Any, under: str = "") -> Any:
    """Return what is written without what `_texts` hide; numbers, names, ids and verdicts stay."""
    if isinstance(value, Mapping):
        hidden = {"intent", "goal", "reasoning_chain", "strategy_used", "tool_input", "target", "error"}
        hidden |= {"tool_output_summary", "added_to_memory", "interrupt_signal", "content_hash"}
        return {name: _without_texts(each, name) for name, each in value.items() if name not in hidden}
    return [_without_texts(each, under) for each in value] if isinstance(value, list) else value


def test_hashes_of_equal_texts_are_equal_and_numbers_stay() -> None:
    enriched = folded(job(Content.HASH))[0].outputs[Topic.ENRICHED]
    actions = [orjson.loads(each.value or b"")["action"] for each in enriched]
    for name in ("tool_input", "target", "tool_output_summary"):
        [text] = {action[name] for action in actions}
        assert text.startswith("h:")
    [action, *_] = actions
    assert action["content_hash"] == hashed("h1")
    first = orjson.loads(enriched[0].value or b"")
    assert first["state_delta"] == {
        **first["state_delta"],
        "progress_delta": 0.5,
        "tokens_consumed": 9,
        "added_to_memory": [],
    }
    assert first["cognition"]["goal"] is None


def test_every_kind_of_record_and_output_can_be_written_with_less() -> None:
    full, _ = folded(job(), MESSAGES)
    for content in (Content.HASH, Content.NONE):
        less, _ = folded(Job(Codec.bundled(), group="g", version="1", content=content), MESSAGES)
        assert (less.scored, less.events, less.dead_lettered) == (
            full.scored,
            full.events,
            full.dead_lettered,
        )


def mask(text: str) -> str:
    return text.replace(SECRET, "<EMAIL>")


def test_what_a_redactor_takes_out_is_neither_written_nor_remembered() -> None:
    found, sessions = folded(job(redact=mask))
    written = orjson.dumps(values(found)).decode()
    assert SECRET not in written
    assert SECRET.encode() not in b"".join(map(encode_session, sessions.values()))
    enriched = orjson.loads(found.outputs[Topic.ENRICHED][0].value or b"")
    assert enriched["cognition"]["intent"] == "write to <EMAIL>"
    assert orjson.loads(enriched["action"]["tool_input"]) == {"to": "<EMAIL>", "many": ["<EMAIL>", 7]}
    assert not found.unredacted


def test_a_redactor_that_finds_nothing_changes_no_output() -> None:
    plain, masked = folded(job())[0], folded(job(redact=lambda text: text))[0]
    assert {topic: list(map(_bytes, out)) for topic, out in plain.outputs.items()} == {
        topic: list(map(_bytes, out)) for topic, out in masked.outputs.items()
    }


def _bytes(record: Outgoing) -> tuple[object, ...]:
    return tuple(record[:3])


def fails_in_arguments(text: str) -> str:
    """Fail as a parser does, over a text that stands in arguments alone."""
    if text == SECRET:
        raise ValueError(text)
    return mask(text)


@pytest.mark.parametrize("wrong", [lambda text: text[10_000], lambda _: None, fails_in_arguments])
def test_where_a_redactor_fails_no_text_is_kept_and_the_job_goes_on(wrong: Any) -> None:
    found, sessions = folded(job(redact=wrong))
    assert found.unredacted.total() == found.scored == len(STORED)
    assert SECRET not in orjson.dumps(values(found)).decode()
    assert SECRET.encode() not in b"".join(map(encode_session, sessions.values()))
    assert not found.violations
    assert EventKind.LOOP_EPISODE not in found.events


def test_a_redactor_that_fails_raises_no_alarm_about_steps_that_differ() -> None:
    healthy = [
        decision("s-1", number, tool_call=f"tool-{number % 3}", tool_input=f'{{"file": "{number}.py"}}')
        | {"task_type": "api", "state_delta": {"progress_delta": 0.1, "tokens_consumed": 9}}
        for number in range(40)
    ]
    stored = [
        Stored(0, offset, value["meta"]["timestamp"], b"s-1", as_json(value), ())
        for offset, value in enumerate(healthy)
    ]
    plain, _ = folded(job(), stored)
    failing, _ = folded(job(redact=lambda text: text[10_000]), stored)
    assert failing.unredacted.total() == len(stored)
    assert failing.events == plain.events
    enriched = orjson.loads(failing.outputs[Topic.ENRICHED][-1].value or b"")
    assert (enriched["task_type"], enriched["state_delta"]["progress_delta"]) == ("api", 0.1)


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        ('{"n": 12345678901234567890123, "x": 1.0}', '{"n": 12345678901234567890123, "x": 1.0}'),
        ('{"a":NaN,"t":"kim\\u0040example.org"}', '{"a": NaN, "t": "<EMAIL>"}'),
        ('{"kim@example.org":1}', '{"<EMAIL>": 1}'),
        ('{"a":"kim@example.org","a":"x"}', '{"a":"<EMAIL>","a":"x"}'),
        ('{"cut": "kim\\u0040example.org and', '{"cut": "<EMAIL> and'),
        ('{"in": "{\\"to\\": \\"kim\\\\u0040example.org\\"}"}', '{"in": "{\\"to\\": \\"<EMAIL>\\"}"}'),
        ('{"odd": "\\ud800"}', '{"odd": "\\ud800"}'),
        ("[" * 3_000, "[" * 3_000),
        ('{"kim@example.org": 1, "<EMAIL>": 2}', '{"<EMAIL>": 1, "<EMAIL> 1": 2}'),
    ],
)
def test_arguments_of_any_form_lose_what_is_taken_out_and_nothing_else(arguments: str, left: str) -> None:
    record = {"action": {"tool_input": arguments}}
    assert redacted(record, mask)["action"]["tool_input"] == left


def test_texts_with_escaped_emoji_stay_valid_and_the_function_gets_valid_ones() -> None:
    def strict(text: str) -> str:
        text.encode()
        return mask(text)

    for before, after in (
        ('{"who": "\\ud83d\\ude00 kim@example.org"}', '{"who": "\U0001f600 <EMAIL>"}'),
        ("\\ud83d alone, kim@example.org", "\\ud83d alone, <EMAIL>"),
        ("\\ud83d\\ude00", "\\ud83d\\ude00"),
    ):
        record = {"action": {"tool_output_summary": before, "tool_input": '{"odd": "\\ud800"}'}}
        left = redacted(record, strict)["action"]
        assert left == {"tool_output_summary": after, "tool_input": '{"odd": "\\ud800"}'}


def test_a_signal_and_a_digest_that_an_agent_wrote_are_no_exception() -> None:
    token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    value = {**RECORDS[0], "control": {"hitl_required": True, "interrupt_signal": token}}
    stored = [STORED[0]._replace(value=as_json(value))]
    for content, digest in ((Content.NONE, None), (Content.HASH, hashed("h1"))):
        [record] = folded(job(content), stored)[0].outputs[Topic.ENRICHED]
        enriched = orjson.loads(record.value or b"")
        assert token not in orjson.dumps(enriched).decode()
        assert enriched["action"]["content_hash"] == digest
        assert enriched["control"]["hitl_required"] is True


def test_a_record_that_breaks_the_contract_is_refused_for_the_same_reasons() -> None:
    plain, masked = folded(job(), MESSAGES)[0], folded(job(redact=mask), MESSAGES)[0]
    assert masked.dead_lettered == plain.dead_lettered
    assert not masked.unredacted


def test_a_redactor_is_named_by_module_and_function() -> None:
    assert redactor("") is None
    assert redactor("tests.unit.worker.test_content:mask") is mask
    for name in ("tests.unit.worker.test_content:nobody", "no_such_module:mask", "os:sep"):
        with pytest.raises(ConfigurationError, match="EDDY_REDACTOR names"):
            redactor(name)
