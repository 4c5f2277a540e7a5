"""What a worker counts: the documented names and nothing else, by the run."""

import re
from collections import Counter

import pytest
from prometheus_client.parser import text_string_to_metric_families

from schemas.codec import Reason
from streams.core.domain.event_kind import EventKind
from streams.observe import engine_counts, episode_counts
from streams.observe.engine_counts import Readings
from streams.worker import job_metrics as documented
from streams.worker.aggregation import Tallied
from streams.worker.job_metrics import WorkerMetrics
from streams.worker.run_result import RunResult


def folded() -> RunResult:
    return RunResult(
        scored=5,
        duplicates=2,
        dead_lettered=Counter({Reason.UNKNOWN_SCHEMA: 1, Reason.UNDECODABLE: 3}),
        events=Counter({EventKind.ENTROPY_ALERT: 4, EventKind.NODE_STATE: 5}),
        tried=5,
        in_time_until=[1, 2**62],
        differences=Counter({"severity": 2, "events": 3}),
        episodes=[episode("opened", tokens=0), episode("recovered", tokens=900, cost=0.25)],
    )


def episode(phase: str, agent: str | None = "coder-7", tokens: int = 0, cost: float | None = None) -> dict:
    return {
        "event_type": EventKind.LOOP_EPISODE,
        "phase": phase,
        "agent_id": agent,
        "tokens_since_onset": tokens,
        "cost_since_onset": cost,
    }


@pytest.fixture
def metrics() -> WorkerMetrics:
    """Return metrics in which everything has happened once."""
    metrics = WorkerMetrics("1.2.3")
    metrics.epoch(0, folded(), 0.25, 0.5)
    metrics.restored("sessions", 1000, 1.5)
    metrics.followed("sessions", 30)
    metrics.standby_failed()
    metrics.set_aside("sessions")
    metrics.lost("decision-logs", 3, 7)
    metrics.redated("decision-logs-enriched", 2)
    metrics.tallied(Tallied(counted=6, repeated=1), 0.125)
    metrics.searched(1_000, 0.0015)
    metrics.removed("expired", 3, {EventKind.NODE_STATE: 2}, [episode("recovered", tokens=100)])
    metrics.watch(
        Readings(
            lags=lambda: {("decision-logs", 3): 42},
            waiting=lambda: {("decision-logs", 3): 5},
            sizes=lambda: {("sessions", 3): 17},
            unwritten=lambda: {("sessions", 3): 4},
            standby_lags=lambda: {("sessions", 4): 0.75},
            settings_versions=lambda: {3: 8},
            shadow_versions=lambda: {3: 2},
            brokers=lambda: (2, 3),
            broker_silence_s=lambda: 1.5,
        )
    )
    return metrics


def samples(metrics: WorkerMetrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(metrics.exposition().decode())
        for sample in family.samples
    }


def table() -> dict[str, set[str]]:
    """Return the labels by metric, as the module documents them."""
    rows = re.findall(
        r"^\| (eddy_[^|]+)\|([^|]*)\|",
        f"{documented.__doc__}{engine_counts.__doc__}{episode_counts.__doc__}",
        re.MULTILINE,
    )
    return {
        name: {label for label in re.split(r"[ ,]+", labels) if label}
        for names, labels in rows
        for name in re.split(r"[ ,]+", names.strip())
    }


def test_the_table_is_what_is_exposed(metrics: WorkerMetrics) -> None:
    exposed, created = {}, set()
    for family in text_string_to_metric_families(metrics.exposition().decode()):
        name = family.name + ("_total" if family.type == "counter" else "")
        if name.startswith("process_"):  # the client's own
            continue
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        assert family.documentation.endswith(".")
        if name.endswith("_created"):
            created.add(name.removesuffix("_created"))
        else:
            exposed[name] = labels
    assert exposed == table()
    assert created <= {name.removesuffix("_total") for name in exposed}
    assert len(exposed) == 39


def test_the_memory_of_the_process_is_exposed(metrics: WorkerMetrics) -> None:
    assert samples(metrics)["process_resident_memory_bytes", frozenset()] > 1_000_000


def test_a_run_is_counted_by_result_reason_and_event(metrics: WorkerMetrics) -> None:
    counted = samples(metrics)

    def total(name: str, **labels: str) -> float:
        return counted[f"eddy_{name}", frozenset(labels.items())]

    assert total("decisions_total", result="scored") == 5
    assert total("decisions_total", result="duplicate") == 2
    assert total("decisions_total", result="dead_lettered") == 4
    assert total("dead_letters_total", reason="undecodable") == 3
    assert total("events_total", event_type="entropy_alert") == 4
    assert total("shadow_decisions_total") == 5
    assert total("shadow_differences_total", kind="events") == 3
    assert (total("run_records_sum"), total("run_records_count")) == (11, 1)
    assert (total("epoch_seconds_sum"), total("fold_seconds_total")) == (0.5, 0.25)


