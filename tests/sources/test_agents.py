"""Agents of real SDKs export spans to `eddy ingest --otlp`: one that loops is found, another is not."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.sources.script import ANSWER, REPEATS, SCRIPTS
from tests.sources.sdk import run_agent

pytestmark = pytest.mark.sources


class Sdk(NamedTuple):
    """What the spans of an SDK say."""

    name: str
    agent: str
    error: str = "cannot read config/settings.toml: permission denied"
    answers: tuple[str, ...] = (ANSWER,)
    bare: bool = False
    """Whether an only argument is its bare text."""


SDKS = [
    Sdk("pydantic_ai", agent="coder"),
    # Only the span that ends last names the agent. The error is hidden, and each text comes twice.
    Sdk(
        "openai_agents",
        agent="openai-agents",
        error="An error occurred while running the tool. Please try again.",
        answers=(f"{ANSWER}\n{ANSWER}",),
    ),
    Sdk("langgraph", agent="coder", bare=True),
    # By its default conventions, the last words stand in an event that means something else elsewhere.
    Sdk("strands", agent="strands", answers=()),
]


@contextmanager
def door(folder: Path) -> Iterator[str]:
    """Run `eddy ingest --otlp` for as long as the block lasts; yield the endpoint for exporters."""
    command = ["ingest", "--otlp", "127.0.0.1:0", "--out", folder / "out", "--state", folder / "state"]
    with subprocess.Popen(
        [sys.executable, "-m", "streams", *command],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(folder)},
    ) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            found = re.search(r"(http://\S+)/v1/traces", line)
            assert found, line
            yield found[1]
            process.send_signal(signal.SIGTERM)
            said = process.stderr.read()
            assert process.wait() == 0, said
            assert " 0 problems" in said
        finally:
            process.kill()


def by_session(lines: str) -> dict[str, list[Any]]:
    """Return the objects of JSON lines by their sessions."""
    sessions = defaultdict(list)
    for line in lines.splitlines():
        value = json.loads(line)
        sessions[value["session_id"]].append(value)
    return sessions


@pytest.fixture(scope="module", params=SDKS, ids=[each.name for each in SDKS])
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Sdk, Path]:
    """Let an agent loop and another work; return the file of the records."""
    folder = tmp_path_factory.mktemp("door")
    with door(folder) as endpoint:
        run_agent(request.param.name, list(SCRIPTS), endpoint)
    return request.param, folder / "out"


def test_each_call_is_a_record_with_what_the_agent_did(ran: tuple[Sdk, Path]) -> None:
    sdk, out = ran
    sessions = by_session(out.read_text())
    assert sessions.keys() == {"loops-1", "works-1"}
    for script, calls in SCRIPTS.items():
        records = sessions[f"{script}-1"]
        steps = [each["action"] for each in records if each["action"]["kind"] == "tool"]
        assert [each["tool_call"] for each in steps] == [call.tool for call in calls]
        arguments = [next(iter(call.arguments.values())) if sdk.bare else call.arguments for call in calls]
        given = [each["tool_input"] if sdk.bare else json.loads(each["tool_input"]) for each in steps]
        assert given == arguments
        last = [each["cognition"]["intent"] for each in records if each["action"]["kind"] == "llm"]
        assert last == list(sdk.answers)
        assert {each["identity"]["agent_id"] for each in records} == {sdk.agent}
        assert {each["state_delta"]["tokens_consumed"] for each in records} == {120}


def test_a_call_that_failed_says_so_and_why(ran: tuple[Sdk, Path]) -> None:
    sdk, out = ran
    records = by_session(out.read_text())["loops-1"][:REPEATS]
    assert [each["action"]["status"] for each in records] == ["failure"] * REPEATS
    assert {each["action"]["error"] for each in records} == {sdk.error}


def test_the_agent_that_repeats_itself_loops_from_the_third_call_on_and_the_other_never(
    ran: tuple[Sdk, Path],
) -> None:
    _, out = ran
    judged = subprocess.run(
        [sys.executable, "-m", "streams", "detect", "--json", out], capture_output=True, text=True, check=True
    )
    levels = {
        session: [each["eddy"]["verdict"]["level"] for each in lines]
        for session, lines in by_session(judged.stdout).items()
    }
    assert levels["loops-1"][:REPEATS] == ["NORMAL", "WARNING", *["LOOP"] * (REPEATS - 2)]
    assert set(levels["works-1"]) == {"NORMAL"}
