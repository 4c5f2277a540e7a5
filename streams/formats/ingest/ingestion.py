"""Carries records on: reads inputs in turn, sends what is new, and remembers it once it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from streams.core.entry import Entry
from streams.core.errors import ConfigurationError, InfrastructureError
from streams.formats.adapters.adapter import Problem
from streams.formats.content import Content, reduced
from streams.formats.ingest.account import IngestAccount
from streams.formats.ingest.opening import Opening
from streams.formats.ingest.reader import Chunk, Reader
from streams.formats.ingest.sink import RecordSink, SentRecord
from streams.formats.ingest.store import Admission, Store

POLL_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 5.0
"""Between two searches for new inputs."""
LEAVING_SECONDS: Final = 10.0
"""For how long a log that was rotated is read on: its writer may not have noticed yet."""
FIRST_RETRY_SECONDS: Final = 1.0
LONGEST_RETRY_SECONDS: Final = 30.0
MOST_OPEN: Final = 64
"""Files that are held open between two polls."""

MADE_UP_TIMES: Final = range(1_700_000_000_000, 1_700_100_000_000)
"""The clock of sources without times, in ms: its records are never too old."""


class Clock(Protocol):
    """What the time is, and how to wait."""

    def now(self) -> float:
        """Return seconds that only rise."""
        ...

    async def wait(self, seconds: float) -> bool:
        """Wait; tell whether to stop."""
        ...


class IngestRequest(NamedTuple):
    """What to do: which content is sent, and whether inputs are read on as they grow."""

    content: Content = Content.FULL
    follow: bool = False


class Ingestion:
    """Reads inputs and sends their records: sent first, remembered then.

    Args:
        find: Yields the inputs that there are, without repetition.
        opening: Opens inputs where they were left.
        store: Remembers what was read and sent.
        sink: Takes the records, such as a topic or a file.
        clock: Gives the time in seconds, and waits.
        notice: Takes a sentence for people.
        caught_up: Called after each time everything that there was has been read.
    """

    def __init__(
        self,
        find: Callable[[], Iterable[Path]],
        opening: Opening,
        store: Store,
        sink: RecordSink,
        clock: Clock,
        request: IngestRequest,
        *,
        notice: Callable[[str], None],
        caught_up: Callable[[], None] = lambda: None,
    ) -> None:
        self.account = IngestAccount()
        self._find, self._opening, self._store, self._sink = find, opening, store, sink
        self._clock, self._request = clock, request
        self._notice, self._caught_up = notice, caught_up
        self._readers: dict[str, Reader] = {}
        self._leaving: list[tuple[Reader, float]] = []
        self._tried: dict[str, tuple[int, int]] = {}
        self._gave_up = False
        self._sending = asyncio.Lock()

    async def run(self) -> None:
        """Read everything there is; with ``follow``, until it is stopped or cancelled.

        Raises:
            InfrastructureError: without ``follow``, records cannot be sent.
            ConfigurationError: they never can be, or nothing can be remembered.
        """
        if self._request.follow:
            await self._follow()
        else:
            await self._once()
        self._caught_up()
        for reader in self._all():
            reader.rest()

    async def _once(self) -> None:
        for path in map(str, self._find()):
            if self._gave_up:
                return
            await self._open(path)
            if (reader := self._readers.get(path)) is not None:
                await self._send(reader, reader.end())
                self._count_ignored(reader)
                del self._readers[path]

    async def _follow(self) -> None:
        look_at = self._clock.now()
        while not self._gave_up:
            await self._read_all()
            if self._clock.now() >= look_at:
                look_at = self._clock.now() + LOOK_SECONDS
                await self._look()
            self._caught_up()
            if await self._clock.wait(POLL_SECONDS):
                return

    async def _look(self) -> None:
        for path in map(str, self._find()):
            if self._gave_up:
                return
            if path not in self._readers:
                await self._open(path)

    async def _open(self, path: str) -> None:
        """Open an input, if it can be, and read what there is."""
        owned = {each.row.place for each in self._all()}
        if not self._is_worth_a_try(path):
            return
        try:
            if self._opening.is_too_old(path):
                return
            if (before := self._opening.before(path)) is not None and before.row.place not in owned:
                await self._send(before, before.read())
                before.rest()
            reader = self._opening.open(path)
        except FileNotFoundError:
            return  # it is being rotated: the next look finds what comes instead
        except (OSError, ConfigurationError) as error:
            self.account.unreadable[path] = str(error)
            return
        self.account.unreadable.pop(path, None)
        if reader is None:
            self.account.unknown.add(path)
        elif reader.row.place not in owned:
            self.account.unknown.discard(path)
            source = self.account.sources[reader.form.name]
            source.paths.add(path)
            source.resumed += bool(reader.row.position or reader.row.mark)
            self._readers[path] = reader
            await self._read(reader)
            self._rest()

    def _is_worth_a_try(self, path: str) -> bool:
        """Tell whether an input has changed since it was opened in vain."""
        try:
            status = Path(path).stat()
        except OSError:
            return True
        now = (status.st_size, status.st_mtime_ns)
        tried, self._tried[path] = self._tried.get(path), now
        return tried != now or path not in self.account.unknown

    async def _read_all(self) -> None:
        for reader, until in list(self._leaving):
            await self._read(reader)
            if self._clock.now() >= until:
                self._leaving.remove((reader, until))
                reader.rest()
        for path, reader in list(self._readers.items()):
            if self._gave_up:
                return
            await self._read(reader)
            if reader.is_replaced():
                await self._replace(path, reader)
        self._rest()

    async def _replace(self, path: str, reader: Reader) -> None:
        del self._readers[path]
        if reader.is_rewritten:
            reader.rest()
        else:
            self._leaving.append((reader, self._clock.now() + LEAVING_SECONDS))
        self._tried.pop(path, None)
        await self._open(path)

    def _all(self) -> Iterator[Reader]:
        yield from self._readers.values()
        yield from (each for each, _ in self._leaving)

    def _rest(self) -> None:
        held = [each for each in self._readers.values() if each.is_open]
        for reader in held[: max(0, len(held) - MOST_OPEN)]:
            reader.rest()

    async def _read(self, reader: Reader) -> None:
        await self._send(reader, reader.read())
        self._count_ignored(reader)

    async def send(self, reader: Reader, chunks: Iterator[Chunk]) -> bool:
        """Send what a reader yields that is no input of these; tell whether all of it was sent."""
        self.account.sources[reader.form.name].paths.add(reader.path)
        sent = await self._send(reader, chunks)
        self._count_ignored(reader)
        return sent

    async def _send(self, reader: Reader, chunks: Iterator[Chunk]) -> bool:
        """Send chunks one after the other, each before the next one is read."""
        for chunk in chunks:
            async with self._sending:
                if not await self._send_one(reader, chunk):
                    return False
            await asyncio.sleep(0)  # a signal is taken here
        return True

    async def _send_one(self, reader: Reader, chunk: Chunk) -> bool:
        source = self.account.sources[reader.form.name]
        admission = Admission(self._store, chunk.reading)
        records: list[SentRecord] = []
        repeated = older = 0
        for each in chunk.found:
            match each:
                case Entry(value=value) if value is not None:
                    if _time_of(value) < reader.row.since and _time_of(value) not in MADE_UP_TIMES:
                        older += 1
                    elif admission.is_new(value.get("session_id"), value.get("event_id"), early=chunk.early):
                        records.append(SentRecord(reduced(value, self._request.content), reader.form.name))
                    else:
                        repeated += 1
        if records and not await self._delivered(records):
            return False
        self._store.save(chunk.row, admission)
        if chunk.again:
            source.problems.pop(reader.path, None)
        source.records += len(records)
        source.repeated += repeated
        source.older += older
        source.add(reader.path, (each for each in chunk.found if isinstance(each, Problem)))
        return True

    async def _delivered(self, records: list[SentRecord]) -> bool:
        """Send records, again and again if inputs are followed; tell whether they were sent."""
        wait = FIRST_RETRY_SECONDS
        while True:
            try:
                await self._sink.write(records)
            except InfrastructureError as error:
                if not self._request.follow:
                    raise
                self._notice(f"{error} Reading stops until then; the next try is in {wait:.0f} s.")
                if await self._clock.wait(wait):
                    self._gave_up = True
                    return False
                wait = min(2 * wait, LONGEST_RETRY_SECONDS)
            else:
                return True

    def _count_ignored(self, reader: Reader) -> None:
        self.account.sources[reader.form.name].ignored[reader.path] = reader.ignored


def _time_of(value: Any) -> int:
    meta = value.get("meta")
    time = meta.get("timestamp") if isinstance(meta, dict) else None
    return time if isinstance(time, int) else MADE_UP_TIMES.start
