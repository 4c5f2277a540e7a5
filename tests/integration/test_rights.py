"""With the rights that the documents list, and no others, each program does all it has to."""

import asyncio
import itertools
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from eddy_client.protocol import Status

from schemas.codec import Codec
from streams.cli import main
from streams.cli.command_group import BROKER_UNREACHABLE, WRONG_INPUT
from streams.control.command import Command
from streams.control.outcome import Ack
from streams.control.publisher import CommandPublisher
from streams.core.domain.topic import Topic
from streams.core.errors import InfrastructureError
from streams.kafka.client import connect
from streams.observe.settings import CommandSettings
from streams.worker.endpoints import connection
from tests.integration.apache_kafka import ApacheKafka
from tests.integration.load import load
from tests.integration.rights import AUTHORIZED, Kind, Operation, Right, grant
from tests.integration.secured_listener import PASSWORD, USER, SecuredListener
from tests.integration.spans import Bridges, agents
from tests.integration.stage import Stage, delete_topics

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


#: Users of the control loop, and what docs/control.md calls them.
ROLES = {"shell": "eddy session", "guard": "a guard that uses Kafka", "viewer": "a console of viewers"}


def of_role(role: str) -> list[Right]:
    """Return the rights of the table in docs/control.md for one role."""
    rows = re.findall(
        r"^\| (.+?) \| (topic|group) \| (.+?) \| ([A-Za-z, ]+) \|$",
        (DOCS / "control.md").read_text(),
        re.MULTILINE,
    )
    return [
        Right(_KINDS[kind], name, _OPERATIONS[operation])
        for whose, kind, names, operations in rows
        if whose == role
        for name in names.replace("`", "").split(", ")
        for operation in operations.split(", ")
    ]


@pytest.fixture(scope="module")
def listener(tmp_path_factory: pytest.TempPathFactory) -> SecuredListener:
    return SecuredListener(tmp_path_factory.mktemp("certificates"), ROLES)


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
    await delete_topics(broker)  # what another test of this broker has sent would be judged, too
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


async def test_a_shell_and_a_guard_need_the_rights_that_are_listed_and_no_guard_may_command(
    stage: Stage, broker: ApacheKafka, access: dict[str, object]
) -> None:
    for user, role in ROLES.items():
        rights = of_role(role)
        assert rights, role
        await grant(broker.bootstrap, user, rights)
    environment = {f"EDDY_{name.upper()}": str(value) for name, value in access.items()}
    shell = CliRunner(env={**environment, "EDDY_SASL_USERNAME": "shell"})
    words = ["session", "pause", "s-17", "--why", "it loops", "--wait", "0"]
    asked = await asyncio.to_thread(shell.invoke, main, words)
    assert asked.exit_code == 0, asked.output

    settings = CommandSettings(**{**access, "sasl_username": "guard"})  # type: ignore[arg-type]
    async with connect(connection(settings)) as brokers:
        publisher = CommandPublisher(brokers, Codec.bundled(), None)
        [read] = [each async for each in brokers.read(Topic.SESSION_COMMANDS)]
        await publisher.acknowledge(
            [Ack(id="a", session_id="s-17", status=Status.ATTACHED, at=0, guard_id="g")]
        )
        fields = Codec.bundled().decoder("session-commands-value").decode(read.value, tuple(read.headers))
        with pytest.raises(InfrastructureError, match="whether this user may write there"):
            await publisher.issue([Command.of(fields)])

    shown = await asyncio.to_thread(shell.invoke, main, ["session", "commands", "s-17"])
    assert (shown.exit_code, shown.stderr) == (0, ""), shown.output
    assert "it loops" in shown.stdout

    viewer = CommandSettings(**{**access, "sasl_username": "viewer"})  # type: ignore[arg-type]
    async with connect(connection(viewer)) as brokers:
        assert len([each async for each in brokers.read(Topic.SESSION_COMMANDS)]) == 1
        with pytest.raises(InfrastructureError, match="whether this user may write there"):
            await CommandPublisher(brokers, Codec.bundled(), None).issue([Command.of(fields)])


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
