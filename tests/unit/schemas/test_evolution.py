"""Every version of a subject reads every earlier one; versions of outputs read later ones as well."""

from __future__ import annotations

import copy

import pytest

from schemas.bundled import latest, versions
from schemas.codec import compatibility
from schemas.numbers import INPUT_SUBJECTS, SUBJECT_NUMBERS
from tests.unit.schemas.compatibility import IncompatibleError, check_reads

BACKWARD = [
    pytest.param(old.definition, new.definition, id=f"{old.name} by {new.version}")
    for subject in SUBJECT_NUMBERS
    for old in versions(subject)
    for new in versions(subject)
    if old.version <= new.version
]
FORWARD = [
    pytest.param(new.definition, old.definition, id=f"{new.name} by {old.version}")
    for subject in SUBJECT_NUMBERS
    if subject not in INPUT_SUBJECTS
    for old in versions(subject)
    for new in versions(subject)
    if old.version <= new.version
]


@pytest.mark.parametrize(("written_with", "read_with"), BACKWARD)
def test_later_versions_read_earlier_ones(written_with, read_with):
    check_reads(written_with, read_with)


@pytest.mark.parametrize(("written_with", "read_with"), FORWARD)
def test_earlier_versions_of_outputs_read_later_ones(written_with, read_with):
    check_reads(written_with, read_with)


@pytest.fixture
def alert():
    return copy.deepcopy(latest("entropy-alerts-value").definition)


def test_a_nullable_field_at_the_end_is_compatible_both_ways(alert):
    later = copy.deepcopy(alert)
    later["fields"].append({"name": "new", "type": ["null", "string"], "default": None})
    check_reads(alert, later)
    check_reads(later, alert)


def add_required(schema):
    schema["fields"].append({"name": "new", "type": "string"})


def change_type(schema):
    schema["fields"][0]["type"] = "long"


def rename_record(schema):
    schema["name"] = "Other"


@pytest.mark.parametrize("change", [add_required, change_type, rename_record])
def test_an_incompatible_later_version_is_found(alert, change):
    later = copy.deepcopy(alert)
    change(later)
    with pytest.raises(IncompatibleError):
        check_reads(alert, later)


def test_a_removed_required_field_breaks_earlier_readers_only(alert):
    later = copy.deepcopy(alert)
    del later["fields"][-1]
    check_reads(alert, later)
    with pytest.raises(IncompatibleError):
        check_reads(later, alert)


def test_the_rules_are_those_the_matrix_tests():
    for subject in SUBJECT_NUMBERS:
        wanted = "BACKWARD_TRANSITIVE" if subject in INPUT_SUBJECTS else "FULL_TRANSITIVE"
        assert compatibility(subject) == wanted
