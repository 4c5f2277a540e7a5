"""Tokens of OAUTHBEARER: from a file, a command or a function, asked at each login, never shown."""

import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from faust.transport.drivers.aiokafka import credentials_to_aiokafka_auth

from streams.core.errors import ConfigurationError
from streams.kafka.connection import Connection
from streams.kafka.oauth_token import TokenProvider, TokenSource
from streams.observe.settings import ConnectionSettings, load
from streams.worker.endpoints import connection
from streams.worker.faust.app_settings import faust_credentials

SECRET = "header.claims.signature"


def by_file(path: Path) -> Connection:
    return Connection("127.0.0.1:9092", "SASL_PLAINTEXT", "OAUTHBEARER", oauth_token=TokenSource(file=path))


async def test_a_token_that_is_renewed_is_used_at_the_next_login(tmp_path: Path) -> None:
    (path := tmp_path / "token").write_text("first\n")
    provider = TokenProvider(TokenSource(file=path))
    assert await provider.token() == "first"
    path.write_text("second\n")
    assert await provider.token() == "second"
    assert provider.extensions() == {}


def test_a_command_prints_a_token_without_a_shell() -> None:
    command = f"{sys.executable} -c \"print('{SECRET}; echo')\""
    assert TokenSource(command=command).read() == f"{SECRET}; echo"


def test_a_file_in_another_encoding_is_no_token(tmp_path: Path) -> None:
    (path := tmp_path / "token").write_text(SECRET, encoding="utf-16")
    with pytest.raises(OSError, match="EDDY_SASL_OAUTH_TOKEN_FILE gave something else") as error:
        TokenSource(file=path).read()
    assert SECRET not in str(error.value)


def test_a_command_has_no_input() -> None:
    """It would wait for an answer that never comes, on what ties a worker to its supervisor."""
    command = f"{sys.executable} -c \"import sys; print('token of ' + str(len(sys.stdin.read())))\""
    reading, writing = os.pipe()
    kept = os.dup(0)
    try:
        os.dup2(reading, 0)
        assert TokenSource(command=command).read() == "token of 0"
    finally:
        os.dup2(kept, 0)
        for descriptor in (reading, writing, kept):
            os.close(descriptor)


@pytest.mark.parametrize("function", ["one", "with_its_end"])
def test_a_function_returns_a_token_alone_or_with_its_end(function: str) -> None:
    source = TokenSource(provider=f"{__name__}:{function}", argument="eu-west-1")
    assert source.read() == f"{SECRET} of eu-west-1"


def one(region: str) -> str:
    return f"{SECRET} of {region}"


def with_its_end(region: str) -> tuple[str, int]:
    return one(region), 1_700_000_000_000


def refusing() -> str:
    raise RuntimeError(SECRET)


@pytest.mark.parametrize(
    "source",
    [
        TokenSource(file=Path("/nowhere/token")),
        TokenSource(command="/nowhere/program"),
        TokenSource(command=f"{sys.executable} -c \"print('{SECRET}'); raise SystemExit(3)\""),
        TokenSource(command="true"),
        TokenSource(command=f"{sys.executable} -c \"print('{SECRET}\xe9')\""),
        TokenSource(provider=f"{__name__}:refusing"),
        TokenSource(provider=f"{__name__}:missing"),
        TokenSource(provider="no_such_module:token"),
    ],
    ids=["no file", "no program", "failed", "nothing", "no token", "refused", "no function", "no module"],
)
def test_without_a_token_the_client_waits_and_nothing_is_shown(source: TokenSource) -> None:
    # aiokafka tries again after an OSError.
    with pytest.raises(OSError) as error:
        source.read()
    assert SECRET not in str(error.value)


