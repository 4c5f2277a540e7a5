"""A console that anybody could reach without a login does not start."""

from pathlib import Path

import pytest

from streams.console.auth import Access
from streams.console.settings import ConsoleSettings
from streams.core.errors import ConfigurationError
from tests.unit.console.auth.door_server import settings


def alone(**given: object) -> ConsoleSettings:
    return ConsoleSettings(_env_file=None, **given)  # type: ignore[call-arg, arg-type]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.5", "console.example", "127.0.0.1.example", ""])
def test_an_address_that_others_reach_needs_tokens_or_a_proxy(tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigurationError, match="Set EDDY_CONSOLE_TOKENS or EDDY_CONSOLE_TRUSTED_PROXIES"):
        Access.of(alone(console_host=host, console_agent_tokens=None))
    assert Access.of(alone(console_host=host, console_trusted_proxies="10.0.0.0/8"))
    assert Access.of(settings(tmp_path, console_host=host))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_this_machine_needs_a_link_only(host: str) -> None:
    access = Access.of(alone(console_host=host))
    assert access.link("http://here").startswith("http://here/login#t=")


def test_a_file_that_is_not_there_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="EDDY_CONSOLE_AGENT_TOKENS"):
        Access.of(alone(console_agent_tokens=tmp_path / "nowhere"))
