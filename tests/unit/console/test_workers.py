"""What the console takes from the metrics of a worker: from those that a worker really exposes."""

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from streams.console.workers import BY_PARTITION, JobPoll, JobState, WorkerState, metrics_of
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers
from streams.kafka.connection import Connection
from streams.observe.engine_counts import Readings
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


@pytest.mark.parametrize(
    ("state", "trouble"),
    [
        (None, ""),
        (JobState(0, (WorkerState("a", True, True), WorkerState("b", True, False)), {0: 0}), ""),
        (JobState(0, (WorkerState("a", True, True), WorkerState("b")), {0: 0}), "1 of 2 workers answer"),
        (JobState(0, (WorkerState("a"),), None), "0 of 1 worker answer"),
        (JobState(0, (), {0: 10_001, 1: None}), "10,001 records behind"),
        (JobState(0, (), {0: 10_000}), ""),
    ],
)
async def test_silent_workers_and_a_long_lag_are_the_trouble_of_every_page(
    state: JobState | None, trouble: str
) -> None:
    brokers = Brokers(Connection("127.0.0.1:9"), AIOKafkaAdminClient(bootstrap_servers="127.0.0.1:9"))
    job = JobPoll(brokers, "eddy", (), lambda: 0)
    job.newest = state
    assert job.trouble == trouble


@pytest.mark.parametrize(
    ("lags", "behind", "is_whole"),
    [({0: 3, 1: 4}, 7, True), ({0: 3, 1: None}, 3, False), ({0: None}, None, False), (None, None, False)],
)
def test_a_lag_that_is_known_of_some_partitions_is_a_lower_bound_and_of_none_is_unknown(
    lags: dict[int, int | None] | None, behind: int | None, is_whole: bool
) -> None:
    state = JobState(0, (), lags)
    assert (state.behind, state.is_whole) == (behind, is_whole)


async def test_brokers_that_do_not_answer_leave_the_lag_unknown_and_say_why() -> None:
    brokers = Brokers(Connection("127.0.0.1:9"), AIOKafkaAdminClient(bootstrap_servers="127.0.0.1:9"))
    state = await JobPoll(brokers, "eddy", (), lambda: 17).look()
    assert (state.at, state.lags) == (17, None)
    assert "brokers" in state.lag_problem


def test_what_is_no_exposition_is_refused_or_empty() -> None:
    assert metrics_of("").partitions == {}
    assert metrics_of('eddy_consumer_lag{topic="decision-logs",partition="x"} 1').partitions == {}
