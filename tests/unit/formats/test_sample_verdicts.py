"""The verdict on every sample: a loop is found by its fourth call, health is NORMAL."""

from pathlib import Path

import orjson
import pytest

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.level import Level
from streams.core.domain.outcome import Scored
from streams.core.offline import judge
from streams.formats.reading import entries
from streams.formats.registry import BY_NAME

SAMPLES = Path(__file__).parents[2] / "samples"
LOOPING = 4
"""The call by which a loop is found."""


def found(path: Path, input_format: str) -> dict[str, tuple[list[str], bool, int | None, set[str]]]:
    """Return, by session: calls, whether one of them fails, the first call at LOOP, and the levels."""
    calls: dict[str, list[str]] = {}
    failing: dict[str, bool] = {}
    first: dict[str, int] = {}
    levels: dict[str, set[str]] = {}
    for judgement in judge(entries([str(path)], input_format), DEFAULTS):
        outcome = judgement.outcome
        assert isinstance(outcome, Scored)
        session, level = outcome.decision.session_id, outcome.enriched["eddy"]["verdict"]["level"]
        of_tool = outcome.decision.kind == "tool"
        calls.setdefault(session, []).extend(
            [f"{outcome.decision.action.get('tool_input')}"] if of_tool else []
        )
        failing[session] = failing.get(session, False) or (of_tool and outcome.decision.status == "failure")
        levels.setdefault(session, set()).add(level)
        if level == Level.LOOP:
            first.setdefault(session, len(calls[session]))
    return {each: (calls[each], failing[each], first.get(each), levels[each]) for each in calls}


def sources() -> list[object]:
    """Return each sample as it was captured, if its format is read, and as the records that come of it."""
    both: list[object] = []
    for rows in sorted(SAMPLES.glob("*/*.expected.jsonl")):
        name = rows.parent.name.replace("_", "-")
        both.append(pytest.param(rows, "jsonl", id=f"{name}-{rows.name}"))
        if name in BY_NAME:
            [path] = [path for path in rows.parent.glob(f"{rows.name.split('.')[0]}.*") if path != rows]
            both.append(pytest.param(path, "auto", id=f"{name}-{path.name}"))
    return both


@pytest.mark.parametrize(("path", "input_format"), sources())
def test_loops_are_found_in_time_and_healthy_sessions_are_normal(path: Path, input_format: str) -> None:
    sessions = found(path, input_format)
    assert sessions
    for session, (calls, failing, first, levels) in sessions.items():
        if len(calls) >= LOOPING and len(set(calls)) == 1:
            assert first == LOOPING, session
        else:
            # Different steps, or too few calls that fail.
            assert first is None, session
            assert failing or levels == {"NORMAL"}, session


def test_calls_without_captured_arguments_give_no_verdict(tmp_path: Path) -> None:
    given = orjson.loads((SAMPLES / "langsmith" / "loop.expected.jsonl").read_bytes().splitlines()[0])
    rows = []
    for number in range(12):
        action = {
            "tool_call": "search",
            "status": "success",
            "tool_input": f'{{"not_captured":"span-{number}"}}',
        }
        rows.append(given | {"event_id": f"t/{number}", "action": action})
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    [(_, _, first, levels)] = found(path, "auto").values()
    assert (first, levels) == (None, {"NORMAL"})
