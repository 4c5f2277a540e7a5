"""An ingestion whose clock runs a script instead of waiting."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streams.core.errors import InfrastructureError
from streams.formats.adapters.adapter import Format
from streams.formats.content import Content
from streams.formats.format_detection import FormatDetection
from streams.formats.ingest.ingestion import IngestAccount, Ingestion, IngestRequest
from streams.formats.ingest.opening import Opening
from streams.formats.ingest.sink import SentRecord
from streams.formats.ingest.store import Store
from streams.formats.sources import sources

SAMPLES = Path(__file__).parents[3] / "samples"
LOG = SAMPLES / "claude_code" / "loop.jsonl"
Step = Callable[[], object]


class Script:
    """A clock: each wait does the next step, and the one after the last step stops."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = iter(steps)
        self._now = 0.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self._now

    async def wait(self, seconds: float) -> bool:
        self._now += seconds
        self.waits.append(seconds)
        step = next(self._steps, None)
        if step is None:
            return True
        step()
        return False


@dataclass
class Kept:
    """A sink that keeps records; it refuses where `refuse` says so, before or after it has kept them."""

    records: list[Any] = field(default_factory=list)
    batches: int = 0
    refuse: Callable[[int], str | None] = lambda _number: None

    async def write(self, records: Sequence[SentRecord]) -> None:
        self.batches += 1
        refusal = self.refuse(self.batches)
        if refusal != "before":
            self.records.extend(each.value for each in records)
        if refusal is not None:
            raise InfrastructureError("The brokers are away.")

    async def close(self) -> None:
        pass


@dataclass
class World:
    """A folder with inputs, and what is remembered of them; every run is a process of its own."""

    folder: Path
    sink: Kept = field(default_factory=Kept)
    account: IngestAccount = field(default_factory=IngestAccount)
    notices: list[str] = field(default_factory=list)
    content: Content = Content.FULL
    since: int = 0
    mapped: Format | None = None

    async def follow(self, *steps: Step, paths: Sequence[Path] = ()) -> list[Any]:
        """Follow while the steps happen, one a second, and look for what they leave."""
        return await self._run(paths, [*steps, *[lambda: None] * 6], follow=True)

    async def once(self, *paths: Path) -> list[Any]:
        """Read what there is."""
        return await self._run(paths, [], follow=False)

    async def _run(self, paths: Sequence[Path], steps: Sequence[Step], *, follow: bool) -> list[Any]:
        store = Store(self.folder.parent / "state.sqlite", "here", 0.0)
        begin = len(self.sink.records)
        named = [str(each) for each in paths or [self.folder]]
        ingestion = Ingestion(
            lambda: sources(named),
            Opening(store, FormatDetection(mapped=self.mapped), since=self.since, follow=follow),
            store,
            self.sink,
            Script(steps),
            IngestRequest(self.content, follow),
            notice=self.notices.append,
        )
        try:
            await ingestion.run()
        finally:
            store.close()
            self.account = ingestion.account
        return self.sink.records[begin:]