async def test_every_client_and_the_worker_ask_the_same_source(tmp_path: Path) -> None:
    (path := tmp_path / "token").write_text(SECRET)
    reached = by_file(path)
    options = reached.client_options()
    assert "sasl_plain_username" not in options
    consumer, producer = AIOKafkaConsumer(**options), AIOKafkaProducer(**options)
    await consumer.stop()
    await producer.stop()
    AIOKafkaAdminClient(**options)
    auth = credentials_to_aiokafka_auth(faust_credentials(reached))
    for asked in (options, auth):
        assert asked["sasl_mechanism"] == "OAUTHBEARER"
        assert asked["security_protocol"] == "SASL_PLAINTEXT"
        assert await asked["sasl_oauth_token_provider"].token() == SECRET
    assert str(path) not in repr(reached)


def test_the_settings_name_exactly_one_source(tmp_path: Path) -> None:
    (path := tmp_path / "token").write_text(SECRET)
    sasl = {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"}
    for wrong in ({}, {"sasl_oauth_token_file": path, "sasl_oauth_token_command": "true"}):
        with pytest.raises(ConfigurationError, match="EDDY_SASL_OAUTH_TOKEN_FILE"):
            load(ConnectionSettings, **sasl, **wrong)
    settings = load(ConnectionSettings, **sasl, sasl_oauth_token_file=path)
    provider = connection(settings).token_provider()
    assert provider is not None


@pytest.mark.parametrize("wrong", ["module", "module:", "module:call()", "a b:c"])
def test_a_function_is_named_by_its_module(wrong: str) -> None:
    with pytest.raises(ConfigurationError, match="EDDY_SASL_OAUTH_TOKEN_PROVIDER"):
        load(ConnectionSettings, sasl_oauth_token_provider=wrong)


def test_a_command_that_cannot_be_split_is_refused_at_start() -> None:
    with pytest.raises(ConfigurationError, match="EDDY_SASL_OAUTH_TOKEN_COMMAND: cannot be split") as error:
        load(ConnectionSettings, sasl_oauth_token_command=f"print-token 'of {SECRET}")
    assert SECRET not in str(error.value)


def test_a_command_that_does_not_end_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    (script := tmp_path / "token").write_text(
        f"#!/bin/sh\nsleep infinity &\necho $! $$ >{tmp_path}/started\nsleep infinity\n"
    )
    script.chmod(0o700)
    for seconds in (1, 4, 16, 64):  # enough for it to start, on any machine
        with pytest.raises(OSError, match=f"did not end within {seconds} s"):
            TokenSource(command=str(script), seconds=seconds).read()
        if (tmp_path / "started").exists():
            break
    started = [int(number) for number in (tmp_path / "started").read_text().split()]
    while any(map(_lives, started)):  # a signal takes a moment; the test has a time limit
        time.sleep(0.01)


def _lives(number: int) -> bool:
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def test_a_function_that_hangs_is_given_up_and_asked_again() -> None:
    """The login fails, so that the client tries again; what has hung keeps nobody from a token."""
    source = TokenSource(provider=f"{__name__}:at_the_second_call", seconds=0.2)
    provider = TokenProvider(source)
    try:
        with pytest.raises(OSError, match=r"No token within 0\.2 s"):
            await provider.token()
        got = None
        while got is None:
            with suppress(OSError):  # on a slow machine
                got = await provider.token()
        assert got == SECRET
    finally:
        _GO_ON.set()


_CALLS: list[None] = []
_GO_ON = threading.Event()


def at_the_second_call() -> str:
    _CALLS.append(None)
    if len(_CALLS) == 1:
        _GO_ON.wait()
    return SECRET


async def test_a_function_that_always_hangs_holds_few_threads() -> None:
    provider = TokenProvider(TokenSource(provider=f"{__name__}:never", seconds=0.05))
    before = threading.active_count()
    try:
        for _ in range(10):
            with pytest.raises(OSError, match="No token"):
                await provider.token()
        assert threading.active_count() - before <= 4
    finally:
        _NEVER.set()


_NEVER = threading.Event()


def never() -> str:
    _NEVER.wait()
    return SECRET
