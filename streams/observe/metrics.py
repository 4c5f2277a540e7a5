"""What a worker counts, by the run, under the prefix ``eddy_``.

| metric | labels | meaning |
|---|---|---|
| eddy_decisions_total | result | records: scored, duplicate, dead_lettered |
| eddy_dead_letters_total | reason | why |
| eddy_events_total | event_type | events of SEMANTICS part 7, published or not |
| eddy_epoch_seconds | | from a run's start to its state being durable |
| eddy_fold_seconds_total | | CPU-bound part of that: decode, judge, encode |
| eddy_run_records | | records per run |
| eddy_consumer_lag | topic, partition | records not yet processed |
| eddy_settings_version | partition | settings the partition's records are processed under |
| eddy_shadow_settings_version | partition | settings tried out on the partition's records, 0 for none |
| eddy_shadow_decisions_total | | records judged under those too |
| eddy_shadow_differences_total | kind | of those, records judged otherwise, by what differs |
| eddy_contributions_total | result | what sessions add to the aggregates: counted, repeated |
| eddy_aggregates_epoch_seconds | | as eddy_epoch_seconds, of a run of those |
| eddy_restored_records_total, eddy_restore_seconds | table | from the changelog; the latest restore's time |
| eddy_build_info | version | 1 |

The client adds ``..._created`` to each counter and histogram: when it began, in seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from streams.aggregation import Tallied
from streams.job import Folded

Lags = Callable[[], Mapping[tuple[str, int], int]]
Versions = Callable[[], Mapping[int, int]]


class WorkerMetrics:
    """The metrics of one worker, in a registry of their own."""

    def __init__(self, version: str) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        self._decisions = Counter("eddy_decisions", "Records by result.", ["result"], registry=registry)
        self._dead_letters = Counter("eddy_dead_letters", "Dead letters.", ["reason"], registry=registry)
        self._events = Counter("eddy_events", "Events by type.", ["event_type"], registry=registry)
        self._epoch = Histogram(
            "eddy_epoch_seconds",
            "From a run's start to its state being durable.",
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
            registry=registry,
        )
        self._fold = Counter("eddy_fold_seconds", "Decoding, judging, encoding.", registry=registry)
        self._run = Histogram(
            "eddy_run_records",
            "Records per run.",
            buckets=(1, 2, 5, 10, 25, 50, 100, 250, 500, 1000),
            registry=registry,
        )
        self._tried = Counter(
            "eddy_shadow_decisions", "Records judged under the shadow settings too.", registry=registry
        )
        self._differences = Counter(
            "eddy_shadow_differences", "Records judged otherwise by those.", ["kind"], registry=registry
        )
        self._contributions = Counter(
            "eddy_contributions", "Contributions by result.", ["result"], registry=registry
        )
        self._aggregates_epoch = Histogram(
            "eddy_aggregates_epoch_seconds",
            "From the start of a run of contributions to its state being durable.",
            buckets=(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5),
            registry=registry,
        )
        self._restored = Counter(
            "eddy_restored_records", "Changelog records restored.", ["table"], registry=registry
        )
        self._restore = Gauge(
            "eddy_restore_seconds", "Time of the latest restore.", ["table"], registry=registry
        )
        Gauge("eddy_build_info", "Version of the worker.", ["version"], registry=registry).labels(
            version
        ).set(1)

    def epoch(self, partition: int, folded: Folded, fold_seconds: float, seconds: float) -> None:
        """Take note of a finished epoch."""
        del partition
        dead = 0
        for reason, count in folded.dead_lettered.items():
            self._dead_letters.labels(reason).inc(count)
            dead += count
        for event_type, count in folded.events.items():
            self._events.labels(event_type).inc(count)
        for result, count in (
            ("scored", folded.scored),
            ("duplicate", folded.duplicates),
            ("dead_lettered", dead),
        ):
            if count:
                self._decisions.labels(result).inc(count)
        self._tried.inc(folded.tried)
        for kind, count in folded.differences.items():
            self._differences.labels(kind).inc(count)
        self._run.observe(folded.scored + folded.duplicates + dead)
        self._fold.inc(fold_seconds)
        self._epoch.observe(seconds)

    def tallied(self, tallied: Tallied, seconds: float) -> None:
        """Take note of a finished epoch of the aggregates."""
        for result, count in (("counted", tallied.counted), ("repeated", tallied.repeated)):
            if count:
                self._contributions.labels(result).inc(count)
        self._aggregates_epoch.observe(seconds)

    def restored(self, table: str, records: int, seconds: float) -> None:
        """Take note of a finished restore of a table."""
        self._restored.labels(table).inc(records)
        self._restore.labels(table).set(seconds)

    def watch(self, lags: Lags, settings_versions: Versions, shadow_versions: Versions) -> None:
        """Report at each scrape how far the partitions are and which settings they are processed under."""
        self.registry.register(_PartitionCollector(lags, settings_versions, shadow_versions))

    def exposition(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return generate_latest(self.registry)


class _PartitionCollector(Collector):
    def __init__(self, lags: Lags, settings_versions: Versions, shadow_versions: Versions) -> None:
        self._lags = lags
        self._versions = {
            "eddy_settings_version": ("Settings in force.", settings_versions),
            "eddy_shadow_settings_version": ("Settings that are tried out.", shadow_versions),
        }

    def collect(self) -> Iterable[Metric]:
        lag = GaugeMetricFamily(
            "eddy_consumer_lag", "Records not yet processed.", labels=["topic", "partition"]
        )
        for (topic, partition), records in self._lags().items():
            lag.add_metric([topic, str(partition)], records)
        yield lag
        for name, (documentation, versions) in self._versions.items():
            settings = GaugeMetricFamily(name, documentation, labels=["partition"])
            for partition, version in versions().items():
                settings.add_metric([str(partition)], version)
            yield settings
