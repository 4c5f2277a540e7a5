"""What the engine counts, whatever the epochs of an app do, under the prefix ``eddy_``.

| metric | labels | meaning |
|---|---|---|
| eddy_consumer_lag | topic, partition | records not yet processed |
| eddy_waiting_runs | topic, partition | runs that wait for their turn, at most `EDDY_LANE_MAX_RUNS` |
| eddy_records_lost_total | topic, partition | records that retention deleted before they were read |
| eddy_state_entries | table, partition | about how many entries the state has |
| eddy_unwritten_entries | table, partition | entries that changed since they were written |
| eddy_redated_records_total | topic | records that got another Kafka timestamp, the first being refused |
| eddy_clock_ahead_seconds | | how far this machine's clock is ahead of the brokers' |
| eddy_restored_records_total, eddy_restore_seconds | table | from the changelog; the latest restore's time |
| eddy_state_set_aside_total | table | databases that were damaged, set aside and restored |
| eddy_standby_records_total | table | read for partitions that another worker processes |
| eddy_standby_errors_total | | rounds of that which failed, and are tried again |
| eddy_standby_lag_seconds | table, partition | since a standby was known to be up to the changelog |
| eddy_brokers_answering, eddy_brokers_known | | brokers that answer, and how many there are |
| eddy_broker_silence_seconds | | since any of them answered last; below 10 when all is well |
| eddy_tls_files_outdated | | 1 while TLS files have changed and cannot be used, else 0 |
| eddy_build_info | version | 1 |
| eddy_native_core_info | in_use, why | 1; ``in_use`` is yes or no, ``why`` its version or the reason |

The client adds ``..._created`` to each counter and histogram: when it began, in seconds since 1970;
and ``process_...``: memory, CPU, open files and the start of the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from streams.core.native import NATIVE

Counts = Mapping[tuple[str, int], int]
"""By topic or table, and partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings(Collector):
    """Who is asked for each of them.

    Attributes:
        lags: records of each source partition not yet processed.
        waiting: runs of each source partition that wait.
        sizes: entries of each partition of a table, about.
        unwritten: values of each partition of a table that have changed and are not written.
        standby_lags: seconds that each standby is behind.
        clock_ahead: seconds that this machine's clock is ahead of the brokers', None where none has reported.
        settings_versions: by partition, the settings in force.
        shadow_versions: by partition, what is tried out.
        brokers: how many brokers answer, and of how many.
        broker_silence_s: for how long none has answered.
        tls_outdated: whether TLS files have changed and cannot be used.
    """

    lags: Callable[[], Counts] = dict
    waiting: Callable[[], Counts] = dict
    sizes: Callable[[], Counts] = dict
    unwritten: Callable[[], Counts] = dict
    standby_lags: Callable[[], Mapping[tuple[str, int], float]] = dict
    clock_ahead: Callable[[], float | None] = lambda: None
    settings_versions: Callable[[], Mapping[int, int]] = dict
    shadow_versions: Callable[[], Mapping[int, int]] = dict
    brokers: Callable[[], tuple[int, int]] = lambda: (0, 0)
    broker_silence_s: Callable[[], float] = float
    tls_outdated: Callable[[], bool] = bool

    def collect(self) -> Iterable[Metric]:
        """Ask everybody."""
        answering, known = self.brokers()
        yield GaugeMetricFamily("eddy_brokers_answering", "Brokers that answer.", answering)
        yield GaugeMetricFamily("eddy_brokers_known", "Brokers of the cluster.", known)
        yield GaugeMetricFamily(
            "eddy_broker_silence_seconds", "Since a broker answered last.", self.broker_silence_s()
        )
        yield GaugeMetricFamily(
            "eddy_tls_files_outdated",
            "Whether TLS files have changed and cannot be used: 1 or 0.",
            float(self.tls_outdated()),
        )
        source, table = ("topic", "partition"), ("table", "partition")
        yield _gauge("eddy_consumer_lag", "Records not yet processed.", source, self.lags())
        yield _gauge("eddy_waiting_runs", "Runs that wait for their turn.", source, self.waiting())
        yield _gauge("eddy_state_entries", "Entries of the state, about.", table, self.sizes())
        yield _gauge("eddy_unwritten_entries", "Changed and not written yet.", table, self.unwritten())
        yield _gauge(
            "eddy_standby_lag_seconds",
            "Since a standby was known to be up to the changelog.",
            table,
            self.standby_lags(),
        )
        ahead = GaugeMetricFamily(
            "eddy_clock_ahead_seconds", "Of the brokers, by the answer to the newest write of state."
        )
        if (seconds := self.clock_ahead()) is not None:
            ahead.add_metric([], seconds)
        yield ahead
        live, tried = self.settings_versions(), self.shadow_versions()
        yield _versions("eddy_settings_version", "Settings in force.", live)
        yield _versions("eddy_shadow_settings_version", "Settings that are tried out.", tried)


