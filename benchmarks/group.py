"""What the protocol of a consumer group costs with many workers: a simulation with the code of the assignor.

    python -m benchmarks.group [--write]

Every worker sends what it remembers of its assignment when it joins. One of them gets all of that, and gives
out the partitions. The broker keeps what all have sent, and what each got, in one record of
`__consumer_offsets`. If that is larger than `message.max.bytes`, the group cannot assemble, as
`tests/integration/test_large_group.py` shows on Apache Kafka. Here the workers are objects in one process;
what they send, what they get and the time of whoever gives out are real.
"""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, NamedTuple

import click
from faust.assignor.partition_assignor import PartitionAssignor

from benchmarks.report import as_json, keep
from streams.core.domain.topic import Topic
from streams.worker.faust.app_settings import LeanAssignor

_SOURCES = {str(Topic.DECISION_LOGS), "eddy-aggregates-repartition"}
_CHANGELOGS = {"eddy-sessions-changelog", "eddy-aggregates-changelog"}

#: Workers, and partitions of each topic.
CASES = ((16, 128), (64, 512), (850, 2_048), (1_000, 10_000))
_SMALL = 64


class Joined(NamedTuple):
    """A group that has assembled for the second time."""

    workers: int
    partitions: int
    assignor: str
    record_bytes: int
    """What the broker keeps of it, about: what all have sent, and what each got."""
    assign_s: float
    """CPU of whoever gives out the partitions."""


def join(workers: int, partitions: int, kind: type[PartitionAssignor] = LeanAssignor) -> Joined:
    """Let a group assemble twice: the first time nobody remembers anything."""
    cluster = SimpleNamespace(partitions_for_topic=lambda _topic: set(range(partitions)))
    members = {f"eddy-{number:08d}-{'0' * 27}": kind(_app(number)) for number in range(workers)}
    record = 0
    spent = 0.0
    for _ in range(2):
        sent = {name: member.metadata(_SOURCES | _CHANGELOGS) for name, member in members.items()}
        began = time.process_time()
        got = members[min(members)].assign(cluster, sent)
        spent = time.process_time() - began
        record = sum(len(each.encode()) for each in (*sent.values(), *got.values()))
        record += sum(map(len, members))
        for name, assignment in got.items():
            members[name].on_assignment(assignment)
    assert sum(len(member.assigned_actives()) for member in members.values()) == partitions * (
        len(_SOURCES) + len(_CHANGELOGS)
    )
    return Joined(workers, partitions, "Eddy's" if kind is LeanAssignor else "Faust's", record, spent)


def _app(number: int) -> Any:
    def nothing(*_: object) -> None:
        return None

    return SimpleNamespace(
        tables=SimpleNamespace(data={}, changelog_topics=_CHANGELOGS),
        conf=SimpleNamespace(canonical_url=f"http://eddy-worker-{number}.eddy.svc.cluster.local:8066"),
        tracer=None,
        sensors=SimpleNamespace(
            on_assignment_start=nothing, on_assignment_completed=nothing, on_assignment_error=nothing
        ),
    )


@click.command()
@click.option("--write", is_flag=True, help="Keep the figures in benchmarks/results.json.")
def main(*, write: bool) -> None:
    """Simulate groups of many workers."""
    found = [join(*case) for case in CASES]
    # Faust's own needs gigabytes for the last of them.
    found += [join(*case, PartitionAssignor) for case in CASES if case[0] <= _SMALL]
    cases = [each._asdict() for each in found]
    click.echo(as_json({"cases": cases}))
    if write:
        keep("group", {"cases": cases})


if __name__ == "__main__":
    main()
