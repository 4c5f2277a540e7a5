"""What the doctor says of offsets that brokers forget, and of the zone that records are read in."""

from dataclasses import replace
from pathlib import Path

import pytest

from streams.core.detectors.settings import DEFAULTS
from streams.kafka.survey import GroupOffsets
from streams.operate.doctor.check import CheckStatus
from streams.operate.doctor.cluster import lost_place_checks, retention_checks, zone_checks
from streams.operate.doctor.state import Database
from streams.worker.state.store import FORMAT, StoreInspection

WEEK_MINUTES, WEEK_MS = "10080", "604800000"


def database(partition: int, offset: int | None = 7, table: str = "sessions") -> Database:
    return Database(table, partition, Path(f"{partition}.db"), None, StoreInspection(FORMAT, offset, 0.0))


@pytest.mark.parametrize(
    ("records_ms", "status"),
    [(WEEK_MS, CheckStatus.OK), ("86400000", CheckStatus.OK), ("604800001", CheckStatus.WARN)],
)
def test_offsets_that_are_kept_as_long_as_records_are_fine(records_ms: str, status: CheckStatus) -> None:
    [found] = retention_checks(WEEK_MINUTES, records_ms, DEFAULTS)
    assert found.status is status


def test_offsets_that_are_forgotten_before_the_records_are_told_with_what_is_scored_again() -> None:
    [found] = retention_checks("1440", WEEK_MS, DEFAULTS)
    assert found.status is CheckStatus.WARN
    for words in ("24.0 h", "7.0 days", "have ended, or were silent for 2.0 days", "under the same ids"):
        assert words in found.said
    assert "offsets.retention.minutes of the brokers to 10080" in found.advice


def test_records_that_are_kept_for_ever_outlive_every_offset() -> None:
    [found] = retention_checks(WEEK_MINUTES, "-1", replace(DEFAULTS, session_ttl_ms=0))
    assert found.status is CheckStatus.WARN
    assert "keeps records for ever" in found.said
    assert "sessions that have ended before that" in found.said
    assert "as long as workers may be away" in found.advice


@pytest.mark.parametrize(("minutes", "ms"), [(None, WEEK_MS), (WEEK_MINUTES, None)])
def test_brokers_that_do_not_tell_are_no_failure(minutes: str | None, ms: str | None) -> None:
    [found] = retention_checks(minutes, ms, DEFAULTS)
    assert found.status is CheckStatus.OK
    assert "do not report" in found.said


def test_state_of_partitions_whose_offset_is_gone_is_told_while_no_worker_runs() -> None:
    committed = {("decision-logs", 0): 5}
    found = [database(0), database(3), database(1), database(2, None), database(4, table="aggregates")]
    [check] = lost_place_checks("eddy", GroupOffsets("Empty", 0, committed), found)
    assert check.status is CheckStatus.WARN
    assert "decision-logs[1, 3]" in check.said
    assert "--reset-offsets" in check.advice


@pytest.mark.parametrize("members", [1, None])
def test_a_group_that_is_about_to_commit_or_is_not_known_has_lost_nothing(members: int | None) -> None:
    assert list(lost_place_checks("eddy", GroupOffsets("Stable", members, {}), [database(1)])) == []


AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


@pytest.mark.parametrize(
    ("racks", "selector", "status", "words"),
    [
        (["a", "b"], AWARE, CheckStatus.OK, "read from the brokers in a"),
        (["a", "b"], None, CheckStatus.WARN, "do not report"),
        (["a", "b"], "", CheckStatus.WARN, "name only leaders"),
        (["b", None], AWARE, CheckStatus.WARN, "brokers are in b"),
        ([None, None], AWARE, CheckStatus.WARN, "no broker has a zone"),
    ],
)
def test_a_zone_in_which_nothing_can_be_read_is_told(
    racks: list[str | None], selector: str | None, status: CheckStatus, words: str
) -> None:
    [found] = zone_checks("a", racks, selector)
    assert found.status is status
    assert words in found.said


def test_without_a_zone_nothing_is_said_of_it() -> None:
    assert not list(zone_checks("", ["a"], AWARE))
