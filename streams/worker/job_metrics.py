"""What a worker counts, by the run, under the prefix ``eddy_``.

The metrics of `engine_counts` and `episode_counts` come on top.

| metric | labels | meaning |
|---|---|---|
| eddy_decisions_total | result | records: scored, duplicate, dead_lettered; forgotten: orders to forget |
| eddy_dead_letters_total | reason | why |
| eddy_events_total | event_type | events of specification 7, published or not |
| eddy_epoch_seconds | | from a run's start to its state being durable |
| eddy_fold_seconds_total | | CPU-bound part of that: decode, judge, encode |
| eddy_run_records | | records per run |
| eddy_settings_version | partition | settings the partition's records are processed under |
| eddy_shadow_settings_version | partition | settings tried out on the partition's records, 0 for none |
| eddy_shadow_decisions_total | | records judged under those too |
| eddy_shadow_differences_total | kind | of those, records judged otherwise, by what differs |
| eddy_redaction_failures_total | | records without any text, since `EDDY_REDACTOR` failed over one |
| eddy_contributions_total | result | what sessions add to the aggregates: counted, repeated |
| eddy_aggregates_epoch_seconds | | as eddy_epoch_seconds, of a run of those |
| eddy_sessions_removed_total | reason | by housekeeping: expired, and stubs of those that ended |
| eddy_late_records_total | | of those that found no state, later than `state_grace_ms`: it may be gone |
| eddy_housekeeping_entries_total | | entries of the state read |
| eddy_housekeeping_seconds_total | | CPU time of that |
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prometheus_client import Counter, Histogram

from streams.observe.engine_counts import EngineCounts
from streams.observe.episode_counts import EpisodeCounts
from streams.worker.aggregation import Tallied
from streams.worker.run_result import RunResult


class WorkerMetrics(EngineCounts):
    """The metrics of one worker."""

    def __init__(self, version: str) -> None:
        super().__init__(version)
        #: By which records are late, ms since 1970.
        self.now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
        registry = self.registry
        self._decisions = Counter("eddy_decisions", "Records by result.", ["result"], registry=registry)
        self._dead_letters = Counter("eddy_dead_letters", "Dead letters.", ["reason"], registry=registry)
        self._events = Counter("eddy_events", "Events by type.", ["event_type"], registry=registry)
        self._episodes = EpisodeCounts(registry)
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
        self._removed = Counter(
            "eddy_sessions_removed", "Sessions removed by housekeeping.", ["reason"], registry=registry
        )
        self._late = Counter(
            "eddy_late_records", "Records so late that their session may be gone.", registry=registry
        )
        self._searched = Counter(
            "eddy_housekeeping_entries", "Entries read by housekeeping.", registry=registry
        )
        self._searching = Counter(
            "eddy_housekeeping_seconds", "CPU time of looking at them.", registry=registry
        )
        self._tried = Counter(
            "eddy_shadow_decisions", "Records judged under the shadow settings too.", registry=registry
        )
        self._differences = Counter(
            "eddy_shadow_differences", "Records judged otherwise by those.", ["kind"], registry=registry
        )
        self._unredacted = Counter(
            "eddy_redaction_failures", "Records without texts: the redactor failed.", registry=registry
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

    def epoch(self, partition: int, folded: RunResult, fold_seconds: float, seconds: float) -> None:
        """Take note of a finished epoch."""
        del partition
        dead = 0
        for reason, count in folded.dead_lettered.items():
            self._dead_letters.labels(reason).inc(count)
            dead += count
        self._count_events(folded.events)
        self._episodes.count(folded.episodes)
        for result, count in (
            ("scored", folded.scored),
            ("duplicate", folded.duplicates),
            ("dead_lettered", dead),
            ("forgotten", folded.forgotten),
        ):
            if count:
                self._decisions.labels(result).inc(count)
        self._late.inc(folded.late(self.now_ms()))
        self._tried.inc(folded.tried)
        self._unredacted.inc(folded.unredacted.total())
        for kind, count in folded.differences.items():
            self._differences.labels(kind).inc(count)
        self._run.observe(folded.scored + folded.duplicates + dead + folded.forgotten)
        self._fold.inc(fold_seconds)
        self._epoch.observe(seconds)

    def searched(self, entries: int, seconds: float) -> None:
        """Count entries that housekeeping read, and the CPU time it took."""
        self._searched.inc(entries)
        self._searching.inc(seconds)

    def removed(
        self, reason: str, sessions: int, events: Mapping[str, int], episodes: Iterable[Mapping[str, Any]]
    ) -> None:
        """Count sessions that housekeeping removed, the events by type, and the episodes that ended."""
        self._removed.labels(reason).inc(sessions)
        self._count_events(events)
        self._episodes.count(episodes)

    def told_silent(self, events: Mapping[str, int]) -> None:
        """Count what was told of silent sessions, by type."""
        self._count_events(events)

    def _count_events(self, events: Mapping[str, int]) -> None:
        for event_type, count in events.items():
            self._events.labels(event_type).inc(count)

    def tallied(self, tallied: Tallied, seconds: float) -> None:
        """Take note of a finished epoch of the aggregates."""
        for result, count in (("counted", tallied.counted), ("repeated", tallied.repeated)):
            if count:
                self._contributions.labels(result).inc(count)
        self._count_events(tallied.events)
        self._aggregates_epoch.observe(seconds)
