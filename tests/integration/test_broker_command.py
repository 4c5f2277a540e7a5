"""`eddy broker` and `eddy send`: a broker to try things on, and a loop by hand."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from streams.core.domain.topic import Topic
from streams.kafka.embedded.embedded import free_port
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until

pytestmark = pytest.mark.integration

CALL = {"session_id": "s-1", "action": {"tool_call": "search", "tool_input": '{"q": "x"}'}}


def written(tmp_path: Path, *lines: object) -> str:
    file = tmp_path / "records.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return str(file)


async def sent(stage: Stage) -> list[dict[str, Any]]:
    return [json.loads(each.value or b"") for each in await stage.read(Topic.DECISION_LOGS)]


async def test_what_a_record_leaves_out_is_filled_in_and_its_repeats_make_a_loop(
    stage: Stage, tmp_path: Path
) -> None:
    worker = await stage.worker().ready()
    said = await stage.command("send", written(tmp_path, CALL, ""), "--times", "6")
    assert said.startswith("6 records sent: decision-logs[")

    async def looped() -> bool:
        _, told, _ = await stage.attempt("explain", "s-1", "--topic")
        return "The session is considered looping" in told

    await until(looped, PATIENCE_SECONDS, "a loop", worker)
    records = await sent(stage)
    assert len({each["event_id"] for each in records}) == 6
    times = [each["meta"]["timestamp"] for each in records]
    assert [each - times[0] for each in times] == list(range(0, 6_000, 1_000))
    assert {each["action"]["tool_call"] for each in records} == {"search"}
    assert {each["action"]["status"] for each in records} == {"success"}


async def test_what_a_record_has_stays_and_repeats_differ_in_id_and_time(
    stage: Stage, tmp_path: Path
) -> None:
    given = {
        **CALL,
        "event_id": "e",
        "meta": {"trace_id": "t", "timestamp": 1_760_000_000_000},
        "identity": {"agent_id": "coder-7"},
    }
    await stage.command("send", written(tmp_path, given), "--times", "3")
    records = await sent(stage)
    assert [each["event_id"] for each in records] == ["e", "e-1", "e-2"]
    assert [each["meta"]["timestamp"] % 10_000 for each in records] == [0, 1_000, 2_000]
    assert {each["meta"]["trace_id"] for each in records} == {"t"}
    assert records[0]["identity"] == {"agent_id": "coder-7", "agent_type": "test"}


async def test_what_will_be_a_dead_letter_is_sent_and_said_once_for_each_session(
    stage: Stage, tmp_path: Path
) -> None:
    wrong = {"session_id": "s-2", "meta": 3, "action": {"status": "done"}}
    status, said, complained = await stage.attempt("send", written(tmp_path, wrong, CALL), "--times", "2")
    assert (status, said.split(":")[0]) == (0, "4 records sent")
    [line] = complained.splitlines()
    assert line == (
        "s-2 will be a dead letter: meta: a whole number is not an object; "
        "action.status: text of 4 characters is not one of failure, pending, skipped, success."
    )
    assert len(await sent(stage)) == 4


@pytest.mark.parametrize("line", ["{", "[1]", '{"session_id": 3}', '"s-1"'])
async def test_a_line_that_is_no_record_is_named_and_nothing_is_sent(
    stage: Stage, tmp_path: Path, line: str
) -> None:
    status, said, complained = await stage.attempt("send", written(tmp_path, CALL, line))
    assert (status, said) == (2, "")
    assert "Line 2 is no JSON" in complained
    assert await sent(stage) == []


async def test_a_broker_serves_until_it_is_stopped_and_a_second_one_names_the_port(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "streams", "broker", "--port", str(port), "--partitions", "2"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    (first := tmp_path / "first").mkdir()
    (second := tmp_path / "second").mkdir()
    running = WorkerProcess(command, first, environment)
    try:
        await until(lambda: "Ctrl-C ends it." in running.log, PATIENCE_SECONDS, "the broker", running)
        assert f"export EDDY_BOOTSTRAP_SERVERS=127.0.0.1:{port} " in running.log
        other = WorkerProcess(command, second, environment)
        try:
            assert await other.ended() == 2
            assert f"Something else listens on port {port}" in other.log
        finally:
            other.kill()
        running.terminate()
        assert await running.ended() == 0
    finally:
        running.kill()
