"""Options of the whole suite."""

import os
from pathlib import Path

import hypothesis
import pytest

from tests.empty_home import enter

# A shared machine may stall for longer than any deadline, also while examples are drawn; the timeout of
# pytest stands in. Continuous integration draws the same examples each time: what it refuses, the change did.
# Other runs look at others, a few each; `--hypothesis-profile thorough` looks at many.
hypothesis.settings.register_profile(
    "suite",
    deadline=None,
    derandomize="CI" in os.environ,
    max_examples=40,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile("thorough", hypothesis.settings.get_profile("suite"), max_examples=1000)
hypothesis.settings.load_profile("suite")

VECTORS = Path(__file__).parent / "conformance" / "vectors"


def pytest_configure(config: pytest.Config) -> None:
    """Give all tests an empty home, before any of their modules is imported."""
    if not hasattr(config, "workerinput"):  # a process of xdist: it has inherited the one of the whole run
        config.add_cleanup(enter(os.environ))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--broker",
        choices=["embedded", "kafka"],
        default="embedded",
        help="the broker of the integration tests: the embedded one, or Apache Kafka from Maven Central",
    )
    parser.addoption(
        "--conformance",
        metavar="DIR",
        type=Path,
        default=VECTORS,
        help="where the conformance vectors are (default: the copies in tests/conformance/vectors)",
    )


@pytest.fixture(scope="session")
def conformance_dir(request: pytest.FixtureRequest) -> Path:
    """The folder of the conformance vectors."""
    return request.config.getoption("--conformance")
