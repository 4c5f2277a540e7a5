"""The published schema files and their fixed ids."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import schemas
from schemas.bundled import JOB_SUBJECTS, OUTPUT_SUBJECTS, by_id, latest, versions
from schemas.numbers import CONTROL_SUBJECTS, INPUT_SUBJECTS, SUBJECT_NUMBERS

FOLDER = Path(schemas.__file__).parent
EVERY = [schema for subject in SUBJECT_NUMBERS for schema in versions(subject)]


def fields_of(definition):
    """Every (record, field) of a schema, nested ones too."""
    match definition:
        case {"type": "record", "fields": fields}:
            for field in fields:
                yield definition, field
                yield from fields_of(field["type"])
        case {"items": inner} | {"values": inner}:
            yield from fields_of(inner)
        case list():
            for branch in definition:
                yield from fields_of(branch)


def test_every_folder_of_schemas_is_a_subject():
    assert {path.parent.name for path in FOLDER.rglob("*.avsc")} == set(SUBJECT_NUMBERS)


@pytest.mark.parametrize("subject", SUBJECT_NUMBERS)
def test_versions_are_numbered_without_gaps(subject):
    assert [schema.version for schema in versions(subject)] == list(range(1, len(versions(subject)) + 1))


def test_ids_are_unique_and_stay():
    assert {id_: schema.name for id_, schema in by_id().items() if schema.version == 1} == {
        9001001: "decision-logs-value/1",
        9002001: "decision-logs-enriched-value/1",
        9003001: "entropy-alerts-value/1",
        9004001: "session-alerts-value/1",
        9005001: "topology-value/1",
        9006001: "session-budgets-value/1",
        9007001: "session-responses-value/1",
        9008001: "task-profiles-value/1",
        9009001: "agent-health-value/1",
        9010001: "shadow-differences-value/1",
        9011001: "session-commands-value/1",
        9012001: "session-command-acks-value/1",
        9013001: "console-actions-value/1",
    }
    assert len(by_id()) == len(EVERY)


def test_the_readme_lists_exactly_these_ids():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| (9\d{6}) \| `([^`]+)` \|", text, re.MULTILINE))
    assert listed == {str(id_): schema.name for id_, schema in by_id().items()}


@pytest.mark.parametrize("schema", EVERY, ids=lambda schema: schema.name)
def test_every_field_is_documented(schema):
    assert all(field.get("doc", "").endswith(".") for _, field in fields_of(schema.definition))


@pytest.mark.parametrize("schema", EVERY, ids=lambda schema: schema.name)
def test_every_record_is_documented_and_in_the_namespace(schema):
    assert schema.definition["namespace"] == "eddy"
    assert all(record.get("doc") for record, _ in fields_of(schema.definition))


@pytest.mark.parametrize("schema", EVERY, ids=lambda schema: schema.name)
def test_null_comes_first_and_is_the_default(schema):
    unions = [field for _, field in fields_of(schema.definition) if isinstance(field["type"], list)]
    assert all(field["type"][0] == "null" and field["default"] is None for field in unions)


def test_an_enriched_record_begins_as_a_decision_log():
    log, enriched = (latest(s).definition["fields"] for s in list(SUBJECT_NUMBERS)[:2])
    assert enriched[: len(log)] == log
    assert [field["name"] for field in enriched[len(log) :]] == ["eddy"]


def test_inputs_and_outputs_are_all_a_job_has():
    assert sorted([*INPUT_SUBJECTS, *OUTPUT_SUBJECTS]) == sorted(JOB_SUBJECTS)


def test_what_is_not_of_the_job_is_of_the_control_loop():
    assert sorted([*JOB_SUBJECTS, *CONTROL_SUBJECTS]) == sorted(SUBJECT_NUMBERS)


def test_an_unknown_subject_is_named():
    with pytest.raises(KeyError, match="nope"):
        latest("nope")
