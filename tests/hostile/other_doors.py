"""What comes in beside the records: settings documents, and connections to the web port."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import ExitStack

import orjson

from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.core.settings_document import LARGEST_VERSION
from tests.hostile.case import Case, Letter
from tests.hostile.ground import Ground
from tests.integration.worker_process import PATIENCE_SECONDS, until


async def _publish(ground: Ground, document: dict[str, object], said: str) -> None:
    record = Outgoing(b"settings", orjson.dumps(document), 1_760_000_000_000)
    await ground.send(record, topic=Topic.DETECTOR_CONFIG)
    await until(lambda: said in ground.worker.log, PATIENCE_SECONDS, said, ground.worker)


async def _last_version(ground: Ground, _: str) -> Iterable[Letter]:
    """Put the largest version in force, then change the settings as an operator does."""
    for version in (LARGEST_VERSION // 2, LARGEST_VERSION - 1, LARGEST_VERSION):
        await _publish(ground, {"version": version}, f"Settings version {version} is in force")
    said = await ground.stage.command("config", "set", "cycle_loop=7", "--why", "it is possible")
    assert "version 1 " in said
    line = "Settings version 1 is in force"
    await until(lambda: line in ground.worker.log, PATIENCE_SECONDS, line, ground.worker)
    return ()


async def _patterns(ground: Ground, _: str) -> Iterable[Letter]:
    searched = {"version": 2, "read_tools": [f"[a-z]*{number:04}?" for number in range(10_000)]}
    await _publish(ground, searched, "Settings version 2 is in force")
    assert "Setting 'read_tools': must be a list of texts" in ground.worker.log
    looked_up = {"version": 3, "read_tools": [f"a_tool_{number:04}*" for number in range(10_000)]}
    await _publish(ground, looked_up, "Settings version 3 is in force")
    await _publish(ground, {"version": 4}, "Settings version 4 is in force")
    return ()


async def _half_open(ground: Ground, _: str) -> Iterable[Letter]:
    address = await ground.worker.address()
    with ExitStack() as opened:
        for _ in range(900):
            connection = opened.enter_context(socket.create_connection(address))
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n")
        assert (await ground.worker.get("/livez"))[0] == 200
    return ()


CASES = (
    Case("settings documents up to the last version", _last_version),
    Case("settings documents with 120 kB of patterns", _patterns),
    Case("900 half-open requests to the web port", _half_open),
)
