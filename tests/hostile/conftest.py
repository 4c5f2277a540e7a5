"""The ground of the hostile records: Apache Kafka alone takes them, the embedded broker says nothing here."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.hostile.ground import Ground, prepared_ground

#: The time limit of a case: it waits for several things, and for each as long as anything happens.
TIMEOUT_SECONDS = 420


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    needs_kafka = pytest.mark.skip(reason="needs --broker kafka: run `make test-hostile`")
    for item in items:
        if "ground" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(TIMEOUT_SECONDS))
            if config.getoption("--broker") != "kafka":
                item.add_marker(needs_kafka)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["at_least_once", "exactly_once"])
async def ground(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Ground]:
    """Yield a worker that all cases share, one for each guarantee."""
    async with prepared_ground(tmp_path_factory.mktemp("ground"), request.param) as prepared:
        yield prepared
