"""What topics.yaml gives is current, and one entry there adds a topic with an event."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams.errors import ConfigurationError
from topics.catalogue import TOPICS_FILE, Catalogue
from topics.derived import (
    EVENT_MODULE,
    RIGHTS_DOCUMENT,
    SCHEMA_MODULE,
    TOPIC_MODULE,
    derived,
    rights,
)
from topics.plan import CreateTopic, plan

ROOT = Path(__file__).parents[3]
DOCUMENTS = {RIGHTS_DOCUMENT: (ROOT / RIGHTS_DOCUMENT).read_text()}

TOY = """
- name: toy-alerts
  role: output
  key: session_id
  value: ToyAlert
  value_schema: toy-alerts-value
  schema_number: 99
  events:
    - {kind: toy_alert, alert_family: true, id_fields: [phase, toy]}
  written_by: the job
  why: To be added by one entry.
  co_partitioned_with: decision-logs
  config:
    cleanup.policy: delete
"""


@pytest.mark.parametrize("place", [TOPIC_MODULE, EVENT_MODULE, SCHEMA_MODULE, RIGHTS_DOCUMENT])
def test_what_is_derived_is_current(place: str) -> None:
    found = (ROOT / place).read_text()
    assert found == derived(Catalogue.load(), DOCUMENTS)[place], f"{place} is old: run `python -m topics`"


@pytest.fixture
def with_toy() -> Catalogue:
    document = yaml.safe_load(TOPICS_FILE.read_text())
    document["topics"] += yaml.safe_load(TOY)
    return Catalogue.from_document(document, "topics.yaml")


def run(name: str, text: str) -> Any:
    module = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)  # as Python would import it
    return module


@pytest.fixture
def modules(with_toy: Catalogue, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The derived modules of a catalogue with the toy topic, by their paths."""
    texts = derived(with_toy, DOCUMENTS)
    topic = run("streams.domain.topic", texts[TOPIC_MODULE])
    monkeypatch.setitem(sys.modules, "streams.domain.topic", topic)
    event = run("streams.domain.event_kind", texts[EVENT_MODULE])
    return {TOPIC_MODULE: topic, EVENT_MODULE: event, SCHEMA_MODULE: run("numbers", texts[SCHEMA_MODULE])}


def test_one_entry_gives_a_topic_its_name_and_its_place_among_the_outputs(modules: dict[str, Any]) -> None:
    topic = modules[TOPIC_MODULE]
    assert topic.Topic.TOY_ALERTS == "toy-alerts"
    assert topic.OUTPUTS[-1] is topic.Topic.TOY_ALERTS


def test_one_entry_gives_an_event_its_kind_its_route_and_its_id(modules: dict[str, Any]) -> None:
    event = modules[EVENT_MODULE]
    kind = event.EventKind.TOY_ALERT
    assert kind == "toy_alert"
    assert event.TOPIC_OF[kind] == "toy-alerts"
    assert kind in event.ALERT_FAMILIES
    assert event.ID_FIELDS[kind] == ("phase", "toy")


def test_one_entry_gives_a_schema_its_number(modules: dict[str, Any]) -> None:
    assert modules[SCHEMA_MODULE].SUBJECT_NUMBERS["toy-alerts-value"] == 99


def test_one_entry_gives_a_worker_the_right_to_write(with_toy: Catalogue) -> None:
    [written] = [
        line
        for line in rights(with_toy.topics)
        if "Write, DescribeConfigs" in line and "prefixed" not in line
    ]
    assert "`toy-alerts`" in written


def test_one_entry_is_planned(with_toy: Catalogue) -> None:
    changes = plan(with_toy, ())
    assert "toy-alerts" in [change.topic.name for change in changes if isinstance(change, CreateTopic)]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"schema_number": 4}, "schema_number 4 is given twice"),
        ({"schema_number": None}, "toy-alerts needs schema_number with value_schema"),
        ({"events": [{"kind": "budget"}]}, "budget is there twice"),
        ({"events": [{"kind": "Toy"}]}, "events.0.kind"),
        ({"role": "toy"}, "role"),
    ],
    ids=["number", "no number", "kind", "name of a kind", "role"],
)
def test_an_entry_that_contradicts_another_is_refused(changed: dict[str, Any], problem: str) -> None:
    document = yaml.safe_load(TOPICS_FILE.read_text())
    document["topics"].append({**yaml.safe_load(TOY)[0], **changed})
    with pytest.raises(ConfigurationError, match=problem):
        Catalogue.from_document(document, "topics.yaml")


def test_a_document_without_the_place_for_the_rights_is_an_error() -> None:
    with pytest.raises(ValueError, match="has 0 tables of rights"):
        derived(Catalogue.load(), {RIGHTS_DOCUMENT: "no table"})
