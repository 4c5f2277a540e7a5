"""What topics.yaml gives is current, and one entry there adds a topic with its events."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams.core.errors import ConfigurationError
from topics.catalogue import TOPICS_FILE, Catalogue
from topics.derived import EVENT_MODULE, SCHEMA_MODULE, TOPIC_MODULE, derived
from topics.documents import DOCUMENTS, RIGHTS_DOCUMENT, TOPICS_DOCUMENT

ROOT = Path(__file__).parents[3]

TOY = """
  - name: toy-alerts-2
    role: output
    key: session_id
    value: ToyAlert
    value_schema: toy-alerts-2-value
    schema_number: 99
    events:
      - {kind: toy_alert, alert_family: true, id_fields: [phase, toy]}
      - {kind: toy_note}
    written_by: the job
    why: To be added by one entry.
    co_partitioned_with: decision-logs
    config:
      cleanup.policy: delete
      retention.ms: 129600000
"""

# Runs in the copy. Says in JSON what the product makes of the entry.
PROBE = """
import json
import streams
from schemas.numbers import SUBJECT_NUMBERS
from streams.core import pipeline
from streams.kafka.topic_identity import job_topics
from streams.core.detectors.repeat.detector import Repeat
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.event_kind import EventKind
from streams.core.domain.outcome import Finding
from streams.core.domain.record import Record
from streams.core.domain.topic import Topic
from streams.worker.options import JOB_FLOW
from streams.core.settings_document import resolve
from topics.plan import plan, render

class Robot(Repeat):
    def observe(self, *arguments):
        state, block, _ = super().observe(*arguments)
        told = {"phase": "seen", "toy": "robot"}
        return state, block, (Finding(EventKind.TOY_NOTE, {}), Finding(EventKind.TOY_ALERT, told))

pipeline.DETECTORS = tuple(Robot() if type(each) is Repeat else each for each in pipeline.DETECTORS)

def events(settings):
    log = {
        "session_id": "s",
        "event_id": "e",
        "meta": {"trace_id": "t", "timestamp": 0},
        "identity": {"agent_id": "a", "agent_type": "coder"},
        "action": {"status": "success", "tool_call": "search"},
    }
    decision = pipeline.admit(Record(3, 14, "s", None, log), settings)
    _, outcome = pipeline.step(None, decision, settings)
    return [[e.fields["id"], e.topic] for e in outcome.events if e.fields["event_type"].startswith("toy")]

def matched(topic):
    match topic:
        case Topic.TOY_ALERTS_2:
            return "matched"

quiet, refused = resolve({"alert_families": []}, DEFAULTS, 1)
assert not refused
planned = render(plan(job_topics("eddy", "staging.", partitions=4, replicas=1), ()))
print(json.dumps({
    "place": streams.__file__,
    "matched": matched(Topic("toy-alerts-2")),
    "families": DEFAULTS.alert_families,
    "written": JOB_FLOW.outputs,
    "events": events(DEFAULTS),
    "quiet": events(quiet),
    "planned": [line for line in planned if "toy" in line],
    "number": SUBJECT_NUMBERS["toy-alerts-2-value"],
}))
"""


@pytest.mark.parametrize("place", [TOPIC_MODULE, EVENT_MODULE, SCHEMA_MODULE, *DOCUMENTS])
def test_what_is_derived_is_current(place: str) -> None:
    found = (ROOT / place).read_text()
    documents = {path: (ROOT / path).read_text() for path in DOCUMENTS}
    assert found == derived(Catalogue.load(), documents)[place], f"{place} is old: run `python -m topics`"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source tree with one entry more in topics.yaml, after `python -m topics`."""
    place = tmp_path_factory.mktemp("copy")
    for package in ("streams", "schemas", "topics"):
        shutil.copytree(ROOT / package, place / package, ignore=shutil.ignore_patterns("__pycache__"))
    (place / "docs").mkdir()
    for document in DOCUMENTS:
        shutil.copy(ROOT / document, place / document)
    shutil.copy(ROOT / "pyproject.toml", place)
    with (place / "topics/topics.yaml").open("a") as file:
        file.write(TOY)
    run(place, "-m", "topics")
    return place


