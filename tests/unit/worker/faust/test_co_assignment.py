"""A partition is not processed by a worker that has not restored its state."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka.cluster import ClusterMetadata
from faust.assignor.partition_assignor import PartitionAssignor
from faust.types import TP

from streams.core.domain.topic import Topic
from streams.core.errors import InfrastructureError
from streams.observe.settings import WorkerSettings
from streams.worker.app import RunApp
from streams.worker.faust.recovery import RunTableManager, check_co_assigned
from streams.worker.wiring import build

SOURCE, CHANGELOG = str(Topic.DECISION_LOGS), "eddy-sessions-changelog"
PAIRS = {SOURCE: CHANGELOG, "eddy-aggregates-repartition": "eddy-aggregates-changelog"}


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[RunApp]:
    app = build(WorkerSettings(_env_file=None, data_dir=tmp_path))
    yield app
    app.consumer._thread.thread_loop.close()  # type: ignore[attr-defined]


def test_partitions_that_come_with_their_changelogs_are_fine() -> None:
    assigned = {TP(topic, 3) for pair in PAIRS.items() for topic in pair}
    check_co_assigned(assigned, {tp for tp in assigned if tp.topic in PAIRS.values()}, PAIRS)
    check_co_assigned(set(), {TP(CHANGELOG, 3)}, PAIRS)


def test_a_changelog_that_is_only_stood_by_for_is_not_that_of_a_partition_of_ours() -> None:
    with pytest.raises(InfrastructureError, match=r"decision-logs\[3\] .* eddy-sessions-changelog\[3\]"):
        check_co_assigned({TP(SOURCE, 3), TP(CHANGELOG, 3)}, {TP(CHANGELOG, 2)}, PAIRS)


async def test_a_worker_that_leads_and_knows_no_changelog_gives_the_sources_out_alone(app: RunApp) -> None:
    """Faust does so; should it not any more, nobody needs `check_co_assigned`."""
    assignor = PartitionAssignor(app)
    cluster = ClusterMetadata()
    cluster._partitions = {SOURCE: {0: None, 1: None}}
    groups = assignor._get_copartitioned_groups({SOURCE, CHANGELOG}, cluster, {"member": [SOURCE, CHANGELOG]})
    assert {number: list(topics) for number, topics in groups.items()} == {2: [{SOURCE}]}


@pytest.mark.parametrize("restored", [True, False])
async def test_a_worker_does_not_begin_with_partitions_it_would_not_restore(
    app: RunApp, restored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    recovery = RunTableManager(app).recovery
    active = {TP(CHANGELOG, 0)} if restored else set[TP]()
    monkeypatch.setattr(app.assignor, "assigned_actives", lambda: active)
    monkeypatch.setattr(app.assignor, "assigned_standbys", set)
    assigned = {TP(SOURCE, 0), TP(CHANGELOG, 0)}

    async def rebalance() -> Any:
        await recovery.on_rebalance(assigned, set(), assigned, app.consumer_generation_id)

    if restored:
        await rebalance()
        assert recovery.signal_recovery_start.is_set()
    else:
        with pytest.raises(InfrastructureError, match="without eddy-sessions-changelog"):
            await rebalance()
        assert not recovery.signal_recovery_start.is_set()
