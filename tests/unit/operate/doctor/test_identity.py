"""What the doctor says of topics that are others than they were, or too small."""

from pathlib import Path

import pytest

from streams.operate.doctor.check import CheckStatus
from streams.operate.doctor.identity import identity_checks, size_checks
from streams.operate.doctor.state import Database
from streams.worker.state.store import FORMAT, StoreInspection
from topics.plan import ActualTopic


def database(changelog: str | None) -> Database:
    return Database("sessions", 0, Path("0.db"), None, StoreInspection(FORMAT, 7, 0.0, changelog))


def test_a_database_of_a_changelog_that_was_created_again_fails() -> None:
    [found] = identity_checks("eddy", [database("old")], {"eddy-sessions-changelog": "new"})
    assert found.status is CheckStatus.FAIL
    for words in ("0.db", "eddy-sessions-changelog", "old", "new"):
        assert words in found.said
    assert "delete the directory" in found.advice


@pytest.mark.parametrize(
    ("before", "now"), [("same", "same"), (None, "new"), ("old", None)], ids=["same", "unknown", "no ids"]
)
def test_a_database_of_the_changelog_there_is_or_of_an_unknown_one_is_fine(
    before: str | None, now: str | None
) -> None:
    assert list(identity_checks("eddy", [database(before)], {"eddy-sessions-changelog": now})) == []


def built(table: str, source: str | None) -> Database:
    """Return a database whose state was built from `decision-logs` with that id."""
    path = Path("/data/eddy") / table / "0.db"
    return Database(table, 0, path, None, StoreInspection(FORMAT, 7, 0.0), {"decision-logs": source})


@pytest.mark.parametrize("table", ["sessions", "aggregates"])
def test_a_database_of_an_input_that_was_created_again_fails(table: str) -> None:
    [found] = identity_checks("eddy", [built(table, "old")], {"decision-logs": "new"})
    assert found.status is CheckStatus.FAIL
    for words in (f"{table}/0.db", "decision-logs", "old", "new"):
        assert words in found.said
    for words in ("EDDY_APPLICATION_ID than eddy", "eddy-sessions-changelog", "here /data/eddy)"):
        assert words in found.advice


@pytest.mark.parametrize(("before", "now"), [("same", "same"), (None, "new"), ("old", None)])
def test_a_database_of_the_input_there_is_or_of_an_unknown_one_is_fine(
    before: str | None, now: str | None
) -> None:
    assert list(identity_checks("eddy", [built("sessions", before)], {"decision-logs": now})) == []


def test_all_databases_of_one_topic_are_one_finding() -> None:
    [found] = identity_checks("eddy", [built("sessions", "old")] * 24, {"decision-logs": "new"})
    assert "0.db (and 23 more) was built from decision-logs" in found.said


def topic(name: str, largest: int) -> ActualTopic:
    return ActualTopic(name, 1, 1, {"max.message.bytes": str(largest)})


@pytest.mark.parametrize(("letters", "warned"), [(1000, 1), (999, 1), (8000, 0)])
def test_a_topic_of_dead_letters_that_takes_no_more_than_the_input_is_told(letters: int, warned: int) -> None:
    found = list(size_checks([topic("decision-logs", 1000), topic("decision-logs-dlq", letters)]))
    assert [check.status for check in found] == [CheckStatus.WARN] * warned
