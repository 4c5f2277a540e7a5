"""A console that agents ask, guards and gateways alike, and the operator who commands them."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp.test_utils import TestServer
from eddy_client.protocol import Action, OnTimeout, Scope

from schemas.codec import Codec
from streams.console.app import application
from streams.console.live_console import live_console
from streams.console.settings import ConsoleSettings
from streams.control.command import Command, Issuer
from streams.control.publisher import CommandPublisher
from streams.kafka.client import Brokers, connect
from streams.kafka.clock import now_ms
from streams.kafka.connection import Connection

KEY = "a key of sixteen characters"


@asynccontextmanager
async def agents_console(
    bootstrap: str, directory: Path, tokens: Mapping[str, str]
) -> AsyncIterator[tuple[Brokers, str]]:
    """Open a console on brokers; yield a connection to these, and its address.

    Args:
        bootstrap: Addresses of the brokers.
        directory: Where its archive and its file of tokens go.
        tokens: By the pattern of the agents that each is for.
    """
    lines = (
        f"ci:{pattern}:{hashlib.sha256(token.encode()).hexdigest()}" for pattern, token in tokens.items()
    )
    file = directory / "agents"
    file.write_text("\n".join(lines) + "\n")
    settings = ConsoleSettings(
        _env_file=None,
        console_dir=directory / "console",
        web_port=0,
        console_agent_tokens=file,
        command_key=KEY,
    )
    async with (
        connect(Connection(bootstrap)) as brokers,
        live_console(settings, brokers, Codec.bundled(), "here", now_ms, from_beginning=True) as live,
        TestServer(application(live[0], live[1])) as server,
    ):
        yield brokers, str(server.make_url("")).rstrip("/")


async def issue(
    brokers: Brokers, action: Action, session_id: str, key: str | None = KEY, message: str | None = None
) -> str:
    """Command a session for an hour, signed with a key; return the id of the command."""
    now = now_ms()
    command = Command(
        command_id=uuid.uuid4().hex,
        scope=Scope.SESSION,
        session_id=session_id,
        action=action,
        issued_at=now,
        expires_at=now + 3_600_000,
        reason="it goes in circles",
        issuer=Issuer(kind="operator", name="ana"),
        on_timeout=OnTimeout.RESUME if action is Action.PAUSE else None,
        message=message,
    )
    await CommandPublisher(brokers, Codec.bundled(), key.encode() if key else None).issue([command])
    return command.command_id
