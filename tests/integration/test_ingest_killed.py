"""`eddy ingest --follow`, killed again and again while a log grows: nothing lost, the same ids, in order."""

import asyncio
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from streams.kafka.client import connect
from streams.kafka.connection import Connection
from tests.integration.brokers import Broker

KILLS = int(os.environ.get("INGEST_KILLS", "5"))
"""A longer run gives more: `INGEST_KILLS=50 pytest tests/integration/test_ingest_killed.py`."""
SESSIONS = 3
STEPS = 40
"""Calls that the log grows by between two kills."""
PATIENCE_SECONDS = 60


def call(number: int) -> bytes:
    """Return the two lines of one call of one of the sessions."""
    session = f"session-{number % SESSIONS}"
    about = {"sessionId": session, "version": "2", "timestamp": f"2026-01-01T{number // 3600:02}:00:00Z"}
    use = {"type": "tool_use", "id": f"call-{number}", "name": "Bash", "input": {"command": f"make {number}"}}
    result = {"type": "tool_result", "tool_use_id": f"call-{number}", "content": "done"}
    lines: list[dict[str, Any]] = [
        {**about, "type": "assistant", "uuid": f"a{number}", "message": {"content": [use]}},
        {**about, "type": "user", "uuid": f"u{number}", "message": {"content": [result]}},
    ]
    return b"".join(orjson.dumps(line) + b"\n" for line in lines)


class Ingest:
    """The command, on a log that grows."""

    def __init__(self, folder: Path, *goal: str, **environment: str) -> None:
        self.log = folder / "logs" / "a.jsonl"
        self.log.parent.mkdir()
        self._command = [
            *(sys.executable, "-m", "streams", "ingest", str(self.log.parent), *goal),
            *("--content", "full", "--state", str(folder / "state.sqlite")),
        ]
        self._environment = {**os.environ, **environment}

    def follow_until(self, reached: Callable[[], bool], seconds: float) -> None:
        """Follow until something is reached and a while longer, then die without a word."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        with subprocess.Popen(
            [*self._command, "--follow"], env=self._environment, stderr=subprocess.DEVNULL
        ) as process:
            try:
                while not reached() and time.monotonic() < deadline:
                    assert _is_running_after(process, 0.001)
                assert _is_running_after(process, seconds)
            finally:
                process.kill()

    def finish(self) -> None:
        """Read what is left."""
        done = subprocess.run(
            self._command, env=self._environment, timeout=PATIENCE_SECONDS, check=False, capture_output=True
        )
        assert done.returncode == 0, done.stderr.decode()


def _is_running_after(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    return False


def killed_again_and_again(ingest: Ingest, size: Callable[[], int] | None = None) -> int:
    """Let the log grow, cut within lines, while processes are killed; return how many calls it has."""
    chance = random.Random(17)
    data = b"".join(call(number) for number in range(KILLS * STEPS))
    share = len(data) // (2 * KILLS + 1)
    cuts = [share * number + chance.randrange(share // 2) for number in range(1, 2 * KILLS + 1)]
    parts = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    for number, part in enumerate(parts):
        with ingest.log.open("ab") as file:
            file.write(part)
        if number % 2 == 0 and number < 2 * KILLS:
            if size is None:
                ingest.follow_until(lambda: True, chance.uniform(0.6, 1.8))
            else:  # as soon as something was written: before it is remembered, or soon after
                before = size()
                wait = chance.choice([0, 0.001, 0.05])
                ingest.follow_until(lambda before=before: size() > before, wait)  # type: ignore[misc]
    ingest.finish()
    return KILLS * STEPS


def is_complete(records: list[dict[str, Any]], calls: int) -> None:
    """Check that each call came at least once, first in the order of its session, and always the same."""
    found: dict[str, list[str]] = defaultdict(list)
    for record in records:
        found[record["session_id"]].append(record["event_id"])
    for each in range(SESSIONS):
        wanted = [f"call-{number}" for number in range(each, calls, SESSIONS)]
        assert list(dict.fromkeys(found[f"session-{each}"])) == wanted
    assert len({orjson.dumps(record) for record in records}) == calls


def test_a_file_holds_each_record_at_least_once_and_in_order(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    calls = killed_again_and_again(
        Ingest(tmp_path, "--out", str(out)), lambda: out.stat().st_size if out.exists() else 0
    )
    is_complete([orjson.loads(line) for line in out.read_bytes().splitlines()], calls)


@pytest.mark.integration
def test_a_topic_holds_each_record_at_least_once_and_in_order(
    broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    topic = unique("ingested")

    async def create() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
        await admin.start()
        await admin.create_topics([NewTopic(topic, 4, 1)])
        await admin.close()

    async def read() -> list[dict[str, Any]]:
        async with connect(Connection(broker.bootstrap)) as brokers:
            return [orjson.loads(each.value or b"") async for each in brokers.read(topic)]

    asyncio.run(create())
    environment = {
        "EDDY_BOOTSTRAP_SERVERS": broker.bootstrap,
        "EDDY_PRODUCER_IDEMPOTENCE": "true" if broker.kind == "kafka" else "false",
    }
    calls = killed_again_and_again(Ingest(tmp_path, "--to", topic, **environment))
    is_complete(asyncio.run(read()), calls)
