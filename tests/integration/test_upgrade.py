"""From earlier versions to this one with the real code of both: nothing is lost, every session continues."""

import json
import uuid
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pytest

from schemas.bundled import by_id, latest
from streams.core.domain.topic import Topic
from tests.integration.brokers import Broker
from tests.integration.earlier_version import EarlierVersion, first_version, last_release
from tests.integration.load import load
from tests.integration.reference_fold import value_of
from tests.integration.stage import SOON_MISSED, Stage
from tests.integration.test_takeover import share
from tests.integration.upgraded import judge_upgrade

# Each starts five workers, one after the other, and waits for each.
pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

NEWER_STATE = "Start the newer version again"


@pytest.fixture(params=[first_version, last_release], ids=lambda which: str(which.__name__))
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> EarlierVersion:
    """Return an earlier version: the first one, and the one that most users have."""
    (directory := tmp_path / "earlier-version").mkdir()
    found: EarlierVersion = request.param(directory)
    return found


@pytest.fixture
async def upgraded(stage_broker: Broker, earlier: EarlierVersion, tmp_path: Path) -> AsyncIterator[Stage]:
    """Yield a stage whose topics are those of the earlier version, changed to those of this one."""
    stage = Stage(stage_broker, tmp_path, application_id=f"eddy-{uuid.uuid4().hex[:8]}")
    if stage_broker.kind == "kafka":  # the embedded one cannot alter a topic
        await earlier.command(
            stage, "topics", "apply", "--partitions", str(stage.partitions), "--replicas", "1"
        )
    await stage.create_topics()
    yield stage
    stage.close()


async def test_a_rolling_upgrade_under_load_loses_nothing_and_repeats_nothing(
    upgraded: Stage, earlier: EarlierVersion, tmp_path: Path
) -> None:
    """Workers are replaced one by one, in order, each with its own disk; the settings stay in force."""
    stage = upgraded
    await earlier.command(stage, "config", "set", "entropy_window_size=6", "repeat_dedup=rearm")
    disks = [tmp_path / "disk-1", tmp_path / "disk-2"]
    async with stage.pouring(load(stage.partitions, orders=False)):
        running = [earlier.worker(stage, disk, disk.name) for disk in disks]
        for worker in running:
            await share(worker, 2)
            await worker.has_processed(200)
        for number, disk in enumerate(disks):
            running[number].terminate()
            assert await running[number].ended() == 0, running[number].tail()
            running[number] = stage.worker(directory=disk)
            for worker in running:
                await share(worker, 2)
            await running[number].has_processed(200)
    await stage.processed()
    verdict, handover = await judge_upgrade(stage, earlier)
    assert len(handover.before) > 400
    assert len(handover.after) > 400
    assert not handover.twice
    assert sum(verdict.repeated.values()) == 0, verdict
    assert {value_of(each)["eddy"]["settings_version"] for each in await stage.read(Topic.ENRICHED)} == {1}
    await _both_read_what_both_wrote(stage, earlier)


@pytest.mark.parametrize("earlier", [first_version], indirect=True, ids=["first_version"])
async def test_an_old_worker_that_gets_a_partition_of_a_new_one_ends_and_says_so(
    upgraded: Stage, earlier: EarlierVersion, tmp_path: Path
) -> None:
    """Both versions in one group, and both are killed: this is also what a downgrade comes to."""
    stage = upgraded
    disk = tmp_path / "disk"
    async with stage.pouring(load(stage.partitions, orders=False)):
        killed = earlier.worker(stage, disk, "killed", commit_interval_s=600, **SOON_MISSED)
        remaining = earlier.worker(stage, tmp_path / "disk-of-another", "remaining")
        for worker in (killed, remaining):
            await share(worker, 2)
        await killed.has_processed(200)
        killed.kill()
        await share(remaining, 4)
        newer = stage.worker(directory=disk, **SOON_MISSED)
        await share(newer, 2)
        await share(remaining, 2)
        await newer.has_processed(200)
        newer.kill()
        # It gets what the newer one had, with the state and the ledger that it left.
        assert await remaining.ended() == 1, remaining.tail()
        assert NEWER_STATE in remaining.log
        again = stage.worker(directory=disk)
        await share(again, 4)
    await stage.processed()
    _, handover = await judge_upgrade(stage, earlier)
    assert handover.before
    assert handover.after


async def _both_read_what_both_wrote(stage: Stage, earlier: EarlierVersion) -> None:
    """Read the outputs of both versions with the schemas of each, as consumers do."""
    for topic in (Topic.ENRICHED, Topic.SESSION_ALERTS):
        subject = f"{topic}-value"
        known = (earlier.directory / "schemas" / subject).glob("v*.avsc")
        newest = max(known, key=lambda path: int(path.stem.removeprefix("v")))
        readers = (fastavro.parse_schema(json.loads(newest.read_bytes())), latest(subject).parsed)
        written_by = set()
        for stored in await stage.read(topic):
            assert stored.value is not None
            writer = by_id()[int.from_bytes(stored.value[1:5], "big")]
            written_by.add(writer.version)
            written = value_of(stored)
            with_old, with_new = (
                fastavro.schemaless_reader(BytesIO(stored.value[5:]), writer.parsed, reader)
                for reader in readers
            )
            assert _is_part(with_old, written)
            assert _is_part(written, with_new)
        assert written_by == {int(newest.stem.removeprefix("v")), latest(subject).version}


def _is_part(smaller: Any, larger: Any) -> bool:
    """Tell whether a value is another without some of its fields."""
    if isinstance(smaller, dict) and isinstance(larger, dict):
        return smaller.keys() <= larger.keys() and all(
            _is_part(smaller[name], larger[name]) for name in smaller
        )
    if isinstance(smaller, list) and isinstance(larger, list):
        return len(smaller) == len(larger) and all(map(_is_part, smaller, larger))
    return bool(smaller == larger)
