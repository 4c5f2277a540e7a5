"""The metrics of a worker, as far as the console shows them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from streams.core.domain.topic import Topic


class WorkerSample(NamedTuple):
    """What a worker said at one moment.

    Attributes:
        version: Version of Eddy that it runs.
        figures: by the names of `FIGURES`, those that it gave.
        partitions: by partition and the names of `BY_PARTITION`.
    """

    version: str | None
    figures: Mapping[str, float]
    partitions: Mapping[int, Mapping[str, float]]


class Figure(NamedTuple):
    """How a figure of a worker comes from its samples."""

    metric: str
    together: Callable[[Iterable[float]], float] = sum


#: A figure of the whole worker, by name.
FIGURES: Final[Mapping[str, Figure]] = {
    "records": Figure("eddy_decisions_total"),
    "lag": Figure("eddy_consumer_lag"),
    "dead_letters": Figure("eddy_dead_letters_total"),
    "lost": Figure("eddy_records_lost_total"),
    "late": Figure("eddy_late_records_total"),
    "redated": Figure("eddy_redated_records_total"),
    "set_aside": Figure("eddy_state_set_aside_total"),
    "standby_errors": Figure("eddy_standby_errors_total"),
    "standby_lag": Figure("eddy_standby_lag_seconds", max),
    "state": Figure("eddy_state_entries"),
    "brokers": Figure("eddy_brokers_answering", min),
    "brokers_known": Figure("eddy_brokers_known", max),
    "silence": Figure("eddy_broker_silence_seconds", max),
    "ahead": Figure("eddy_clock_ahead_seconds", max),
    "epoch_seconds": Figure("eddy_epoch_seconds_sum"),
    "fold_seconds": Figure("eddy_fold_seconds_total"),
}

#: A figure of a partition, by metric. A standby is of a partition that another worker processes.
BY_PARTITION: Final[Mapping[str, str]] = {
    "eddy_consumer_lag": "lag",
    "eddy_waiting_runs": "waiting",
    "eddy_settings_version": "settings",
    "eddy_shadow_settings_version": "shadow",
    "eddy_standby_lag_seconds": "standby_lag",
}


def metrics_of(text: str) -> WorkerSample:
    """Read what a worker exposes.

    Raises:
        ValueError: it is not the text format of Prometheus.

    >>> found = metrics_of('eddy_consumer_lag{topic="decision-logs",partition="3"} 17.0')
    >>> found.figures, found.partitions
    ({'lag': 17.0}, {3: {'lag': 17.0}})
    """
    version: str | None = None
    values: dict[str, list[float]] = defaultdict(list)
    partitions: dict[int, dict[str, float]] = defaultdict(dict)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            values[sample.name].append(sample.value)
            if sample.name == "eddy_build_info":
                version = sample.labels.get("version")
            name, partition = BY_PARTITION.get(sample.name), sample.labels.get("partition", "")
            if name is None or not partition.isdecimal() or not _of_sessions(sample.labels.get("topic")):
                continue
            of_partition = partitions[int(partition)]
            of_partition[name] = max(sample.value, of_partition.get(name, sample.value))
    figures = {
        name: figure.together(values[figure.metric])
        for name, figure in FIGURES.items()
        if values[figure.metric]
    }
    return WorkerSample(version, figures, dict(partitions))


def _of_sessions(topic: str | None) -> bool:
    """Tell whether a figure is about the records of sessions: a worker reads what it aggregates, too."""
    return topic is None or topic.endswith(Topic.DECISION_LOGS)
