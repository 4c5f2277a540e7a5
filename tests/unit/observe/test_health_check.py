"""The check of the image finds whatever runs there, and asks that."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator

import pytest

from streams.observe.health_check import SERVICES, examine, listening, problem
from streams.observe.web import HealthServer
from tests.ports import own_port


class Command:
    """A command with pages."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.status = 200


@pytest.fixture
async def command() -> AsyncIterator[Command]:
    found = Command(own_port())
    server = HealthServer(
        "127.0.0.1",
        found.port,
        live=lambda: (found.status, {"status": "live"}),
        ready=lambda: (200, {}),
        metrics=lambda: b"",
    )
    await server.start()
    yield found
    await server.stop()


def test_ports_are_those_of_the_processes_and_of_no_others() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert port in listening([os.getpid()])
        assert port not in listening([os.getppid()])
        assert listening([]) == set()


async def test_a_command_is_alive_as_its_page_says(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert await asyncio.to_thread(problem, command.port) is None
    command.status = 503
    assert await asyncio.to_thread(problem, command.port) == (
        f"port {command.port}: HTTP Error 503: Service Unavailable"
    )


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_a_service_that_listens_nowhere_is_not_alive(service: str) -> None:
    assert examine(["python", "eddy", service], []) == "it listens on no port"


def test_a_command_without_pages_is_alive_as_long_as_it_runs() -> None:
    assert examine(["python", "eddy", "ingest", "--follow"], []) is None
