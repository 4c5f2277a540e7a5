"""What tests with real SDKs need: they are skipped, with a word, where it has not been installed or built."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.integration.apache_kafka import ApacheKafka
from tests.integration.stage import Stage, delete_topics, prepared
from tests.sources import collector
from tests.sources.sdk import MISSING, PYTHON

#: The time limit of a test: it waits for several processes, and each imports an SDK.
TIMEOUT_SECONDS = 420


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("sources"):
            item.add_marker(pytest.mark.timeout(TIMEOUT_SECONDS))
            if not PYTHON.exists():
                item.add_marker(pytest.mark.skip(reason=MISSING))


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """Yield an Apache Kafka that the tests share."""
    with ApacheKafka(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture
async def stage(kafka: ApacheKafka, tmp_path: Path) -> AsyncIterator[Stage]:
    """Yield topics on it that no other test has written to."""
    await delete_topics(kafka)
    async with prepared(Stage(kafka, tmp_path, application_id=f"eddy-{tmp_path.name}")) as stage:
        yield stage


@pytest.fixture
def program() -> Path:
    """Return the collector."""
    built = collector.collector()
    if built is None:
        pytest.skip("The collector has not been built: run `make collector`.")
    return built
