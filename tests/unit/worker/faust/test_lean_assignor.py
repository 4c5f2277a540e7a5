"""Eddy's assignor gives out what Faust's gives out, and a group of hundreds fits into what brokers take."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from faust.assignor.partition_assignor import PartitionAssignor

from benchmarks.group import join
from streams.worker.faust.app_settings import LeanAssignor

SOURCES = {"decision-logs", "repartition"}
CHANGELOGS = {"sessions-changelog", "aggregates-changelog"}
#: `message.max.bytes` of a broker with its defaults, which `__consumer_offsets` inherits.
DEFAULT_LIMIT = 1_048_588


def member(kind: type[PartitionAssignor], number: int, replicas: int = 0) -> PartitionAssignor:
    sensors = SimpleNamespace(
        on_assignment_start=lambda _: None,
        on_assignment_completed=lambda *_: None,
        on_assignment_error=lambda *_: None,
    )
    app = SimpleNamespace(
        tables=SimpleNamespace(data={}, changelog_topics=CHANGELOGS),
        conf=SimpleNamespace(canonical_url=f"http://worker-{number}"),
        tracer=None,
        sensors=sensors,
    )
    return kind(app, replicas=replicas)


def assembled(members: Sequence[PartitionAssignor], partitions: int) -> list[Any]:
    """Let a group assemble, led by its first member; return what each has then."""
    cluster = SimpleNamespace(partitions_for_topic=lambda _: set(range(partitions)))
    sent = {str(number): each.metadata(SOURCES | CHANGELOGS) for number, each in enumerate(members)}
    got = members[0].assign(cluster, sent)
    for number, each in enumerate(members):
        each.on_assignment(got[str(number)])
    return [(each.assigned_actives(), each.assigned_standbys()) for each in members]


@pytest.mark.parametrize("replicas", [0, 1])
def test_it_gives_out_what_fausts_gives_out_also_when_workers_come_and_go(replicas: int) -> None:
    lean, plain = (
        [member(kind, n, replicas) for n in range(5)] for kind in (LeanAssignor, PartitionAssignor)
    )
    for count in (1, 2, 5, 5, 3, 4):
        assert assembled(lean[:count], 12) == assembled(plain[:count], 12)


@pytest.mark.parametrize("leader", [LeanAssignor, PartitionAssignor])
def test_workers_with_fausts_own_are_in_the_same_group_during_an_upgrade(
    leader: type[PartitionAssignor],
) -> None:
    members = [member(leader, 0), member(LeanAssignor, 1), member(PartitionAssignor, 2)]
    for _ in range(3):
        actives = [actives for actives, _ in assembled(members, 12)]
        assert [len(each) for each in actives] == [16, 16, 16]
        assert len(set().union(*actives)) == 48


@pytest.mark.parametrize(
    ("kind", "workers", "partitions", "fits"),
    [
        (PartitionAssignor, 64, 512, False),
        (LeanAssignor, 64, 512, True),
        (LeanAssignor, 512, 2_048, True),
        (LeanAssignor, 1_000, 10_000, False),
    ],
)
def test_how_many_workers_fit_into_a_group_of_a_broker_with_its_defaults(
    kind: type[PartitionAssignor], workers: int, partitions: int, fits: bool
) -> None:
    """`tests/integration/test_large_group.py` shows what a broker does beyond."""
    assert (join(workers, partitions, kind).record_bytes < DEFAULT_LIMIT) == fits
