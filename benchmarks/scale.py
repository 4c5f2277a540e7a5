"""What it takes to run Eddy at a rate: partitions, workers, brokers, disk, network and money.

    python -m benchmarks.scale [--events 10000] [--vcpu-hour 0.05] ... [--write]

A calculation, from what benchmarks/results.json holds and from assumptions that are named and can be changed.
With ``--write`` it renews the tables of docs/scale.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

import click

from benchmarks.markdown import number, table
from benchmarks.report import RESULTS, update_document

_ROOT = Path(__file__).parents[1]
_DOCUMENT = _ROOT / "docs" / "scale.md"

RATES = (10_000, 100_000, 1_000_000)
_DAY_S = 86_400
_HOURS_A_MONTH = 730
_KEYED_TOPICS = 16
"""Topics of a job with as many partitions as `decision-logs`, changelogs included."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured, for one size of results.

    Bytes are per event, as they are on the wire and on the disk of a broker: compressed, what producers write
    too.
    """

    name: str
    worker_us: float
    """CPU of a worker for an event, everything included, µs."""
    input_bytes: float
    output_bytes: float
    changelog_bytes: float
    state_bytes: float
    """What a live session is stored as."""
    restore_bytes_s: float
    """Bytes of state that a worker restores in a second, with a core or two."""
    index_us: float
    """CPU of the console's index for an event, µs."""

    @classmethod
    def of(cls, results: Mapping[str, Any], characters: int) -> Self:
        """Take the figures from benchmarks/results.json for results of so many characters, 200 or 2,000."""
        [whole] = [
            case["contenders"]["eddy"]["total_us"]
            for case in results["cost"]
            if case["workload"].startswith(f"{characters} B avro, 1k")
        ]
        [sizes] = [case for case in results["sizes"]["cases"] if case["result_characters"] == characters]
        packed = sizes["compressed"]
        restored = results["recovery"]["contenders"]["eddy"]
        return cls(
            f"results of {characters:,} characters",
            whole,
            packed["decision-logs"],
            sum(packed.values()) - packed["decision-logs"] - packed["sessions-changelog"],
            packed["sessions-changelog"],
            sizes["state_bytes"],
            restored["records_s"] * restored["bytes"],
            sizes["index_us"],
        )


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What depends on you. The prices are round numbers, in dollars, to be replaced by yours.

    Attributes:
        busy: Share of a core that a worker uses at this rate; the rest is for peaks and catching up.
        records_per_session: How long a session is.
        ended: Share of the sessions that say when they end; their state is gone soon. The others stay for the
            session TTL.
        session_ttl_h: `session_ttl_ms`, in hours.
        retention_days: How long `decision-logs` and the outputs are kept.
        replicas: Copies of each topic.
        broker_mb_s: What a broker takes and copies in a second, MB.
        broker_partitions: Replicas of partitions that a broker holds.
        broker_vcpus: Cores of a broker.
        vcpu_hour: Price of a core with its memory for an hour.
        gb_month: Price of a GB of disk for a month.
        gb_between: Price of a GB between zones.
        between: Share of the traffic that is between zones, with three of them.
    """

    busy: float = 0.6
    records_per_session: int = 50
    ended: float = 0.9
    session_ttl_h: float = 24.0
    retention_days: float = 7.0
    replicas: int = 3
    broker_mb_s: float = 100.0
    broker_partitions: int = 4_000
    broker_vcpus: int = 8
    vcpu_hour: float = 0.05
    gb_month: float = 0.08
    gb_between: float = 0.02
    between: float = 2 / 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a rate takes. Workers are processes, each with a core; MB and GB are decimal."""

    events_s: int
    workers: int
    partitions: int
    sessions: float
    state_gb: float
    """That of all sessions, once; workers have twice of it on their disks, for compaction."""
    written_mb_s: float
    """By producers and workers, before the copies."""
    broker_mb_s: float
    """Taken by all brokers, copies included."""
    brokers: int
    topics_tb: float
    """On the disks of the brokers, copies included."""
    restore_s: float
    """For a worker without its disk, at that rate of restoring."""
    workers_month: float
    brokers_month: float
    disks_month: float
    traffic_month: float

    @property
    def month(self) -> float:
        """Dollars for a month."""
        return self.workers_month + self.brokers_month + self.disks_month + self.traffic_month


