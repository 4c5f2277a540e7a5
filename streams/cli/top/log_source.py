"""Follows the logs that agents write on this machine, and judges them here, without Kafka."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from streams.cli.top.picture import LIVE_MINUTES, NewestSteps, ReadingProgress
from streams.console.read_model.model import ReadModel
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.outcome import Scored
from streams.core.domain.text.figures import count, duration, has_time
from streams.core.domain.topic import Topic
from streams.core.entry import Entry, session_key
from streams.core.errors import ConfigurationError
from streams.core.offline import MOST_FOLLOWED, PARTITION, Judge
from streams.formats.format_detection import FormatDetection
from streams.formats.ingest.ingestion import (
    LOOK_SECONDS,
    POLL_SECONDS,
    Ingestion,
    IngestRequest,
    SystemClock,
)
from streams.formats.ingest.opening import Opening
from streams.formats.ingest.sink import SentRecord
from streams.formats.ingest.store import IN_MEMORY, Store
from streams.formats.sources import Source, sources
from streams.kafka.stored import Stored

_MOST_NOTICES: Final = 3


Alerted = Callable[[Stored, Mapping[str, Any]], None]
"""Takes an alert of a session, and where and when it was."""


class Judging:
    """A sink that judges records and folds what the job would have published.

    Args:
        model: Takes in what was judged.
        steps: Takes what agents did.
        settings: What is judged under.
        clock: Returns the time in milliseconds since 1970.
        alerted: Called with each alert of a session, once it is folded.
    """

    def __init__(
        self,
        model: ReadModel,
        steps: NewestSteps,
        settings: DetectionSettings,
        clock: Callable[[], int],
        alerted: Alerted,
    ) -> None:
        self._model, self._steps, self._clock, self._alerted = model, steps, clock, alerted
        self._judge = Judge(settings, MOST_FOLLOWED)

    async def write(self, records: Sequence[SentRecord]) -> None:
        """Judge records."""
        for each in records:
            judgement = self._judge.judge(Entry(session_key(each.value), None, each.value, None))
            if isinstance(judgement.outcome, Scored):
                self._take(judgement.outcome, judgement.offset)

    async def close(self) -> None:
        """Do nothing."""

    def _take(self, scored: Scored, offset: int) -> None:
        decision = scored.decision
        # The records of a log without times count as of when they are read.
        at = decision.timestamp if has_time(decision.timestamp) else self._clock()
        stored = Stored(PARTITION, offset, at, decision.session_id.encode("utf-8", "replace"), None, ())
        self._steps.add(scored.enriched)
        self._model.take(Topic.ENRICHED, stored, scored.enriched)
        for event in scored.events:
            if event.topic is not None:
                self._model.take(Topic(event.topic), stored, event.fields)
                if event.topic == Topic.SESSION_ALERTS:
                    self._alerted(stored, event.fields)


def _nobody(_record: Stored, _fields: Mapping[str, Any]) -> None:
    """Tell nobody of an alert."""


class WokenClock(SystemClock):
    """A clock whose waits end early if it is woken."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()
        self._ahead = 0.0
        self._searched = 0.0

    def now(self) -> float:
        """Return seconds that only rise."""
        return super().now() + self._ahead

    async def wait(self, seconds: float) -> bool:
        """Wait, until it is woken at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        self._woken.clear()
        return False

    def wake(self, *, search: bool) -> None:
        """End the wait of now, or the next one; let a search for new files be due, once a second at most."""
        self._woken.set()
        if search and super().now() - self._searched >= POLL_SECONDS:
            self._searched = super().now()
            self._ahead += LOOK_SECONDS


class LogSource:
    """Follows files. Nothing of them is remembered: each start reads them from their beginning.

    Args:
        paths: Files, folders and patterns.
        formats: Finds the format of each.
        settings: What is judged under.
        clock: Returns the time in milliseconds since 1970.
        within_ms: A file that has not changed for longer is not opened until it changes.
        alerted: Called with each alert of a session, once it is folded.
    """

    stop = None

    def __init__(
        self,
        paths: Sequence[str],
        formats: FormatDetection,
        settings: DetectionSettings,
        clock: Callable[[], int],
        within_ms: int,
        alerted: Alerted = _nobody,
    ) -> None:
        self.model = ReadModel(live_minutes=LIVE_MINUTES)
        self.steps = NewestSteps()
        self.judging = Judging(self.model, self.steps, settings, clock, alerted)
        self._paths, self._clock, self._within_ms = paths, clock, within_ms
        self._notices: deque[str] = deque(maxlen=_MOST_NOTICES)
        self._unchanged = 0
        self._caught_up = asyncio.Event()
        self._ticks = WokenClock()
        self._store = Store(IN_MEMORY, "nowhere", time.time())
        self._ingestion = Ingestion(
            self._find,
            Opening(self._store, formats, follow=True),
            self._store,
            self.judging,
            self._ticks,
            IngestRequest(follow=True),
            notice=self._notices.append,
            caught_up=self._has_caught_up,
        )

    async def call_wrong(self, session_id: str) -> None:  # noqa: ARG002 - a protocol
        """Refuse: nothing of this is kept.

        Raises:
            ConfigurationError: always.
        """
        raise ConfigurationError("Only `eddy watch` and a job on Kafka keep what you say of a session")

    async def run(self) -> None:
        """Read for ever."""
        try:
            await self._ingestion.run()
        finally:
            self._store.close()

    def look(self, session_id: str) -> None:
        """Read what is new now, and look for new files at once if nothing of the session was read yet."""
        self._ticks.wake(search=session_id not in self.model.cases)

    async def caught_up(self) -> None:
        """Wait until all that stands in the files is judged."""
        await self._caught_up.wait()

    def reading(self) -> ReadingProgress:
        """Return how far the reading is."""
        account = self._ingestion.account
        names = [name for name, each in sorted(account.sources.items()) if each.paths]
        files = sum(len(account.sources[name].paths) for name in names)
        of = f" of {', '.join(names)}" if names else ""
        unread = tuple(f"{path}: {why}" for path, why in account.unreadable.items())[:_MOST_NOTICES]
        if not files:
            unread += (self._why_none(),)
        behind = 0 if self._caught_up.is_set() else None
        return ReadingProgress(f"{count(files, 'log')}{of}", behind, (*unread, *self._notices))

    def _why_none(self) -> str:
        """Return why no log is read."""
        if self._unchanged:
            since = duration(self._within_ms)
            return f"files left out: {self._unchanged:,} unchanged for {since}, see --within"
        if unknown := len(self._ingestion.account.unknown):
            return f"files of no known format: {unknown:,}, see --format"
        return "waiting for the first log"

    def _find(self) -> Iterator[Source]:
        since = (self._clock() - self._within_ms) / 1000
        unchanged = 0
        for source in sources(self._paths):
            try:
                is_recent = Path(source.path).stat().st_mtime >= since
            except OSError:
                continue  # it has just gone
            if is_recent:
                yield source
            else:
                unchanged += 1
        self._unchanged = unchanged

    def _has_caught_up(self) -> None:
        self._caught_up.set()
        self.model.draining()  # nobody keeps what changed
        self.model.forget(self._clock())