def run(copy: Path, *arguments: str) -> str:
    """Run Python in the copy and return what it prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def found(copy: Path) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run(copy, "-c", PROBE))
    assert Path(answer["place"]).is_relative_to(copy)
    return answer


def test_one_entry_gives_a_topic_its_name(found: dict[str, Any]) -> None:
    assert found["matched"] == "matched"


def test_one_entry_gives_events_their_routes_and_ids_in_order(found: dict[str, Any]) -> None:
    assert found["events"] == [
        ["s/3/14/toy_alert/seen/robot", "toy-alerts-2"],
        ["s/3/14/toy_note", "toy-alerts-2"],
    ]


def test_one_entry_lets_a_setting_switch_off_the_kind_that_says_so(found: dict[str, Any]) -> None:
    assert found["families"][-1] == "toy_alert"
    assert found["quiet"] == [["s/3/14/toy_alert/seen/robot", None], ["s/3/14/toy_note", "toy-alerts-2"]]


def test_one_entry_puts_a_topic_among_those_that_a_worker_checks_watches_and_writes(
    found: dict[str, Any],
) -> None:
    assert "toy-alerts-2" in found["written"]


def test_one_entry_is_planned_for_a_job(found: dict[str, Any]) -> None:
    assert found["planned"] == ["+ create staging.toy-alerts-2: 4 partitions, 1 replicas"]


def test_one_entry_gives_a_schema_its_number(found: dict[str, Any]) -> None:
    assert found["number"] == 99


def test_one_entry_gives_a_worker_the_right_to_write(copy: Path) -> None:
    lines = (copy / RIGHTS_DOCUMENT).read_text().splitlines()
    [written] = [line for line in lines if "`toy-alerts-2`" in line]
    assert written.endswith("| Write, DescribeConfigs |")


def test_one_entry_is_a_row_of_the_table_of_topics(copy: Path) -> None:
    row = "| `toy-alerts-2` | session_id | `toy_alert`, `toy_note` | 8 | 1.5 days | the job |"
    assert row in (copy / TOPICS_DOCUMENT).read_text().splitlines()


def test_what_one_entry_writes_keeps_the_style_of_the_code(copy: Path) -> None:
    modules = (TOPIC_MODULE, EVENT_MODULE, SCHEMA_MODULE)
    run(copy, "-m", "ruff", "format", "--no-cache", "--check", *modules)
    run(copy, "-m", "ruff", "check", "--no-cache", *modules)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"schema_number": 4}, "schema_number 4 is given twice"),
        ({"schema_number": None}, "toy-alerts-2 needs schema_number with value_schema"),
        ({"events": [{"kind": "budget"}]}, "budget is there twice"),
        ({"events": [{"kind": "Toy"}]}, "events.0.kind"),
        ({"role": "toy"}, "role"),
        ({"name": "entropy_alerts"}, "constant ENTROPY_ALERTS is given twice"),
        ({"name": "2fast"}, "2fast needs a constant of A to Z, 0 to 9 and _, not 2FAST"),
        ({"constant": "Toy"}, "toy-alerts-2 needs a constant"),
    ],
    ids=["number", "no number", "kind", "name of a kind", "role", "constant", "digit", "small letters"],
)
def test_an_entry_that_contradicts_another_is_refused(changed: dict[str, Any], problem: str) -> None:
    document = yaml.safe_load(TOPICS_FILE.read_text())
    document["topics"].append({**yaml.safe_load(TOY)[0], **changed})
    with pytest.raises(ConfigurationError, match=problem):
        Catalogue.from_document(document, "topics.yaml")


def test_a_role_with_one_topic_is_a_tuple_too() -> None:
    topics = [topic for topic in Catalogue.load().topics if topic.name != "agent-health"]
    module = derived(Catalogue(tuple(topics)), {})[TOPIC_MODULE]
    assert "AGGREGATES = (\n    Topic.TASK_PROFILES,\n)" in module
