"""What Faust's assignor does with partitions and standbys, whatever the number of workers."""

import pytest
from faust.assignor.client_assignment import CopartitionedAssignment
from faust.assignor.copartitioned_assignor import CopartitionedAssignor


def shares(workers: int, partitions: int, replicas: int) -> list[tuple[int, int]]:
    """Return how many partitions each worker processes and stands by for; all of them join at once."""
    members = {
        f"worker-{number}": CopartitionedAssignment(topics={"decision-logs"}) for number in range(workers)
    }
    assignor = CopartitionedAssignor({"decision-logs"}, members, partitions, replicas)
    assigned = assignor.get_assignment().values()
    assert sorted(partition for each in assigned for partition in each.actives) == list(range(partitions))
    assert not any(each.actives & each.standbys for each in assigned)
    return sorted((len(each.actives), len(each.standbys)) for each in assigned)


@pytest.mark.parametrize(
    ("workers", "partitions", "active"),
    [(1, 4, [4]), (2, 4, [2, 2]), (3, 8, [2, 3, 3]), (4, 2, [0, 0, 1, 1])],
)
def test_every_partition_has_one_worker_and_a_standby_where_there_is_another(
    workers: int, partitions: int, active: list[int]
) -> None:
    found = shares(workers, partitions, 1)
    assert sum(standbys for _, standbys in found) == (partitions if workers > 1 else 0)
    assert [processed for processed, _ in found] == active


def test_a_worker_that_joins_may_get_nothing_but_standbys() -> None:
    """Each worker keeps up to partitions by workers, rounded up: 2 and 2 of 4 leave none for a third."""
    members = {
        "first": CopartitionedAssignment({0, 1}, {2, 3}, {"decision-logs"}),
        "second": CopartitionedAssignment({2, 3}, {0, 1}, {"decision-logs"}),
        "third": CopartitionedAssignment(topics={"decision-logs"}),
    }
    assigned = CopartitionedAssignor({"decision-logs"}, members, 4, 1).get_assignment()
    assert [len(each.actives) for each in assigned.values()] == [2, 2, 0]
