"""A detector needs its module and one line: with those, a copy of the source tree has it everywhere."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TOY = Path(__file__).parent / "toy_detector.py"
IMPORT = "from streams.core.detectors.echo import EchoSettings\n"
LINE = "    EchoSettings,\n"

# Runs in the copy. Says in JSON what the product makes of the new detector.
PROBE = """
import json
import streams
from streams.core.detectors.registry import DETECTORS
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.record import Record
from streams.core.domain.session import Session
from streams.core.pipeline import admit, step
from streams.core.policy.state_limits import most_bytes
from streams.core.proof import prove, warnings
from streams.core.settings_document import resolve, to_document

def log(number):
    return {
        "session_id": "s",
        "event_id": f"e{number}",
        "meta": {"trace_id": "t", "timestamp": number},
        "identity": {"agent_id": "a", "agent_type": "coder"},
        "cognition": {"intent": "again"},
        "action": {"status": "success", "tool_call": "search"},
    }

def run(settings, stored):
    blocks, session = [], None
    for number in range(4):
        decision = admit(Record(0, number, "s", None, log(number)), settings)
        session, outcome = step(session, decision, settings)
        blocks.append(outcome.enriched["eddy"]["echo"])
        if stored:
            session = Session.restore(json.loads(json.dumps(session.snapshot())))
    return blocks

settings, refused = resolve({"echo_limit": 2, "echo_window": 1}, DEFAULTS, 1)
strict, _ = resolve({"echo_limit": 2}, DEFAULTS, 1)
beyond, beyond_refused = resolve({"echo_limit": 7}, DEFAULTS, 1)
larger, _ = resolve({"echo_window": 7}, DEFAULTS, 1)
print(json.dumps({
    "place": streams.__file__,
    "order": [detector.name for detector in DETECTORS],
    "defaults": [DEFAULTS.echo_window, DEFAULTS.echo_limit, *list(to_document(DEFAULTS))[-2:]],
    "read": [strict.echo_limit, settings.echo_window],
    "refused": [[warning.setting, warning.problem] for warning in [*refused, *beyond_refused]],
    "blocks": run(strict, False),
    "stored": run(strict, True),
    "larger": most_bytes(larger) - most_bytes(DEFAULTS),
    "proofs": [[p.row.level, p.row.shortest, p.finding] for p in prove(strict) if p.row.rule == "T1"],
    "warnings": warnings(resolve({"score_statuses": []}, DEFAULTS, 1)[0])[-1],
}))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source tree with the toy and one line more (and its import)."""
    place = tmp_path_factory.mktemp("copy")
    for package in ("streams", "schemas", "topics"):
        shutil.copytree(ROOT / package, place / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(TOY, place / "streams/core/detectors/echo.py")
    for checks in ("checks/test_detectors.py", "stream.py", "streams_strategy.py"):
        (place / "tests" / checks).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "tests" / checks, place / "tests" / checks)
    shutil.copy(ROOT / "pyproject.toml", place)
    registration = place / "streams/core/detectors/settings.py"
    text = registration.read_text()
    head, found, tail = text.partition("):\n    ")
    assert found
    first_import = "from streams.core.detectors.loop.settings"
    assert first_import in head
    registration.write_text(head.replace(first_import, IMPORT + first_import) + LINE + found + tail)
    return place


def run(copy: Path, *arguments: str) -> str:
    """Run Python in the copy and return what it prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env={"PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def found(copy: Path) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run(copy, "-c", PROBE))
    assert Path(answer["place"]).is_relative_to(copy)
    return answer


def test_it_looks_after_the_detector_that_it_reads(found: dict[str, Any]) -> None:
    assert found["order"].index("echo") > found["order"].index("uniqueness")


def test_its_settings_are_read_from_a_document(found: dict[str, Any]) -> None:
    assert found["defaults"] == [6, 3, "echo_window", "echo_limit"]
    assert found["read"][0] == 2


def test_its_ranges_and_its_ordered_group_are_kept(found: dict[str, Any]) -> None:
    assert found["refused"] == [
        ["echo_window", "must be an integer from 2 to 1000"],
        ["echo_limit,echo_window", "must be in the order echo_limit <= echo_window"],
    ]


def test_its_settings_are_described(copy: Path) -> None:
    (line,) = run(copy, "-m", "streams", "config", "describe", "echo_limit", "--json").splitlines()
    assert json.loads(line) == {
        "name": "echo_limit",
        "meaning": "Equal intents in the window that are an echo.",
        "default": 3,
        "must_be": "an integer from 2 to 1000",
    }


def test_its_block_is_in_the_enriched_record_and_its_state_survives_storage(found: dict[str, Any]) -> None:
    counts = [(block["count"], block["echo"]) for block in found["blocks"]]
    assert counts == [(1, False), (2, True), (3, False), (4, False)]
    assert found["stored"] == found["blocks"]


def test_its_window_counts_in_the_bound_of_a_state(found: dict[str, Any]) -> None:
    assert found["larger"] == 6 * 1024 + 22


def test_its_rule_is_proven_and_a_setting_in_the_way_is_named(found: dict[str, Any]) -> None:
    assert found["proofs"] == [["WARNING", 2, "proven"]]
    assert found["warnings"] == "T1 can never reach WARNING: score_statuses is empty: no record is scored"


def test_config_explain_shows_its_witness(copy: Path) -> None:
    shown = run(copy, "-m", "streams", "config", "explain", "T1", "--settings", "defaults")
    assert "T1 WARNING fires at record 3" in shown
    assert "once more" in shown


def test_an_explanation_says_what_fired_what_it_scores_and_how_near_it_is(copy: Path) -> None:
    log = {
        "session_id": "s",
        "meta": {"trace_id": "t", "timestamp": 0},
        "identity": {"agent_id": "a", "agent_type": "coder"},
        "cognition": {"intent": "again"},
        "action": {"status": "success", "tool_call": "search"},
    }
    file = copy / "session.jsonl"
    file.write_text("".join(json.dumps({**log, "event_id": f"e{number}"}) + "\n" for number in range(3)))
    shown = run(copy, "-m", "streams", "explain", "s", str(file))
    assert "  T1 WARNING  offset 2: count 3, search\n" in shown
    assert "  echo       the newest intent came 3 times\n" in shown
    standing = json.loads(run(copy, "-m", "streams", "explain", "s", "--json", str(file)))["standing"]
    assert standing["scores"]["echo"] == {"count": 3}
    [rule] = [rule for rule in standing["rules"] if rule["rule"] == "T1"]
    assert (rule["count"], rule["warn"], rule["level"]) == (3, 3, "WARNING")


def test_the_checks_of_every_detector_pass_for_it(copy: Path) -> None:
    checks = "tests/checks/test_detectors.py"
    said = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "echo", checks)
    assert " passed" in said
