"""The logs of agents, followed and judged without Kafka."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from streams.cli.top.log_source import LogSource
from streams.cli.top.picture import picture
from streams.core.detectors.settings import DEFAULTS
from streams.formats.format_detection import FormatDetection
from tests.unit.formats.ingest.following import LOG

HOUR_MS = 3_600_000


def now() -> int:
    return int(time.time() * 1000)


@asynccontextmanager
async def following(folder: Path, within_ms: int = HOUR_MS) -> AsyncIterator[LogSource]:
    source = LogSource([str(folder)], FormatDetection(), DEFAULTS, now, within_ms)
    reading = asyncio.create_task(source.run())
    try:
        await source.caught_up()
        yield source
    finally:
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading


async def test_a_log_is_judged_with_the_events_that_the_job_would_publish(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(LOG.read_bytes())
    async with following(tmp_path) as source:
        (session_id,) = source.model.cases
        found = picture(source.model, source.reading(), now(), within_ms=10**15)
        assert found.ids == [session_id]
        assert found.rows[0]["what"].endswith("(R1)")
        assert (found.reading.source, found.reading.behind) == ("1 log of claude-code", 0)
        assert [each["eddy"]["step"] for each in source.steps.of(session_id)] == [1, 2, 3, 4, 5, 6, 7]


async def test_a_file_that_has_not_changed_for_long_is_not_opened(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(LOG.read_bytes())
    os.utime(log, (0, 0))
    async with following(tmp_path) as source:
        assert source.model.cases == {}
        assert source.reading().source == "0 logs"
        assert source.reading().notices == ("files left out: 1 unchanged for 1 h 0 min, see --within",)


async def test_an_empty_folder_is_waited_at(tmp_path: Path) -> None:
    async with following(tmp_path) as source:
        assert source.reading().notices == ("waiting for the first log",)


async def test_files_of_no_known_format_are_counted(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Read me\n")
    async with following(tmp_path) as source:
        assert source.reading().notices == ("files of no known format: 1, see --format",)


async def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"\x1f\x8bnothing")
    async with following(tmp_path) as source:
        assert "a.jsonl.gz" in source.reading().notices[0]
