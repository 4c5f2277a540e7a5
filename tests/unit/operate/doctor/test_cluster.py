"""What is concluded from what the brokers say."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from streams.core.domain.topic import Topic
from streams.kafka.client import Stored
from streams.kafka.survey import Ends, GroupOffsets, ServerAnswer
from streams.kafka.topic_identity import job_topics
from streams.operate.doctor.check import CheckStatus
from streams.operate.doctor.cluster import (
    age_checks,
    broker_checks,
    clock_check,
    detection_checks,
    group_checks,
    identity_checks,
    size_checks,
    topic_checks,
)
from streams.operate.doctor.state import Database
from streams.worker.state.store import FORMAT, StoreInspection
from topics.plan import ActualTopic, plan

CATALOGUE = job_topics("eddy", partitions=2, replicas=1)
ACTUAL = [ActualTopic(each.name, each.partitions, each.replicas, each.config) for each in CATALOGUE.topics]
INPUT = str(Topic.DECISION_LOGS)


def statuses(checks):
    return [check.status for check in checks]


def test_one_broker_of_several_that_does_not_answer_is_a_warning():
    refused = ServerAnswer("b:1", "refused", "look")
    assert statuses(broker_checks([refused])) == [CheckStatus.FAIL]
    assert statuses(broker_checks([refused, ServerAnswer("b:2")])) == [CheckStatus.WARN, CheckStatus.OK]


def test_topics_as_in_the_catalogue_are_fine():
    assert statuses(topic_checks(plan(CATALOGUE, ACTUAL))) == [CheckStatus.OK]


def test_a_missing_topic_is_a_failure_and_another_config_a_warning():
    changed = ActualTopic(ACTUAL[0].name, 2, 1, {**ACTUAL[0].config, "retention.ms": "1"})
    found = list(topic_checks(plan(CATALOGUE, [changed, *ACTUAL[2:]])))
    assert statuses(found) == [CheckStatus.FAIL, CheckStatus.WARN]
    assert found[0].said == f"missing: {ACTUAL[1].name}"
    assert "retention.ms 1 -> " in found[1].said


def test_a_topic_of_the_control_loop_that_is_missing_is_a_warning_as_workers_need_none():
    found = list(
        topic_checks(plan(CATALOGUE, [each for each in ACTUAL if each.name != Topic.SESSION_COMMAND_ACKS]))
    )
    assert statuses(found) == [CheckStatus.WARN]
    assert found[0].said.startswith("missing: session-command-acks; workers need none")


def test_fewer_replicas_than_wanted_are_a_warning():
    wanted = job_topics("eddy", partitions=2, replicas=3)
    found = list(topic_checks(plan(wanted, ACTUAL)))
    assert CheckStatus.FAIL not in statuses(found)
    assert [check.said.count("set EDDY_REPLICAS=1") for check in found] == [0, 1], "said once for all topics"
    assert all(check.said.count(f"{ACTUAL[0].name},") == 1 for check in found)


def settings(*documents):
    return [Stored(0, offset, 0, b"settings", document, ()) for offset, document in enumerate(documents)]


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ([], [CheckStatus.OK]),
        ([b"nonsense", orjson.dumps({"version": 1, "cycle_loop": 4})], [CheckStatus.WARN, CheckStatus.OK]),
        ([orjson.dumps({"version": 1, "cycle_loop": 0})], [CheckStatus.WARN]),
        ([orjson.dumps({"version": 1, "entropy_window_size": 4})], [CheckStatus.WARN]),
    ],
)
def test_settings_that_do_not_count_and_rules_that_cannot_fire_are_told(documents, expected):
    assert statuses(detection_checks(settings(*documents))) == expected


def test_a_clock_is_wrong_when_records_come_from_its_future():
    assert clock_check([], 0).status is CheckStatus.OK
    assert (
        clock_check([5_000, 90_000], 100_000).said == "the newest record is 10 s old by this machine's clock"
    )
    assert clock_check([100_000 + 60_001], 100_000).status is CheckStatus.WARN


def test_a_record_of_two_hours_ago_says_nothing_good_of_a_clock():
    assert (
        clock_check([0], 7_200_000).said
        == "not known: the newest record is 2.0 h old by this machine's clock, or the clock is ahead"
    )


def test_where_something_is_refused_nobody_is_told_to_apply():
    found = list(topic_checks(plan(job_topics("eddy", partitions=2, replicas=3), ACTUAL[1:])))
    assert [check.status for check in found][:1] == [CheckStatus.FAIL]
    assert "changes nothing before" in found[0].advice


def test_the_lag_is_told_and_nobody_at_work_is_a_warning():
    partitions = {(INPUT, 0): Ends(0, 10), (INPUT, 1): Ends(5, 25)}
    [found] = group_checks("eddy", GroupOffsets("Empty", 0, {(INPUT, 0): 10}), partitions)
    assert found.status is CheckStatus.WARN
    assert found.said == "eddy: 20 records behind, 20 of them in decision-logs[1]; no worker runs"
    [found] = group_checks("eddy", GroupOffsets("Stable", 2, {(INPUT, 0): 10, (INPUT, 1): 25}), partitions)
    assert (found.status, found.said) == (CheckStatus.OK, "eddy: 0 records behind; 2 workers, Stable")
    [found] = group_checks("eddy", GroupOffsets("unknown", None, {}), partitions)
    assert found.status is CheckStatus.OK


@pytest.mark.parametrize(("committed", "said"), [(26, "which ends at 25"), (4, "1 records are lost")])
def test_an_offset_that_the_topic_does_not_have_is_a_failure(committed, said):
    partitions = {(INPUT, 1): Ends(5, 25)}
    first, *_ = group_checks("eddy", GroupOffsets("Stable", 1, {(INPUT, 1): committed}), partitions)
    assert first.status is CheckStatus.FAIL
    assert said in first.said


@pytest.mark.parametrize(
    ("offset", "written_at", "held_by", "expected"),
    [
        (9, 1_000.0, None, []),
        (10, 1_000.0, None, [CheckStatus.FAIL]),
        (7, 900.0, None, [CheckStatus.WARN]),
        (8, 900.0, None, []),
        (9, 900.0, None, []),
        (7, 900.0, 17, []),
        (7, 950.0, None, []),
        (None, 1_000.0, None, []),
    ],
)
def test_state_that_does_not_fit_its_changelog_is_told(offset, written_at, held_by, expected):
    database = Database("sessions", 0, Path("0.db"), held_by, StoreInspection(FORMAT, offset, written_at))
    ends = {("eddy-sessions-changelog", 0): Ends(0, 10)}
    kept = {"eddy-sessions-changelog": 60_000}
    assert statuses(age_checks("eddy", [database], ends, kept, 1_001.0)) == expected


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
