"""A console that anybody could reach without a login does not start."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.console.auth import Access
from streams.console.auth.policy import COMMANDS, LOGINS, Rate, Rates, place_of
from streams.console.settings import ConsoleSettings
from streams.core.errors import ConfigurationError
from tests.unit.console.auth.door_server import settings


def alone(**given: object) -> ConsoleSettings:
    return ConsoleSettings(_env_file=None, **given)  # type: ignore[call-arg, arg-type]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.5", "console.example", "127.0.0.1.example", ""])
def test_an_address_that_others_reach_needs_tokens_a_provider_or_a_proxy(tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigurationError, match="Set EDDY_CONSOLE_TOKENS, EDDY_CONSOLE_OPENID_ISSUER or"):
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


MINUTE_MS = 60_000


@given(
    most=st.integers(1, 5),
    waits=st.lists(st.integers(0, 30_000), max_size=60),
)
def test_no_minute_has_more_than_it_may(most: int, waits: list[int]) -> None:
    rates, rate, now = Rates(), Rate("some", most, ""), 0
    granted: list[int] = []
    for wait in waits:
        now += wait
        left = rates.take(rate, "ana", now)
        if left == 0:
            granted.append(now)
            assert len([at for at in granted if at > now - MINUTE_MS]) <= most
        else:
            assert len([at for at in granted if at > now - MINUTE_MS]) == most
            # What it says to wait is exactly enough.
            assert len([at for at in granted if at > now + left - MINUTE_MS]) < most
            assert len([at for at in granted if at > now + left - 1 - MINUTE_MS]) == most


def test_a_bulk_action_is_not_cut_but_is_waited_for() -> None:
    rates = Rates()
    assert rates.take(COMMANDS, "", 0, count=1_000) == 0
    assert rates.take(COMMANDS, "", 30_000) == 30_000
    assert rates.take(COMMANDS, "", MINUTE_MS) == 0
    assert rates.take(COMMANDS, "", MINUTE_MS, count=300) == MINUTE_MS


def test_what_was_refused_does_not_count() -> None:
    rates = Rates()
    for at in range(100):
        rates.take(LOGINS, "10.0.0.1", at)
    assert rates.take(LOGINS, "10.0.0.1", MINUTE_MS) == 0


def test_a_clock_that_is_set_back_locks_nobody_out() -> None:
    rates = Rates()
    for _ in range(5):
        assert rates.take(LOGINS, "10.0.0.1", 10 * MINUTE_MS) == 0
    assert rates.take(LOGINS, "10.0.0.1", 10 * MINUTE_MS) > 0
    assert rates.take(LOGINS, "10.0.0.1", 0) == 0


def test_limits_and_users_do_not_share() -> None:
    rates, one = Rates(), Rate("one", 1, "")
    assert rates.take(one, "ana", 0) == 0
    assert rates.take(one, "vic", 0) == 0
    assert rates.take(Rate("other", 1, ""), "ana", 0) == 0
    assert rates.take(one, "ana", 0) > 0


def test_memory_is_bounded_whoever_asks() -> None:
    rates = Rates(most_keys=100)
    for number in range(1_000):
        rates.take(LOGINS, f"10.0.{number // 256}.{number % 256}", number)
    assert len(rates._taken) <= 100
    assert rates.take(LOGINS, "10.0.3.231", 1_000) == 0


def test_one_subscriber_of_ipv6_is_one_address() -> None:
    assert place_of("2001:db8:1:2:3::4") == place_of("2001:db8:1:2:ffff::1") != place_of("2001:db8:1:3::1")
    assert place_of("") == place_of("no address")