def test_what_housekeeping_does_is_counted(metrics: WorkerMetrics) -> None:
    counted = samples(metrics)
    assert counted["eddy_sessions_removed_total", frozenset({("reason", "expired")})] == 3
    assert counted["eddy_events_total", frozenset({("event_type", "node_state")})] == 5 + 2
    assert counted["eddy_housekeeping_entries_total", frozenset()] == 1_000
    assert counted["eddy_housekeeping_seconds_total", frozenset()] == 0.0015
    assert counted["eddy_late_records_total", frozenset()] == 1
    size = frozenset({("table", "sessions"), ("partition", "3")})
    assert counted["eddy_state_entries", size] == 17
    assert counted["eddy_unwritten_entries", size] == 4


def test_runs_add_up(metrics: WorkerMetrics) -> None:
    metrics.epoch(1, folded(), 0.25, 0.5)
    counted = samples(metrics)
    assert counted["eddy_decisions_total", frozenset({("result", "scored")})] == 10
    assert counted["eddy_run_records_count", frozenset()] == 2


def test_what_is_added_to_the_aggregates_is_counted_by_result(metrics: WorkerMetrics) -> None:
    metrics.tallied(Tallied(counted=4), 0.5)
    counted = samples(metrics)
    assert counted["eddy_contributions_total", frozenset({("result", "counted")})] == 10
    assert counted["eddy_contributions_total", frozenset({("result", "repeated")})] == 1
    assert counted["eddy_aggregates_epoch_seconds_sum", frozenset()] == 0.625


def test_settings_lag_and_restore_are_as_they_were_last(metrics: WorkerMetrics) -> None:
    metrics.restored("sessions", 5, 0.5)
    metrics.restored("aggregates", 7, 2.5)
    counted = samples(metrics)
    assert counted["eddy_settings_version", frozenset({("partition", "3")})] == 8
    assert counted["eddy_shadow_settings_version", frozenset({("partition", "3")})] == 2
    sessions = frozenset({("table", "sessions")})
    assert counted["eddy_restored_records_total", sessions] == 1005
    assert counted["eddy_restore_seconds", sessions] == 0.5
    assert counted["eddy_restore_seconds", frozenset({("table", "aggregates")})] == 2.5
    place = frozenset({("topic", "decision-logs"), ("partition", "3")})
    assert counted["eddy_consumer_lag", place] == 42
    assert counted["eddy_waiting_runs", place] == 5
    standby = frozenset({("table", "sessions"), ("partition", "4")})
    assert counted["eddy_standby_lag_seconds", standby] == 0.75


def test_whether_brokers_answer_is_told(metrics: WorkerMetrics) -> None:
    counted = samples(metrics)
    assert counted["eddy_brokers_answering", frozenset()] == 2
    assert counted["eddy_brokers_known", frozenset()] == 3
    assert counted["eddy_broker_silence_seconds", frozenset()] == 1.5


def test_lag_is_asked_for_at_each_scrape_and_forgotten_with_its_partition() -> None:
    metrics = WorkerMetrics("1.2.3")
    lags = {("decision-logs", 0): 1}
    metrics.watch(Readings(lags=lambda: lags))
    assert b'eddy_consumer_lag{partition="0",topic="decision-logs"} 1.0' in metrics.exposition()
    lags.clear()
    assert b"eddy_consumer_lag{" not in metrics.exposition()


def test_two_workers_in_a_process_do_not_count_together() -> None:
    one, other = WorkerMetrics("1"), WorkerMetrics("1")
    one.epoch(0, folded(), 0.25, 0.5)
    assert samples(other)["eddy_run_records_count", frozenset()] == 0


def test_loops_are_counted_by_agent_with_what_they_have_cost(metrics: WorkerMetrics) -> None:
    counted = samples(metrics)

    def total(name: str, **labels: str) -> float:
        return counted[f"eddy_{name}", frozenset(labels.items())]

    assert total("episodes_total", agent="coder-7", phase="opened") == 1
    assert total("episodes_total", agent="coder-7", phase="recovered") == 2
    assert total("episode_tokens_total", agent="coder-7") == 1_000
    assert total("episode_cost_total", agent="coder-7") == 0.25
