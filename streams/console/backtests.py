"""Backtests that the console runs: the command `eddy backtest` in a process of its own, one at a time."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from streams.console.proposal import Proposal
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, EddyError
from streams.core.settings_document import to_document
from streams.kafka.client import Brokers

MOST_RECORDS: Final = 200_000
"""Records that a backtest of the console judges; of more, the newest."""
MOST_HOURS: Final = 24
MOST_SESSIONS: Final = 200
"""Sessions that differ and are shown; all are counted."""

_KEPT: Final = 20
_HOUR_MS: Final = 3_600_000
_LONGEST_LINE: Final = 4 << 20
_LONGEST_PROBLEM: Final = 1_000


@dataclass(slots=True)
class BacktestJob:
    """A backtest, under way or ended.

    Attributes:
        id: its number since the console started.
        by, at: who began it, and when, ms since 1970.
        hours: how far back it reads.
        changes: of the settings in force.
        based_on: the version in force that is compared with.
        records, held: how many records are to be judged, and how many the topic holds for that time.
        judged: how many were judged in sessions that are told.
        sessions: those that differ, as `eddy backtest --json` tells them.
        summary: as that command tells it; None until the end.
        problem: Why it failed, in words.
        ended: When it ended, in milliseconds since 1970.
    """

    id: str
    by: str
    at: int
    hours: int
    changes: Mapping[str, Any]
    based_on: int
    records: int = 0
    held: int = 0
    judged: int = 0
    sessions: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, Any] | None = None
    problem: str = ""
    ended: int | None = None


class Backtests:
    """Runs backtests.

    Args:
        brokers: Where the records are.
        servers: The same, as a command names them.
        clock: Returns the time in milliseconds since 1970.
    """

    def __init__(self, brokers: Brokers, servers: str, clock: Callable[[], int]) -> None:
        self._brokers, self._servers, self._clock = brokers, servers, clock
        self._numbers = 0
        self._running: asyncio.Task[None] | None = None
        self.kept: dict[str, BacktestJob] = {}

    async def begin(self, proposed: Proposal, hours: int, by: str) -> BacktestJob:
        """Begin a backtest and return it.

        Raises:
            ConfigurationError: another one runs, or there is nothing to judge.
            InfrastructureError: the brokers do not answer.
        """
        if self._running is not None and not self._running.done():
            under_way = next(reversed(self.kept.values()))
            raise ConfigurationError(
                f"Another backtest runs, begun by {under_way.by}. Wait for it, or cancel it on its page."
            )
        if not 1 <= hours <= MOST_HOURS:
            raise ConfigurationError(f"A backtest of the console goes back 1 to {MOST_HOURS} hours.")
        topic, now = self._brokers.topic(Topic.DECISION_LOGS), self._clock()
        starts = await self._brokers.offsets_at(topic, now - hours * _HOUR_MS)
        ends = await self._brokers.ends(topic)
        spans = newest({each: (starts.get(each, end), end) for each, end in ends.items()})
        held = sum(max(0, end - starts.get(each, end)) for each, end in ends.items())
        if held == 0:
            raise ConfigurationError(
                f"{topic} holds no record of the last {hours} hours. Take more hours, or wait for agents."
            )
        self._numbers += 1
        begun = BacktestJob(
            str(self._numbers),
            by,
            now,
            hours,
            proposed.changes,
            proposed.in_force.version,
            sum(end - start for start, end in spans.values()),
            held,
        )
        self.kept[begun.id] = begun
        while len(self.kept) > _KEPT:
            del self.kept[next(iter(self.kept))]
        self._running = asyncio.create_task(self._run(begun, proposed, topic, spans))
        return begun

    async def cancel(self) -> None:
        """End the one that runs."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(
        self, begun: BacktestJob, proposed: Proposal, topic: str, spans: Mapping[int, tuple[int, int]]
    ) -> None:
        try:
            with tempfile.TemporaryDirectory(prefix="eddy-backtest-") as folder:
                documents = [Path(folder, "a.json"), Path(folder, "b.json")]
                for path, settings in zip(documents, (proposed.in_force, proposed.after), strict=True):
                    path.write_bytes(orjson.dumps(to_document(settings)))
                await self._follow(begun, self._command(documents, topic, spans))
        except (OSError, ValueError, EddyError) as error:
            begun.problem = f"The backtest could not be run: {error}"
        except asyncio.CancelledError:
            begun.problem = "It was cancelled."
            raise
        finally:
            begun.ended = self._clock()

    def _command(self, documents: list[Path], topic: str, spans: Mapping[int, tuple[int, int]]) -> list[str]:
        a, b = map(str, documents)
        bounds = [
            word for partition, (start, _) in spans.items() for word in ("--from", f"{partition}:{start}")
        ]
        of_topic = ["--topic", topic, *bounds, "--json", "--bootstrap-servers", self._servers]
        return [sys.executable, "-m", "streams", "backtest", "--a", a, "--b", b, *of_topic]

    async def _follow(self, begun: BacktestJob, command: list[str]) -> None:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        said = asyncio.create_task(process.stderr.read())
        try:
            async for line in process.stdout:
                _take(begun, orjson.loads(line))
            status = await process.wait()
            if status or begun.summary is None:
                words = (await said).decode("utf-8", "replace").strip()
                begun.problem = words[-_LONGEST_PROBLEM:] or f"It ended with status {status}."
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await asyncio.shield(process.wait())
            said.cancel()


def newest(spans: Mapping[int, tuple[int, int]], most: int = MOST_RECORDS) -> dict[int, tuple[int, int]]:
    """Return the newest of what is held, the same share of each partition, without those that hold nothing.

    >>> newest({0: (100, 400), 1: (0, 100), 2: (7, 7)}, most=200)
    {0: (250, 400), 1: (50, 100)}
    """
    held = sum(end - start for start, end in spans.values())
    share = min(1.0, most / held) if held else 1.0
    return {
        partition: (end - int((end - start) * share), end)
        for partition, (start, end) in sorted(spans.items())
        if end > start
    }


def _take(begun: BacktestJob, message: Mapping[str, Any]) -> None:
    if (summary := message.get("summary")) is not None:
        begun.summary = summary
        return
    begun.judged += message["records"]
    if message["differing"] and len(begun.sessions) < MOST_SESSIONS:
        begun.sessions.append(dict(message))
