"""Carries records on: reads inputs in turn, sends what is new, remembers it, and counts it by source."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from streams.core.domain.text.figures import UNTIMED
from streams.core.domain.twins import known_fields
from streams.core.domain.validation import problems as breaches
from streams.core.entry import Entry
from streams.core.errors import ConfigurationError, InfrastructureError
from streams.formats.adapters.adapter import IntakeReason, Problem
from streams.formats.content import Content, reduced
from streams.formats.ingest.opening import Opening
from streams.formats.ingest.sink import RecordSink, SentRecord
from streams.formats.ingest.store import Admission, Store
from streams.formats.ingest.tail import Chunk, SourceTail
from streams.formats.sources import Source, parts
from streams.formats.units import UNFINISHED


@dataclass(slots=True)
class FormatAccount:
    """What came of the inputs of one format.

    Attributes:
        paths: paths of the inputs that were read.
        resumed: how many of them were read in part or whole before.
        records: records that were sent.
        repeated: records that the destination had already.
        older: records from before the time that was asked for.
        ignored: lines that say nothing of a step, by input and type.
        problems: what could not be used, by input and reason.
        first: the first problem of each reason.
    """

    paths: set[str] = field(default_factory=set)
    resumed: int = 0
    records: int = 0
    repeated: int = 0
    older: int = 0
    ignored: dict[str, Counter[str]] = field(default_factory=dict)
    problems: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    first: dict[str, Problem] = field(default_factory=dict)

    @property
    def all_ignored(self) -> int:
        """Return how many lines were left out by design."""
        return sum(each.total() for each in self.ignored.values())

    @property
    def is_used(self) -> bool:
        """Tell whether anything of it could be read, now or before."""
        kinds = {kind for each in self.ignored.values() for kind in each}
        return bool(self.resumed or self.records or self.repeated or self.older or kinds - {UNFINISHED})

    @property
    def all_problems(self) -> Counter[str]:
        """Return the problems by reason."""
        return sum(self.problems.values(), Counter())

    def add(self, path: str, problems: Iterable[Problem]) -> None:
        """Count problems of an input."""
        for problem in problems:
            self.problems[path][problem.reason] += 1
            self.first.setdefault(problem.reason, problem)


@dataclass(slots=True)
class IngestAccount:
    """Everything that was counted.

    Attributes:
        sources: by name of the format.
        unknown: inputs that fit no format.
        unreadable: inputs that could not be opened, with the error.
    """

    sources: dict[str, FormatAccount] = field(default_factory=lambda: defaultdict(FormatAccount))
    unknown: set[str] = field(default_factory=set)
    unreadable: dict[str, str] = field(default_factory=dict)

    @property
    def has_problems(self) -> bool:
        """Tell whether anything could not be used."""
        return bool(self.unreadable) or any(each.all_problems for each in self.sources.values())


POLL_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 5.0
"""Between two searches for new inputs."""
LEAVING_SECONDS: Final = 10.0
"""For how long a log that was rotated is read on: its writer may not have noticed yet."""
FIRST_RETRY_SECONDS: Final = 1.0
LONGEST_RETRY_SECONDS: Final = 30.0
MOST_OPEN: Final = 64
"""Files that are held open between two polls."""

_MOST_NAMED: Final = 5
"""Breaches of one record that are named."""


class Clock(Protocol):
    """What the time is, and how to wait."""

    def now(self) -> float:
        """Return seconds that only rise."""
        ...

    async def wait(self, seconds: float) -> bool:
        """Wait; tell whether to stop."""
        ...


class SystemClock:
    """Time that only rises, and a wait that ends if the process is to stop."""

    def now(self) -> float:
        """Return seconds that only rise."""
        return time.monotonic()

    async def wait(self, seconds: float) -> bool:
        """Wait. A stop cancels the wait instead of ending it."""
        await asyncio.sleep(seconds)
        return False


class IngestRequest(NamedTuple):
    """What to do: which content is sent, and whether inputs are read on as they grow."""

    content: Content = Content.FULL
    follow: bool = False


class Ingestion:
    """Reads inputs and sends their records: sent first, remembered then.

    Args:
        find: Yields the inputs that there are now.
        opening: Opens inputs where they were left.
        store: Remembers what was read and sent.
        sink: Takes the records, such as a topic or a file.
        clock: Gives the time in seconds, and waits.
        notice: Takes a sentence for people.
        caught_up: Called after each time everything that there was has been read.
    """

    def __init__(
        self,
        find: Callable[[], Iterable[Source]],
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
        self._tails: dict[Source, SourceTail] = {}
        self._no_parts: set[Source] = set()
        """Folders whose files look like parts of one input, and are none."""
        self._leaving: list[tuple[SourceTail, float]] = []
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
        for tail in self._all():
            tail.release()

    def _sources(self) -> Iterator[Source]:
        """Yield the inputs that there are, each once; for parts of no known input each file."""
        seen: set[Source] = set()
        for each in self._find():
            source = each._replace(is_listed=True)
            if source in seen:
                continue
            seen.add(source)
            yield source
            if source in self._no_parts:
                yield from (Source(str(file)) for file in parts(source))

    async def _once(self) -> None:
        for source in self._sources():
            if self._gave_up:
                return
            await self._open(source)
            if (tail := self._tails.get(source)) is not None:
                await self._send(tail, tail.end())
                self._count_ignored(tail)
                del self._tails[source]

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
        for source in self._sources():
            if self._gave_up:
                return
            if source not in self._tails:
                await self._open(source)

    async def _open(self, source: Source) -> None:
        """Open an input, if it can be, and read what there is."""
        path = source.path
        owned = {each.checkpoint.identity for each in self._all()}
        if not self._is_worth_a_try(source):
            return
        try:
            if self._opening.is_too_old(path):
                return
            before = self._opening.rotated(path)
            if before is not None and before.checkpoint.identity not in owned:
                await self._send(before, before.read())
                before.release()
            tail = self._opening.open(source)
        except FileNotFoundError:
            return  # it is being rotated: the next look finds what comes instead
        except (OSError, ConfigurationError) as error:
            self.account.unreadable[path] = str(error)
            return
        self.account.unreadable.pop(path, None)
        if tail is None:
            if source.parts is None:
                self.account.unknown.add(path)
            else:
                self._no_parts.add(source)
        elif tail.checkpoint.identity not in owned:
            self.account.unknown.discard(path)
            self._no_parts.discard(source)
            account = self.account.sources[tail.form.name]
            account.paths.add(path)
            account.resumed += bool(tail.checkpoint.position or tail.checkpoint.mark)
            self._tails[source] = tail
            await self._read(tail)
            self._release_some()

    def _is_worth_a_try(self, source: Source) -> bool:
        """Tell whether an input has changed since it was opened in vain."""
        try:
            status = Path(source.path).stat()
        except OSError:
            return True
        now = (status.st_size, status.st_mtime_ns)
        tried, self._tried[source.path] = self._tried.get(source.path), now
        return tried != now or not (source.path in self.account.unknown or source in self._no_parts)

    async def _read_all(self) -> None:
        for tail, until in list(self._leaving):
            await self._read(tail)
            if self._clock.now() >= until:
                self._leaving.remove((tail, until))
                tail.release()
        for source, tail in list(self._tails.items()):
            if self._gave_up:
                return
            await self._read(tail)
            if tail.is_replaced():
                await self._replace(source, tail)
        self._release_some()

    async def _replace(self, source: Source, tail: SourceTail) -> None:
        del self._tails[source]
        if tail.is_rewritten:
            tail.release()
        else:
            self._leaving.append((tail, self._clock.now() + LEAVING_SECONDS))
        self._tried.pop(source.path, None)
        await self._open(source)

    def _all(self) -> Iterator[SourceTail]:
        yield from self._tails.values()
        yield from (each for each, _ in self._leaving)

    def _release_some(self) -> None:
        held = [each for each in self._tails.values() if each.is_open]
        for tail in held[: max(0, len(held) - MOST_OPEN)]:
            tail.release()

    async def _read(self, tail: SourceTail) -> None:
        await self._send(tail, tail.read())
        self._count_ignored(tail)

    async def send(self, tail: SourceTail, chunks: Iterator[Chunk]) -> bool:
        """Send what a tail yields that is no input of these; tell whether all of it was sent."""
        self.account.sources[tail.form.name].paths.add(tail.path)
        sent = await self._send(tail, chunks)
        self._count_ignored(tail)
        return sent

    async def _send(self, tail: SourceTail, chunks: Iterator[Chunk]) -> bool:
        """Send chunks one after the other, each before the next one is read."""
        for chunk in chunks:
            async with self._sending:
                if not await self._send_one(tail, chunk):
                    return False
            await asyncio.sleep(0)  # a signal is taken here
        return True

    async def _send_one(self, tail: SourceTail, chunk: Chunk) -> bool:
        account = self.account.sources[tail.form.name]
        admission = Admission(self._store, chunk.reading)
        records: list[SentRecord] = []
        problems: list[Problem] = []
        repeated = older = 0
        for each in chunk.found:
            found = _accepted(each, tail) if tail.form.own else each
            if isinstance(found, Problem):
                problems.append(found)
            elif (value := found.value) is not None:
                if UNTIMED.stop <= _time_of(value) < tail.checkpoint.since:
                    older += 1
                elif admission.is_new(value.get("session_id"), value.get("event_id"), early=chunk.early):
                    records.append(SentRecord(reduced(value, self._request.content), tail.form.name))
                else:
                    repeated += 1
        if records and not await self._delivered(records):
            return False
        self._store.save(chunk.checkpoint, admission)
        if chunk.again:
            account.problems.pop(tail.path, None)
        account.records += len(records)
        account.repeated += repeated
        account.older += older
        account.add(tail.path, problems)
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

    def _count_ignored(self, tail: SourceTail) -> None:
        self.account.sources[tail.form.name].ignored[tail.path] = tail.ignored


def _accepted(found: Entry | Problem, tail: SourceTail) -> Entry | Problem:
    """Return a record of Eddy's own if the job accepts it, else what keeps it from that."""
    if isinstance(found, Problem):
        return found
    value = found.value
    if value is None:
        return Problem(tail.path, IntakeReason.UNREADABLE, found.problem or "no record")
    if known_fields(value) is not None and found.key == value["session_id"]:
        return found
    wrong = ", ".join(breaches(value)[:_MOST_NAMED]) or "the key is not the session_id"
    return Problem(tail.path, IntakeReason.UNKNOWN_SHAPE, f"no decision log: {wrong}")


def _time_of(value: Any) -> int:
    meta = value.get("meta")
    time = meta.get("timestamp") if isinstance(meta, dict) else None
    return time if isinstance(time, int) else UNTIMED.start
