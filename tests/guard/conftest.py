"""What tests with real SDKs need. They run in an environment of their own, which `make test-guard` makes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import pytest

from tests.guard.console import Console
from tests.guard.operator import Operator
from tests.guard.work import Work

NEEDED = ("agents", "claude_agent_sdk", "langchain", "langgraph")
MISSING = [name for name in NEEDED if find_spec(name) is None]

collect_ignore_glob = ["test_*.py"] if MISSING else []


def pytest_configure(config: pytest.Config) -> None:
    if MISSING and "guard" in str(config.option.markexpr).replace("not guard", ""):
        raise pytest.UsageError(
            f"The SDKs of agents are missing ({', '.join(MISSING)}): run `make test-guard`."
        )


@pytest.fixture
def operator() -> Iterator[Operator]:
    operator = Operator()
    yield operator
    operator.close()


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def background(operator: Operator | Console) -> Iterator[ThreadPoolExecutor]:
    """Yield a thread for an agent, which ends with the test, however that ends."""
    with ThreadPoolExecutor(1) as pool:
        yield pool
        operator.release()