def estimate(events_s: int, measured: Measured, assumed: Assumptions) -> Estimate:
    """Return what so many events a second take."""
    workers = math.ceil(events_s * measured.worker_us / 1e6 / assumed.busy)
    # A partition is processed by one worker. Twice as many let the load spread, and the job grow twofold.
    partitions = max(8, 2 ** math.ceil(math.log2(2 * workers)))
    started_s = events_s / assumed.records_per_session
    sessions = started_s * (1 - assumed.ended) * assumed.session_ttl_h * 3_600
    state_gb = sessions * measured.state_bytes / 1e9
    kept = events_s * (measured.input_bytes + measured.output_bytes) / 1e6
    written = kept + events_s * measured.changelog_bytes / 1e6
    taken = written * assumed.replicas
    replicas_of_partitions = partitions * _KEYED_TOPICS * assumed.replicas
    brokers = max(
        3,
        assumed.replicas,
        math.ceil(taken / assumed.broker_mb_s),
        math.ceil(replicas_of_partitions / assumed.broker_partitions),
    )
    topics_gb = (kept * assumed.retention_days * _DAY_S / 1e3 + state_gb) * assumed.replicas
    # Written once to a leader, copied to the others, and the input is read once by a worker.
    crossing_gb = (taken + events_s * measured.input_bytes / 1e6) * assumed.between * _DAY_S * 30 / 1e3
    return Estimate(
        events_s,
        workers,
        partitions,
        sessions,
        state_gb,
        written,
        taken,
        brokers,
        topics_gb / 1e3,
        state_gb * 1e9 / workers / measured.restore_bytes_s,
        workers * assumed.vcpu_hour * _HOURS_A_MONTH,
        brokers * assumed.broker_vcpus * assumed.vcpu_hour * _HOURS_A_MONTH,
        (topics_gb + 2 * state_gb) * assumed.gb_month,
        crossing_gb * assumed.gb_between,
    )


def as_markdown(results: Mapping[str, Any], rates: Iterable[int], assumed: Assumptions) -> dict[str, str]:
    """Return what docs/scale.md shows, by the place in it."""
    cases = [Measured.of(results, characters) for characters in (200, 2_000)]
    rates = tuple(rates)
    texts = {
        "scale": "\n\n".join(
            f"With {case.name}:\n\n{_estimates([estimate(rate, case, assumed) for rate in rates])}"
            for case in cases
        )
        + "\n",
        "measured": f"{_measured(cases)}\n",
        "group": f"{_group(results['group']['cases'])}\n",
    }
    if "partitions_cost" in results:
        texts["partitions"] = f"{_partitions(results['partitions_cost'])}\n"
    return texts


def _estimates(found: Iterable[Estimate]) -> str:
    columns = list(found)
    rows: list[tuple[str, list[str]]] = [
        ("workers, a core each", [f"{each.workers:,}" for each in columns]),
        ("partitions", [f"{each.partitions:,}" for each in columns]),
        ("sessions with state, million", [number(each.sessions / 1e6) for each in columns]),
        ("state, GB", [number(each.state_gb, 0) for each in columns]),
        ("a worker restores its share in, s", [number(each.restore_s, 0) for each in columns]),
        ("written, MB/s", [number(each.written_mb_s, 0) for each in columns]),
        ("taken by the brokers with copies, MB/s", [number(each.broker_mb_s, 0) for each in columns]),
        ("brokers", [f"{each.brokers:,}" for each in columns]),
        ("topics on disk with copies, TB", [number(each.topics_tb) for each in columns]),
        ("workers, $ a month", [number(each.workers_month, 0) for each in columns]),
        ("brokers, $ a month", [number(each.brokers_month, 0) for each in columns]),
        ("disks, $ a month", [number(each.disks_month, 0) for each in columns]),
        ("traffic between zones, $ a month", [number(each.traffic_month, 0) for each in columns]),
        ("together, $ a month", [number(each.month, 0) for each in columns]),
        ("$ for a million events", [number(each.month / (each.events_s * 2.592), 3) for each in columns]),
    ]
    head = ["", *(f"{each.events_s:,} events/s" for each in columns)]
    return table(head, [[name, *values] for name, values in rows])


