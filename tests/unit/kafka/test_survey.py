"""Why a bootstrap server does not let us in, in words that name the setting."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiokafka.errors import SaslAuthenticationFailed, UnsupportedSaslMechanismError

from streams.kafka import survey
from streams.kafka.connection import Connection
from streams.kafka.survey import ServerAnswer, answers
from tests.unit.kafka.test_connection import Authority, server


async def at_once() -> None:
    """Wait for nothing."""


@asynccontextmanager
async def listener(*, hangs_up: bool, when: Callable[[], Awaitable[object]] = at_once) -> AsyncIterator[int]:
    """Listen, and say nothing, or hang up: at once, or later."""

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await when()
        if not hangs_up:
            await reader.read()
        writer.close()

    listening = await asyncio.start_server(meet, "127.0.0.1", 0)
    async with listening:
        yield listening.sockets[0].getsockname()[1]


def made(directory: Path) -> Path:
    directory.mkdir()
    return directory


async def asked(port: int, within: float = 60.0, **options: Any) -> ServerAnswer:
    [answer] = await answers(Connection(f"127.0.0.1:{port}", **options), within)
    assert answer.server == f"127.0.0.1:{port}"
    assert answer.problem is not None
    return answer


async def test_nobody_listens() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # so that nobody else can listen there
        port = closed.getsockname()[1]
        assert "Nothing listens there" in (await asked(port)).advice


@pytest.mark.parametrize("hangs_up", [True, False])
async def test_somebody_else_listens(hangs_up: bool) -> None:
    async with listener(hangs_up=hangs_up) as port:
        answer = await asked(port, within=60 if hangs_up else 1)
    assert "EDDY_SECURITY_PROTOCOL" in answer.advice
    if not hangs_up:
        assert answer.problem == "no answer within 1 s"


async def test_a_certificate_of_an_unknown_authority(tmp_path: Path) -> None:
    theirs, ours = (Authority(made(tmp_path / name)) for name in ("theirs", "ours"))
    async with server(theirs.issue("localhost")) as port:
        # The address is not the certificate's name: that would be complained about first.
        own = str(ours.identity.certificate)
        answer = await asked(port, security_protocol="SSL", ssl_cafile=own, ssl_check_hostname=False)
    assert "EDDY_SSL_CAFILE" in answer.advice
    assert "CERTIFICATE_VERIFY_FAILED" in (answer.problem or "")


@pytest.mark.parametrize(
    ("error", "variable"),
    [
        (SaslAuthenticationFailed("Invalid credentials"), "EDDY_SASL_PASSWORD"),
        (UnsupportedSaslMechanismError("only SCRAM"), "EDDY_SASL_MECHANISM"),
    ],
)
async def test_a_login_that_is_refused(
    error: Exception, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(survey, "create_conn", refuse)
    answer = await asked(1, security_protocol="SASL_PLAINTEXT", sasl_username="ann", sasl_password="secret")
    assert variable in answer.advice
    assert str(error.args[0]) in (answer.problem or "")
    assert "secret" not in repr(answer)


async def test_every_server_is_asked_at_the_same_time() -> None:
    both = asyncio.Barrier(2)
    async with listener(hangs_up=True, when=both.wait) as one, listener(hangs_up=True, when=both.wait) as two:
        found = await answers(Connection(f"127.0.0.1:{one}, 127.0.0.1:{two}"), 60.0)
    assert [answer.server for answer in found] == [f"127.0.0.1:{one}", f"127.0.0.1:{two}"]
    # Each has hung up, which neither does before the other is asked, too.
    assert not [answer.problem for answer in found if "no answer" in (answer.problem or "")]
