"""Agents of real SDKs export spans to `eddy ingest --otlp`: one that loops is found, another is not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sources.door import open_door
from tests.sources.expected import SDKS, Sdk, by_session, check
from tests.sources.script import REPEATS
from tests.sources.sdk import run_agents

pytestmark = pytest.mark.sources


@pytest.fixture(scope="module", params=SDKS, ids=[each.name for each in SDKS])
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Sdk, Path]:
    """Let an agent loop and another work; return the file of the records."""
    folder = tmp_path_factory.mktemp("door")
    with open_door(folder) as endpoint:
        run_agents(request.param, endpoint)
    return request.param, folder / "out"


def test_each_call_is_a_record_with_what_the_agent_did(ran: tuple[Sdk, Path]) -> None:
    sdk, out = ran
    check(sdk, map(json.loads, out.read_text().splitlines()))


def test_the_agent_that_repeats_itself_loops_from_the_fourth_call_on_and_no_other_does(
    ran: tuple[Sdk, Path],
) -> None:
    sdk, out = ran
    judged = subprocess.run(
        [sys.executable, "-m", "streams", "detect", "--json", out], capture_output=True, text=True, check=True
    )
    lines = by_session(map(json.loads, judged.stdout.splitlines()))
    for session, script in check(sdk, map(json.loads, out.read_text().splitlines())).items():
        levels = [each["eddy"]["verdict"]["level"] for each in lines[session]]
        if script == "loops":
            assert levels[:REPEATS] == ["NORMAL", "NORMAL", "WARNING", *["LOOP"] * (REPEATS - 3)]
        else:
            assert set(levels) == {"NORMAL"}
