"""What is not counted but asked of a worker at each scrape: how far, how large, under which settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

Counts = Mapping[tuple[str, int], int]
"""By topic or table, and partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings(Collector):
    """Who is asked for each of them.

    Attributes:
        lags: records of each source partition not yet processed.
        waiting: runs of each source partition that wait.
        sizes: entries of each partition of a table, about.
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
