"""Brokers in several zones: a worker reads from the copies in its own (KIP-392)."""

import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main
from tests.faults.cluster import NODES, KafkaCluster
from tests.integration.apache_kafka import ApacheKafka
from tests.integration.load import load
from tests.integration.stage import Stage, prepared

pytestmark = [pytest.mark.integration, pytest.mark.kafka_only("the embedded broker is one node")]

ZONE = "zone-2"


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[KafkaCluster]:
    (brokers := tmp_path / "brokers").mkdir()
    cluster = KafkaCluster(brokers, links=2, zoned=True)
    try:
        await cluster.start()
        yield cluster
    finally:
        await cluster.close()


async def test_a_worker_reads_its_input_and_restores_its_state_within_its_zone(
    cluster: KafkaCluster, tmp_path: Path
) -> None:
    stage = Stage(cluster, tmp_path / "workers", application_id="eddy", replicas=NODES)
    async with prepared(stage):
        await stage.send(itertools.islice(load(stage.partitions), 4_000))
        await cluster.in_sync()
        for link in cluster.links:  # the second worker has a new disk
            worker = stage.worker(bootstrap_servers=link.bootstrap, client_rack=ZONE)
            await worker.ready()
            await stage.processed()
            worker.terminate()
            assert await worker.ended() == 0, worker.tail()
            await cluster.in_sync()
        verdict = await stage.verdict()
        assert sum(verdict.repeated.values()) == 0
        for link in cluster.links:
            own = link.sent_to_worker.pop(1)
            assert own > 4 * sum(link.sent_to_worker), f"{own} of its zone, {link.sent_to_worker} of others"
        [zone] = [
            check
            for check in json.loads(await stage.command("doctor", "--json", client_rack=ZONE))["checks"]
            if check["name"] == "zone"
        ]
        assert zone["status"] == "ok"
        assert ZONE in zone["said"]


def test_brokers_with_zones_that_name_only_leaders_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ApacheKafka(tmp_path, properties={"broker.rack": ZONE}) as broker:
        monkeypatch.setenv("EDDY_BOOTSTRAP_SERVERS", broker.bootstrap)
        monkeypatch.setenv("EDDY_CLIENT_RACK", ZONE)
        monkeypatch.setenv("EDDY_DATA_DIR", str(tmp_path / "data"))
        examined = CliRunner().invoke(main, ["doctor", "--json"])
    [zone] = [check for check in json.loads(examined.stdout)["checks"] if check["name"] == "zone"]
    assert zone["status"] == "warn"
    assert "replica.selector.class" in zone["advice"]