def _gauge(
    name: str, documentation: str, labels: tuple[str, ...], values: Mapping[tuple[str, int], float]
) -> Metric:
    gauge = GaugeMetricFamily(name, documentation, labels=labels)
    for (what, partition), value in values.items():
        gauge.add_metric([what, str(partition)], value)
    return gauge


def _versions(name: str, documentation: str, versions: Mapping[int, int]) -> Metric:
    gauge = GaugeMetricFamily(name, documentation, labels=["partition"])
    for partition, version in versions.items():
        gauge.add_metric([str(partition)], version)
    return gauge


class EngineCounts:
    """The metrics that every app has, in a registry of their own.

    Args:
        version: Version of Eddy, for `eddy_build_info`.
    """

    def __init__(self, version: str) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        ProcessCollector(registry=registry)
        self._lost = Counter(
            "eddy_records_lost",
            "Records deleted before they were read.",
            ["topic", "partition"],
            registry=registry,
        )
        self._redated = Counter(
            "eddy_redated_records",
            "Records whose topic refused their Kafka timestamp; they got another one.",
            ["topic"],
            registry=registry,
        )
        self._restored = Counter(
            "eddy_restored_records", "Changelog records restored.", ["table"], registry=registry
        )
        self._restore = Gauge(
            "eddy_restore_seconds", "Time of the latest restore.", ["table"], registry=registry
        )
        self._set_aside = Counter(
            "eddy_state_set_aside", "Damaged databases set aside.", ["table"], registry=registry
        )
        self._followed = Counter(
            "eddy_standby_records", "Changelog records read to stand by.", ["table"], registry=registry
        )
        self._standby_errors = Counter(
            "eddy_standby_errors", "Errors that standing by met.", registry=registry
        )
        Gauge("eddy_build_info", "Version of the worker.", ["version"], registry=registry).labels(
            version
        ).set(1)
        Gauge(
            "eddy_native_core_info",
            "Whether the native core is in use.",
            ["in_use", "why"],
            registry=registry,
        ).labels("yes" if NATIVE.in_use else "no", NATIVE.why).set(1)

    def lost(self, topic: str, partition: int, records: int) -> None:
        """Take note of records that were deleted before they were read."""
        self._lost.labels(topic, partition).inc(records)

    def redated(self, topic: str, records: int) -> None:
        """Take note of records that got another Kafka timestamp than their input has."""
        self._redated.labels(topic).inc(records)

    def restored(self, table: str, records: int, seconds: float) -> None:
        """Take note of a finished restore of a table."""
        self._restored.labels(table).inc(records)
        self._restore.labels(table).set(seconds)

    def set_aside(self, table: str) -> None:
        """Count a damaged database that was set aside."""
        self._set_aside.labels(table).inc()

    def followed(self, table: str, records: int) -> None:
        """Take note of what a standby has read."""
        self._followed.labels(table).inc(records)

    def standby_failed(self) -> None:
        """Take note of an error that standing by met."""
        self._standby_errors.inc()

    def watch(self, readings: Readings) -> None:
        """Report at each scrape what is asked then."""
        self.registry.register(readings)

    def exposition(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return generate_latest(self.registry)