def _measured(cases: Iterable[Measured]) -> str:
    columns = list(cases)
    rows = [
        ("CPU of a worker for an event, µs", [number(each.worker_us, 0) for each in columns]),
        ("one session, or one partition, at most, events/s", [number(ceiling(each), 0) for each in columns]),
        ("input, bytes", [number(each.input_bytes, 0) for each in columns]),
        ("outputs, bytes", [number(each.output_bytes, 0) for each in columns]),
        ("changelog, bytes", [number(each.changelog_bytes, 0) for each in columns]),
        ("state of a session, bytes (not compressed)", [number(each.state_bytes, 0) for each in columns]),
        ("restored by a worker, MB/s", [number(each.restore_bytes_s / 1e6, 0) for each in columns]),
        ("console's index for an event, µs", [number(each.index_us) for each in columns]),
    ]
    return table(["", *(each.name for each in columns)], [[name, *values] for name, values in rows])


def ceiling(measured: Measured) -> float:
    """Return how many events a second one partition can have: its worker has one core for it."""
    return 1e6 / measured.worker_us


def _group(cases: Iterable[Mapping[str, Any]]) -> str:
    return table(
        [
            "workers",
            "partitions",
            "assignor",
            "kept by the broker, kB",
            "fits into 1 MiB",
            "CPU to assign, s",
        ],
        [
            [
                f"{case['workers']:,}",
                f"{case['partitions']:,}",
                str(case["assignor"]),
                number(case["record_bytes"] / 1e3, 0),
                "yes" if case["record_bytes"] < 1 << 20 else "no",
                number(case["assign_s"], 2),
            ]
            for case in cases
        ],
    )


def _partitions(results: Mapping[str, Any]) -> str:
    cases = results["cases"]
    rows = [
        ("topics made in, s", "topics_s", 0),
        ("a worker alone is ready after, s", "start_s", 1),
        ("CPU of that start, s", "start_cpu_s", 1),
        ("idle: worker, cores", "idle_worker_cores", 3),
        ("idle: broker, cores", "idle_broker_cores", 3),
        ("a second worker has half after, s", "join_s", 1),
        ("after its kill -9 the first has all after, s", "takeover_s", 1),
        ("memory of the worker, MB", "worker_mb", 0),
        ("memory of the broker, MB", "broker_mb", 0),
        ("load of the machine", "load", 1),
    ]
    told = table(
        ["", *(f"{case['partitions']:,} partitions" for case in cases)],
        [[name, *(number(case[key], digits) for case in cases)] for name, key, digits in rows],
    )
    machine = results["machine"]
    return (
        f"Measured {results['started']} in {results['minutes']} minutes with `{results['command']}`, broker: "
        f"{results['broker']}; {machine['processor']}, {machine['cores']} cores shared with whatever else "
        f"ran, Python {machine['python']}. The session timeout was {results['session_timeout_s']:g} s."
        f"\n\n{told}"
    )


def _options(command: Any) -> Any:
    for each in reversed(fields(Assumptions)):
        command = click.option(
            f"--{each.name.replace('_', '-')}",
            type=type(each.default),
            default=each.default,
            show_default=True,
        )(command)
    return command


@click.command()
@click.option("--events", type=click.IntRange(1), multiple=True, help="Events a second; repeatable.")
@click.option("--write", is_flag=True, help="Renew the tables of docs/scale.md.")
@_options
def main(*, events: tuple[int, ...], write: bool, **assumed: Any) -> None:
    """Say what it takes to run Eddy at these rates."""
    results = json.loads(RESULTS.read_text())
    texts = as_markdown(results, events or RATES, replace(Assumptions(), **assumed))
    click.echo("\n".join(texts.values()))
    if write:
        update_document(_DOCUMENT, texts)


if __name__ == "__main__":
    main()
