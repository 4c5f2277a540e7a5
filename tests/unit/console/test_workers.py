"""What the console takes from the metrics of a worker: from those that a worker really exposes."""

from streams.console.workers import BY_PARTITION, metrics_of
from streams.core.domain.topic import Topic
from streams.observe.readings import Readings
from streams.worker.job_metrics import WorkerMetrics


def exposed() -> str:
    metrics = WorkerMetrics("1.2.3")
    source, other = str(Topic.DECISION_LOGS), "eddy-contributions"
    metrics.watch(
        Readings(
            lags=lambda: {(source, 0): 5, (source, 1): 7, (other, 0): 100},
            waiting=lambda: {(source, 0): 2},
            sizes=lambda: {("sessions", 0): 10},
            standby_lags=lambda: {("sessions", 2): 3.5, ("aggregates", 2): 1.0},
            brokers=lambda: (2, 3),
            broker_silence_s=lambda: 0.5,
            clock_ahead=lambda: -70.0,
            settings_versions=lambda: {0: 8, 1: 7},
            shadow_versions=lambda: {0: 0, 1: 0},
        )
    )
    return metrics.exposition().decode()


def test_a_worker_names_its_version() -> None:
    assert metrics_of(exposed()).version == "1.2.3"


def test_a_partition_has_what_its_worker_says_of_the_records_of_sessions() -> None:
    found = metrics_of(exposed()).partitions
    assert found[0] == {"lag": 5, "waiting": 2, "settings": 8, "shadow": 0}
    assert found[1] == {"lag": 7, "settings": 7, "shadow": 0}
    assert found[2] == {"standby_lag": 3.5}


def test_every_figure_is_one_that_workers_have() -> None:
    assert all(f"\n{metric}" in exposed() for metric in BY_PARTITION)


def test_what_is_no_exposition_is_refused_or_empty() -> None:
    assert metrics_of("").partitions == {}
    assert metrics_of('eddy_consumer_lag{topic="decision-logs",partition="x"} 1').partitions == {}
