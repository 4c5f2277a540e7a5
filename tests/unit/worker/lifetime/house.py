"""A table with sessions, and what a worker does to the silent ones, at a time of one's choice."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from schemas.codec import Codec
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.record import Outgoing
from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.domain.topic import Topic
from streams.core.settings_document import ShadowDocument
from streams.kafka.client import Stored
from streams.kafka.clock import ClusterClock
from streams.worker.batch import Job
from streams.worker.effects import BatchOutput, changes
from streams.worker.lifetime.housekeeping import Housekeeping
from streams.worker.lifetime.silence import SilentSessions
from streams.worker.run_result import RunResult
from streams.worker.state.changelog import SETTINGS_KEY
from streams.worker.state.table import SessionTable, StateView
from tests.integration.load import as_json, decision

JOB = Job(Codec.bundled(), group="g", version="1")
SETTINGS = replace(DEFAULTS, version=1, session_ttl_ms=1_000, state_grace_ms=500)
TOUCHED_MS = 1_700_000_000_000
#: The last millisecond a session of these settings is kept in.
KEPT_MS = TOUCHED_MS + 1_500
REST_MS = 2_000
PARTITION = 3


class Worker:
    """A worker that has read and committed everything, unless told otherwise."""

    def __init__(self) -> None:
        self.generation = 1
        self.partitions: Collection[int] = [PARTITION]
        self.read_ms = 1 << 62
        self.offset = 1_000_000
        self.inside: list[int] = []
        self.on_entry: Any = lambda: None
        self.heard: Callable[[], int] = lambda: 0

    def in_charge(self) -> tuple[int, Collection[int]]:
        return self.generation, self.partitions

    def read_up_to(self, partition: int) -> int:
        assert partition in self.partitions
        return self.read_ms

    def heard_ms(self, partition: int) -> int:
        assert partition in self.partitions
        return self.heard()

    def passed(self, partition: int) -> int:
        assert partition in self.partitions
        return self.offset

    @asynccontextmanager
    async def alone(self, partition: int) -> AsyncIterator[None]:
        self.on_entry()
        self.inside.append(partition)
        try:
            yield
        finally:
            self.inside.remove(partition)


class InForce:
    """The settings that were published."""

    in_force: DetectionSettings = SETTINGS
    shadow = ShadowDocument()


class Metrics:
    """Adds up."""

    def __init__(self) -> None:
        self.entries = 0
        self.sessions: Counter[str] = Counter()
        self.events: Counter[str] = Counter()

    def searched(self, entries: int, seconds: float) -> None:
        assert seconds >= 0
        self.entries += entries

    def removed(
        self, reason: str, sessions: int, events: Mapping[str, int], episodes: Iterable[Mapping[str, Any]]
    ) -> None:
        self.sessions[reason] += sessions
        self.events.update(events)


class House:
    """A table with sessions, and housekeeping over it at a time of one's choice."""

    def __init__(self, table: SessionTable) -> None:
        self.table = table
        self.worker = Worker()
        self.settings = InForce()
        self.metrics = Metrics()
        self.now_ms = TOUCHED_MS
        self.worker.heard = lambda: self.now_ms
        self.carried_out: list[BatchOutput[Session]] = []
        self.offset = -1
        self._records = 0
        self.clock = ClusterClock(lambda: self.now_ms, lambda: 0.0)
        self.clock.heard(None)
        self.housekeeping = Housekeeping(
            job=JOB,
            table=table,
            effects=self,
            settings=self.settings,
            worker=self.worker,
            metrics=self.metrics,
            interval_ms=1,
            rest_ms=REST_MS,
            clock=self.clock,
        )
        self.silence = self.silence_watch()

    def silence_watch(self) -> SilentSessions:
        """Return what looks for silent sessions, as a worker that has just started has it."""
        return SilentSessions(
            job=JOB,
            table=self.table,
            effects=self,
            settings=self.settings,
            worker=self.worker,
            clock=self.clock,
            on_told=self.metrics.events.update,
        )

    async def carry_out(self, outcome: BatchOutput[Session]) -> None:
        """Do what the delivery does: outputs first, then the state."""
        assert self.worker.inside == [outcome.partition]
        self.carried_out.append(outcome)
        items = list(changes(self.table, outcome.view))
        self.offset += len(items)
        self.table.write(outcome.partition, outcome.view, items, self.offset, self.now_ms)

    def process(
        self, session_id: str, records: int = 1, *, ends: bool = False, loops: bool = False
    ) -> Session:
        """Let an epoch process records of a session now, their event time being the same."""
        messages = []
        for number in range(records):
            action = {"intent": "again", "tool_input": "{}"} if loops else {}
            value = decision(session_id, number, **action)
            value["meta"]["timestamp"] = self.now_ms
            if ends and number == records - 1:
                value["control"] = {"is_terminal": True}
            messages.append(
                Stored(PARTITION, self._records, self.now_ms, session_id.encode(), as_json(value), ())
            )
            self._records += 1
        view = self.table.view(PARTITION, [session_id])
        JOB.fold(Run("decision-logs", PARTITION, messages), view, SETTINGS, RunResult())
        self.write(view.changed)
        self.table.drop_read(PARTITION, view.changed)
        found = view.get(session_id)
        assert found is not None
        return found

    def write(self, sessions: dict[str, Session]) -> None:
        """Write sessions as they are."""
        view = StateView({}, sessions)
        items = list(changes(self.table, view))
        self.offset += len(items)
        self.table.write(PARTITION, view, items, self.offset, self.now_ms)

    def kept(self) -> set[str]:
        """Return the ids of the sessions that are there."""
        return {key[1:].decode() for key, _ in self.table.stores[PARTITION].items() if key != SETTINGS_KEY}

    def outputs(self, topic: Topic) -> list[Outgoing]:
        return [record for outcome in self.carried_out for record in outcome.outputs.get(topic, ())]

    async def at(self, now_ms: int) -> set[str]:
        """Let housekeeping come round at a time; return who is still there."""
        self.now_ms = now_ms
        await self.housekeeping.tick(10.0)
        return self.kept()
