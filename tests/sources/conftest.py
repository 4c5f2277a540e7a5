"""What tests with real SDKs need: they are skipped, with a word, where it has not been installed or built."""

from collections.abc import Iterator

import pytest

from tests.integration.apache_kafka import ApacheKafka
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
