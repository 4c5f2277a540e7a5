"""A server behind the door."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.console.auth.door_server import Server, running, settings


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """Return a server with people and agents, and no proxy."""
    async with running(settings(tmp_path)) as running_server:
        yield running_server
