"""Brokers for the integration tests: the embedded one, or Apache Kafka with `--broker kafka`."""

import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.brokers import Broker, Linked, new_broker
from tests.integration.receiver import Receiver, receiving
from tests.integration.stage import Stage, delete_topics, prepared
from tests.network import Link
from tests.ports import own_port

#: The time limit of a test: it waits for several things, and for each as long as anything happens.
TIMEOUT_SECONDS = 420

#: Fixtures through which a test uses the broker that `--broker` names: each other such fixture requires one.
BROKER_FIXTURES = {"broker", "own_broker", "stage_broker", "link"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("integration") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TIMEOUT_SECONDS))
    # Those with the longest limits take longest: begun first, none of them is waited for at the end.
    items.sort(key=time_limit, reverse=True)
    if config.getoption("--broker") == "kafka":
        only_with_broker(config, items)
        return
    for item in items:
        if marker := item.get_closest_marker("kafka_only"):
            (reason,) = marker.args
            item.add_marker(pytest.mark.skip(reason=f"needs --broker kafka: {reason}"))


def time_limit(item: pytest.Item) -> float:
    """Return the seconds that a test may take; 0 for one without processes of its own."""
    marker = item.get_closest_marker("timeout")
    return float(marker.args[0]) if marker else 0.0


def only_with_broker(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests with which a run on Apache Kafka proves nothing: they use no broker, or any will do."""
    without = [
        item
        for item in items
        if isinstance(item, pytest.Function)
        and not item.get_closest_marker("kafka_only")
        and (BROKER_FIXTURES.isdisjoint(item.fixturenames) or item.get_closest_marker("any_broker"))
    ]
    if without:
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item not in without]


@pytest.fixture(scope="session")
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Yield the broker all tests share: `.bootstrap` and `.kind` ("embedded" or "kafka").

    One broker for the whole run, because Apache Kafka takes three to seven seconds to start. Tests stay
    independent by using names nobody else uses, from `unique`: topics, groups, transactional ids. A test
    that must use fixed names, or that stops, hangs or kills its broker, takes `own_broker`.
    """
    with new_broker(request.config.getoption("--broker"), tmp_path_factory.mktemp("broker")) as shared:
        yield shared


@pytest.fixture
def own_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    """Yield a fresh broker that belongs to one test: to stop, kill and restart, or to use fixed names on.

    Costs 20 ms on the embedded broker and several seconds on Apache Kafka.
    """
    directory = tmp_path / "broker"
    directory.mkdir()
    with new_broker(request.config.getoption("--broker"), directory) as own:
        yield own


@pytest.fixture
def unique(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Return a function that makes names no other test uses: `unique("topic")` is one, always the same."""
    test = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:60]
    suffix = uuid.uuid4().hex[:8]
    return lambda word: f"{word}-{test}-{suffix}"


@pytest.fixture
async def link(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Linked]:
    """Yield a fresh broker behind a link."""
    (directory := tmp_path / "broker").mkdir()
    port = own_port()
    with new_broker(request.config.getoption("--broker"), directory, advertised_port=port) as broker:
        made = Link([(port, int(broker.bootstrap.rpartition(":")[2]))])
        await made.open()
        yield Linked(broker, made)
        await made.close()


@pytest.fixture
async def linked_stage(link: Linked, tmp_path: Path) -> AsyncIterator[tuple[Stage, Link]]:
    """Yield a stage whose broker is reached through a link, and the link."""
    async with prepared(Stage(link, tmp_path, application_id="eddy")) as stage:
        yield stage, link.link


@pytest.fixture
def stage_broker(request: pytest.FixtureRequest) -> Broker:
    """Return a broker without the job's topics. Their names are fixed, so a test has it for itself."""
    kind = request.config.getoption("--broker")
    broker: Broker = request.getfixturevalue("own_broker" if kind == "embedded" else "emptied_broker")
    return broker


@pytest.fixture
async def emptied_broker(broker: Broker) -> Broker:
    """Return the shared broker with its topics deleted: quicker than starting another Apache Kafka."""
    await delete_topics(broker)
    return broker


@pytest.fixture
async def stage(stage_broker: Broker, tmp_path: Path) -> AsyncIterator[Stage]:
    """Yield the job's topics with four partitions on a broker that nobody else uses; workers end with it."""
    async with prepared(
        Stage(stage_broker, tmp_path, application_id=f"eddy-{uuid.uuid4().hex[:8]}")
    ) as stage:
        yield stage


@pytest.fixture
async def stage_on_own_broker(own_broker: Broker, tmp_path: Path) -> AsyncIterator[Stage]:
    """Yield a stage whose broker may be killed."""
    async with prepared(Stage(own_broker, tmp_path, application_id="eddy")) as stage:
        yield stage


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """Something that takes alerts, and listens on the loopback address."""
    async with receiving() as found:
        yield found
