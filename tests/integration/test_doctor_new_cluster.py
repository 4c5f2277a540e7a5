"""`eddy doctor` on a cluster on which no group has ever committed anything, nor can."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main
from tests.integration.apache_kafka import ApacheKafka

pytestmark = [pytest.mark.integration, pytest.mark.kafka_only("offsets.topic.replication.factor")]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[ApacheKafka]:
    # More replicas than there are nodes: the topic of the offsets cannot be created.
    with ApacheKafka(tmp_path, properties={"offsets.topic.replication.factor": "3"}) as broker:
        yield broker


def test_that_nobody_keeps_the_offsets_is_a_finding_and_the_rest_is_looked_at(
    broker: ApacheKafka, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EDDY_BOOTSTRAP_SERVERS", broker.bootstrap)
    monkeypatch.setenv("EDDY_REPLICAS", "1")
    monkeypatch.setenv("EDDY_DATA_DIR", str(tmp_path / "data"))
    assert CliRunner().invoke(main, ["topics", "apply"]).exit_code == 0
    examined = CliRunner().invoke(main, ["doctor", "--json", "--timeout", "60"])
    assert examined.exit_code == 1
    checks = {check["name"]: check for check in json.loads(examined.stdout)["checks"]}
    assert checks["group"]["status"] == "fail"
    assert "offsets.topic.replication.factor" in checks["group"]["said"]
    assert checks["offsets"]["status"] == "ok"
