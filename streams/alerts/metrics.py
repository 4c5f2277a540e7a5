"""What a notifier counts, under the prefix ``eddy_notify_``.

| metric | labels | meaning |
|---|---|---|
| eddy_notify_alerts_total | kind | alerts that were read |
| eddy_notify_duplicates_total | | those among them that a worker had written again |
| eddy_notify_unreadable_total | | records that are no alerts, or cannot be read |
| eddy_notify_deliveries_total | sink, result | what became of deliveries |
| eddy_notify_waiting | sink | deliveries that wait, or are on the way |
| eddy_notify_gone | sink | 1 if the receiver wants nothing any more |
| eddy_notify_request_seconds | sink | from the beginning of a request to its answer |
| eddy_notify_open_episodes | | episodes that are open |
| eddy_notify_lag | partition | alerts that are not read yet |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from streams.alerts.outbox import RESULTS
from streams.alerts.sink_worker import SinkWorker


class WatchedNotifier(Protocol):
    """What the metrics ask a notifier at each scrape."""

    couriers: Sequence[SinkWorker]

    @property
    def open_episodes(self) -> int:
        """How many episodes are open."""
        ...

    def lag(self) -> Mapping[int, int]:
        """Return by partition how many alerts are not read yet."""
        ...


class NotifyMetrics:
    """The metrics of one notifier, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._alerts = Counter("eddy_notify_alerts", "Alerts read.", ["kind"], registry=registry)
        self._duplicates = Counter("eddy_notify_duplicates", "Alerts written again.", registry=registry)
        self._unreadable = Counter("eddy_notify_unreadable", "Records that are no alerts.", registry=registry)
        self._requests = Histogram(
            "eddy_notify_request_seconds",
            "From the beginning of a request to its answer.",
            ["sink"],
            buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
            registry=registry,
        )

    def read(self, kind: str, *, is_new: bool) -> None:
        """Count an alert."""
        self._alerts.labels(kind).inc()
        if not is_new:
            self._duplicates.inc()

    def unreadable(self, records: int) -> None:
        """Count records that are no alerts."""
        self._unreadable.inc(records)

    def requested(self, sink: str, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(sink).observe(seconds)

    def watch(self, notifier: WatchedNotifier) -> None:
        """Report at each scrape what waits."""
        self.registry.register(_Readings(notifier))

    def exposed(self) -> bytes:
        """Return all of it as Prometheus reads it."""
        return generate_latest(self.registry)


class _Readings(Collector):
    def __init__(self, notifier: WatchedNotifier) -> None:
        self._notifier = notifier

    def collect(self) -> Iterable[Metric]:
        results = CounterMetricFamily(
            "eddy_notify_deliveries", "What became of deliveries.", labels=["sink", "result"]
        )
        waiting = GaugeMetricFamily("eddy_notify_waiting", "Deliveries that wait.", labels=["sink"])
        gone = GaugeMetricFamily("eddy_notify_gone", "Whether the receiver is gone.", labels=["sink"])
        for courier in self._notifier.couriers:
            name = courier.sink.name
            waiting.add_metric([name], courier.outbox.waiting)
            gone.add_metric([name], courier.outbox.gone is not None)
            for result in RESULTS:  # all of them: an increase from nothing is none to Prometheus
                results.add_metric([name, result], courier.outbox.counts[result])
        lag = GaugeMetricFamily("eddy_notify_lag", "Alerts not read yet.", labels=["partition"])
        for partition, count in self._notifier.lag().items():
            lag.add_metric([str(partition)], count)
        yield from (results, waiting, gone, lag)
        yield GaugeMetricFamily(
            "eddy_notify_open_episodes", "Open episodes.", value=self._notifier.open_episodes
        )
