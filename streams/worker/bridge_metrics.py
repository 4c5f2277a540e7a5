"""What the bridge counts, by the run, under the prefix ``eddy_bridge_``, besides what `engine_counts` has.

| metric | labels | meaning |
|---|---|---|
| eddy_bridge_spans_total | result | spans: tool, model, agent, other, repeated, late, dead |
| eddy_bridge_sessions_total | key | sessions, by what names them: conversation, session or trace |
| eddy_bridge_calls_without_content_total | | tool calls whose arguments were not captured |
| eddy_bridge_foreign_keys_total | | records of the topic whose key is not the trace of all of their spans |
| eddy_bridge_dead_letters_total | reason | why |
| eddy_bridge_records_total | | decision logs written |
| eddy_bridge_held | partition | spans that wait |
| eddy_bridge_hold_seconds | | how long spans that went out had waited, by the records' clock |
| eddy_bridge_traces_forgotten_total | | traces removed since no span of them had come for long |
| eddy_bridge_epoch_seconds | | from a run's start to its state being durable |
| eddy_bridge_fold_seconds_total | | CPU-bound part of that: decode, order, encode |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from streams.core.domain.topic import Topic
from streams.observe.engine_counts import EngineCounts
from streams.worker.bridge.bridge import Bridged


class BridgeCounts(EngineCounts):
    """The metrics of one bridge.

    Args:
        version: Version of Eddy, for `eddy_build_info`.
    """

    def __init__(self, version: str) -> None:
        super().__init__(version)
        registry = self.registry
        self._spans = Counter("eddy_bridge_spans", "Spans by result.", ["result"], registry=registry)
        self._sessions = Counter(
            "eddy_bridge_sessions", "Traces by what named their session.", ["key"], registry=registry
        )
        self._without_content = Counter(
            "eddy_bridge_calls_without_content", "Tool calls without arguments.", registry=registry
        )
        self._foreign_keys = Counter(
            "eddy_bridge_foreign_keys", "Records not keyed by their trace.", registry=registry
        )
        self._dead_letters = Counter(
            "eddy_bridge_dead_letters", "Dead letters.", ["reason"], registry=registry
        )
        self._records = Counter("eddy_bridge_records", "Decision logs written.", registry=registry)
        self._hold = Histogram(
            "eddy_bridge_hold_seconds",
            "How long spans had waited.",
            buckets=(0.1, 0.5, 1, 2, 2.5, 3, 5, 10, 60),
            registry=registry,
        )
        self._forgotten = Counter("eddy_bridge_traces_forgotten", "Traces removed.", registry=registry)
        self._epoch = Histogram(
            "eddy_bridge_epoch_seconds",
            "From a run's start to its state being durable.",
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
            registry=registry,
        )
        self._fold = Counter("eddy_bridge_fold_seconds", "Decoding, ordering, encoding.", registry=registry)

    def bridged(self, bridged: Bridged, records: int, fold_seconds: float, seconds: float) -> None:
        """Take note of a finished epoch."""
        del records
        for result, count in bridged.spans.items():
            self._spans.labels(result).inc(count)
        for key, count in bridged.sessions.items():
            self._sessions.labels(key).inc(count)
        for reason, count in bridged.dead_lettered.items():
            self._dead_letters.labels(reason).inc(count)
        self._without_content.inc(bridged.without_content)
        self._foreign_keys.inc(bridged.foreign_keys)
        self._records.inc(len(bridged.outputs.get(Topic.DECISION_LOGS, ())))
        for held_ms in bridged.held_ms:
            self._hold.observe(held_ms / 1000)
        self._fold.inc(fold_seconds)
        self._epoch.observe(seconds)

    def forgotten(self, traces: int) -> None:
        """Count traces that were removed."""
        self._forgotten.inc(traces)

    def watch_held(self, held: Callable[[], Mapping[int, int]]) -> None:
        """Report at each scrape how many spans wait, by partition."""
        self.registry.register(_Held(held))


class _Held(Collector):
    def __init__(self, held: Callable[[], Mapping[int, int]]) -> None:
        self._held = held

    def collect(self) -> Iterable[Metric]:
        gauge = GaugeMetricFamily("eddy_bridge_held", "Spans that wait.", labels=["partition"])
        for partition, spans in self._held().items():
            gauge.add_metric([str(partition)], spans)
        yield gauge
