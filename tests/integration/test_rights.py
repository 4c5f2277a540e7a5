"""A worker with the rights that docs/exactly-once.md lists, and no others, does all it has to."""

import itertools
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from streams.cli.lazy_group import BROKER_UNREACHABLE, WRONG_INPUT
from tests.integration.apache_kafka import ApacheKafka
from tests.integration.load import load
from tests.integration.rights import AUTHORIZED, Kind, Operation, Right, grant
from tests.integration.secured_listener import PASSWORD, USER, SecuredListener
from tests.integration.spans import Bridges, agents
from tests.integration.stage import Stage

pytestmark = [pytest.mark.integration, pytest.mark.kafka_only("rights")]

DOCS = Path(__file__).parents[2] / "docs"
_KINDS = {"topic": Kind.TOPIC, "group": Kind.GROUP, "transactional id": Kind.TRANSACTIONAL_ID}
_OPERATIONS = {
    "Read": Operation.READ,
    "Write": Operation.WRITE,
    "Describe": Operation.DESCRIBE,
    "DescribeConfigs": Operation.DESCRIBE_CONFIGS,
}


def listed(application_id: str, page: str = "exactly-once.md") -> list[Right]:
    """Return the rights of the table in a page of the documentation, for this application id."""
    found = []
    rows = re.findall(
        r"^ *\| ([a-z ]+?)(, prefixed)? \| (.+?) \| ([A-Za-z, ]+) \|$",
        (DOCS / page).read_text(),
        re.MULTILINE,
    )
    for kind, prefixed, names, operations in rows:
        if kind not in _KINDS:
            continue
        for name in names.split(", "):
            full = (
                name.replace("`", "")
                .replace("EDDY_TOPIC_PREFIX + EDDY_APPLICATION_ID", application_id)
                .replace(" + ", "")
            )
            found += [
                Right(_KINDS[kind], full, _OPERATIONS[each], bool(prefixed))
                for each in operations.split(", ")
            ]
    return found


@pytest.fixture(scope="module")
def listener(tmp_path_factory: pytest.TempPathFactory) -> SecuredListener:
    return SecuredListener(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def broker(listener: SecuredListener, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    directory = tmp_path_factory.mktemp("authorized")
    with ApacheKafka(directory, properties=AUTHORIZED, secured=listener) as broker:
        yield broker


@pytest.fixture
def access(broker: ApacheKafka, listener: SecuredListener) -> dict[str, object]:
    """What an operator sets for a worker that commits transactions."""
    return {
        "bootstrap_servers": broker.secured_bootstrap,
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_username": USER,
        "sasl_password": PASSWORD,
        "ssl_cafile": listener.ca_file,
        "processing_guarantee": "exactly_once",
    }


@pytest.fixture
async def stage(broker: ApacheKafka, tmp_path: Path) -> AsyncIterator[Stage]:
    stage = Stage(broker, tmp_path, application_id=f"eddy-{uuid.uuid4().hex[:8]}", partitions=2)
    await stage.create_topics()
    yield stage
    stage.close()


async def test_with_the_rights_that_are_listed_transactions_work_and_without_their_ids_a_worker_says_so(
    stage: Stage, broker: ApacheKafka, access: dict[str, object]
) -> None:
    rights = listed(stage.application_id)
    ids = [right for right in rights if right.kind is Kind.TRANSACTIONAL_ID]
    assert {right.operation for right in ids} == {Operation.WRITE, Operation.DESCRIBE}
    await grant(broker.bootstrap, USER, [right for right in rights if right not in ids])
    worker = stage.worker(**access)
    assert await worker.ended() == WRONG_INPUT, worker.tail()
    last = worker.log.splitlines()[-1]
    assert f"do not let this worker use the transactional id {stage.application_id}-check" in last
    assert (
        f"Allow Write and Describe on the transactional ids that begin with {stage.application_id}-" in last
    )
    assert "Traceback" not in worker.log

    await grant(broker.bootstrap, USER, ids)
    worker = stage.worker(**access)
    await stage.send(itertools.islice(load(stage.partitions), 200))
    await stage.processed()
    await stage.verdict()
    worker.terminate()
    assert await worker.ended() == 0, worker.tail()
    assert "uthorization" not in worker.log


async def test_with_the_rights_that_are_listed_a_bridge_does_all_it_has_to(
    stage: Stage, broker: ApacheKafka, access: dict[str, object]
) -> None:
    await grant(broker.bootstrap, USER, listed(stage.application_id, "bridge.md"))
    bridges = Bridges(stage, bridge_hold_ms=100, **access)
    await bridges.send(agents(traces=4, calls=3))
    bridge = bridges.start()
    await bridges.until_there(12, bridge)
    bridge.terminate()
    assert await bridge.ended() == 0, bridge.tail()
    assert "uthorization" not in bridge.log


async def test_without_the_right_to_its_group_a_worker_ends_and_says_so(
    stage: Stage, broker: ApacheKafka, access: dict[str, object]
) -> None:
    rights = [right for right in listed(stage.application_id) if right.kind is Kind.TOPIC]
    await grant(broker.bootstrap, USER, rights)
    worker = stage.worker(**access | {"processing_guarantee": "at_least_once"})
    assert await worker.ended() == BROKER_UNREACHABLE, worker.tail()
    last = worker.log.splitlines()[-1]
    assert "GroupAuthorizationFailedError" in last
    assert "may Read its group" in last
