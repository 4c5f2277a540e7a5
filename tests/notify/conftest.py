"""A real Alertmanager and a broker; where the packages are missing, each test says what to install."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.conftest import emptied_broker, own_broker, stage, stage_broker
from tests.integration.receiver import Receiver, receiving
from tests.notify.alertmanager import Alertmanager, running
from tests.notify.servers import INSTALL, missing

__all__ = ["emptied_broker", "own_broker", "stage", "stage_broker"]


@pytest.fixture(autouse=True)
def _installed() -> None:
    if found := missing():
        pytest.fail(f"Missing: {', '.join(found)}. As root: {INSTALL}", pytrace=False)


@pytest.fixture
async def phone() -> AsyncIterator[Receiver]:
    """Yield what Alertmanager calls."""
    async with receiving() as found:
        yield found


@pytest.fixture
async def alertmanager(tmp_path: Path, phone: Receiver) -> AsyncIterator[Alertmanager]:
    """Yield a server of its own for the test."""
    (directory := tmp_path / "alertmanager").mkdir()
    async with running(directory, phone) as found:
        yield found
