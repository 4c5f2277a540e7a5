"""Alerts that people call wrong: how often, what is proposed, and that the proposal would have been right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams.core.domain.topic import Topic
from streams.operate.label_precision import FEWEST_FOR_A_PROPOSAL
from tests.integration.stage import Stage
from tests.integration.test_limits_load import decision, keyed

pytestmark = pytest.mark.integration

CALLS = 8


def looping(session_id: str, tool: str, number: int) -> dict[str, object]:
    return decision(session_id, number, tool_call=tool, tool_input="the same", tool_output_summary="nothing")


async def test_ten_wrong_alerts_of_one_tool_lead_to_a_proposal_whose_backtest_is_right(
    stage: Stage, tmp_path: Path
) -> None:
    await stage.worker(checkpoint_s=0).ready()
    reports = [f"report-{number}" for number in range(FEWEST_FOR_A_PROPOSAL)]
    tools = {**dict.fromkeys(reports, "RunReport"), "bash-1": "Bash"}
    await stage.send(
        keyed(looping(session_id, tool, number), stage.partitions)
        for number in range(CALLS)
        for session_id, tool in tools.items()
    )
    await stage.processed()
    status, _, complained = await stage.attempt("evaluate", "--labels")
    assert (status, "Nobody has labelled an alert yet" in complained) == (2, True)
    for session_id in reports[:-1]:
        await stage.command("label", session_id, "not-a-loop", "--why", "It waits.")
    said = await stage.command("label", "bash-1", "loop")
    assert said == "bash-1: R1 about Bash is labelled loop.\n"
    assert json.loads(await stage.command("evaluate", "--labels", "--json"))["exempt"] == []

    await stage.command("label", reports[-1], "not-a-loop")
    proposal = tmp_path / "proposal.json"
    found = json.loads(await stage.command("evaluate", "--labels", "--json", "--propose", str(proposal)))
    assert found["exempt"] == ["runreport"]
    by_tool = {
        row["name"]: (row["right"], row["labelled"]) for row in found["precision"] if row["by"] == "tool"
    }
    assert by_tool == {"RunReport": (0, len(reports)), "Bash": (1, 1)}
    assert "| tool  | RunReport | 10       | 0.00 (0.00 to 0.28) |" in await stage.command(
        "evaluate", "--labels"
    )

    # Somebody looks again: what was said before does not count, and the session needs somebody.
    await stage.command("label", reports[0], "loop")
    assert json.loads(await stage.command("evaluate", "--labels", "--json"))["exempt"] == []

    lines = await stage.command(
        "backtest", "--topic", Topic.DECISION_LOGS, "--a", "live", "--b", str(proposal), "--json"
    )
    *sessions, _ = [json.loads(line) for line in lines.splitlines()]
    assert {each["session_id"] for each in sessions if each["differences"]} == set(reports)


async def test_a_session_without_an_alert_cannot_be_labelled(stage: Stage) -> None:
    status, _, complained = await stage.attempt("label", "s-nobody", "loop")
    assert status == 2
    assert "No alert of a loop of s-nobody" in complained
