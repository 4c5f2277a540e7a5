"""A broker with the job's topics, workers on it, what goes in, and whether what comes out is right."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from aiokafka.structs import RecordMetadata

from schemas.codec import Codec
from streams.cli.topics import compare
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.topic import Topic
from streams.core.errors import InfrastructureError
from streams.kafka.client import Stored, connect
from streams.kafka.connection import Connection
from streams.kafka.patches.producing import find_coordinators
from streams.kafka.survey import group
from streams.observe.settings import TopicSettings, load
from streams.operate.explain.settings_topic import (
    changed_document,
    in_force,
    next_document,
    publish,
    publish_shadow,
    tried_out,
)
from streams.operate.explain.settings_topic import records as settings_records
from streams.worker.options import changelog_topic, repartition_topic
from streams.worker.state.checkpoint import MARK_KEY, CheckpointMark
from tests.integration.brokers import Reachable
from tests.integration.judgement import judge_stage
from tests.integration.load import Sending
from tests.integration.reference_fold import Verdict, value_of
from tests.integration.removals import Lives
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until, until_reached
from tests.wall_clock import WallClock

#: Settings of workers that no group considers dead: long, since a worker may get no CPU for a while. By
#: the kind of the broker: the embedded one lets each group wait for half of it before the first assignment.
_SESSION_TIMEOUT_S = {"kafka": 30, "embedded": 8}

#: Settings of workers that must not stall: one that gets no CPU may be without progress for minutes.
_STALL_TIMEOUT_S = 600

#: For workers that die without a word: whoever takes over waits for it.
SOON_MISSED = {"session_timeout_s": 6}

_CODEC = Codec.bundled()

_CHUNK = 25
_CHUNK_SECONDS = 0.1
#: On a machine that hardly gets on, brokers acknowledge late. What is poured must not pile up meanwhile: the
#: pauses are so many times as long as an acknowledgement takes, up to a limit.
_PAUSE_FACTOR, _LONGEST_PAUSE_SECONDS = 4, 2.0


async def delete_topics(broker: Reachable, chosen: Iterable[str] | None = None) -> None:
    """Delete some topics, by default every one but the broker's own, and return when they are gone."""
    wanted = None if chosen is None else set(chosen)
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
    await admin.start()

    async def names() -> list[str]:
        existing = await admin.list_topics()
        return [
            name for name in existing if (not name.startswith("__") if wanted is None else name in wanted)
        ]

    async def gone() -> bool:
        return not await names()

    try:
        if found := await names():
            await admin.delete_topics(found)
        await until(gone, PATIENCE_SECONDS, "the end of the topics")
    finally:
        await admin.close()


class Stage:
    """Everything a test needs around a worker.

    Args:
        broker: Runs, and has none of the job's topics.
        directory: For the workers.
        partitions: The partitions of the session topics.
        application_id: The application id of the workers, unless they are given another.
        replicas: The replicas of every topic.

    Attributes:
        sent: By partition, the offset after the last record that was sent.
        gaps: How many offsets before those hold no record, or one of an aborted transaction.
    """

    def __init__(
        self,
        broker: Reachable,
        directory: Path,
        *,
        application_id: str,
        partitions: int = 4,
        replicas: int = 1,
    ) -> None:
        self.broker = broker
        self.partitions = partitions
        self.replicas = replicas
        self.application_id = application_id
        self.workers: list[WorkerProcess] = []
        self.sent: dict[int, int] = dict.fromkeys(range(partitions), 0)
        self.gaps = 0
        self._directory = directory
        self._numbers = itertools.count(1)

    # -- topics and workers ------------------------------------------------------------------------------

    async def create_topics(self, application_id: str | None = None) -> None:
        """Do what `eddy topics apply` does."""
        wanted = load(
            TopicSettings,
            bootstrap_servers=self.broker.bootstrap,
            application_id=application_id or self.application_id,
            partitions=self.partitions,
            replicas=self.replicas,
        )
        await compare(wanted, carry_out=True)

    def worker(
        self,
        *,
        command: tuple[str, ...] = ("eddy", "worker"),
        directory: Path | None = None,
        clock: WallClock | None = None,
        **settings: object,
    ) -> WorkerProcess:
        """Start a worker.

        Args:
            command: The program is one that the package or Faust installs.
            directory: With the state of another worker, to start as its successor.
            clock: The clock of its machine, where that is not to be right.
            settings: As environment variables without their prefix, in lower case.
        """
        own = self._directory / f"worker-{next(self._numbers)}"
        own.mkdir(parents=True)
        program = Path(sys.executable).with_name(command[0])
        worker = WorkerProcess(
            [str(program), *command[1:]],
            own,
            {
                **self.environment(data_dir=directory or own / "data", **settings),
                **(clock.environment() if clock is not None else {}),
            },
        )
        self.workers.append(worker)
        return worker

    @staticmethod
    def inherited() -> dict[str, str]:
        """Return what every process gets of the environment of the tests."""
        return {
            name: os.environ[name] for name in ("PATH", "HOME", "LANG", "PYTHONPATH") if name in os.environ
        }

    def environment(self, **settings: object) -> dict[str, str]:
        """Return the environment of a process of Eddy."""
        defaults: dict[str, object] = {
            "bootstrap_servers": self.broker.bootstrap,
            "application_id": self.application_id,
            "producer_idempotence": self.broker.kind == "kafka",
            "web_port": 0,
            "session_timeout_s": _SESSION_TIMEOUT_S[self.broker.kind],
            "stall_timeout_s": _STALL_TIMEOUT_S,
            "heartbeat_interval_s": 1,
            "commit_interval_s": 0.2,
            # Short, so that both are met: sessions that wait when a worker dies, and those that are written.
            "checkpoint_s": 1.0,
            "run_max_records": 50,
            "aggregate_pause_s": 0.05,
        }
        return self.inherited() | {
            f"EDDY_{name.upper()}": str(value) for name, value in (defaults | settings).items()
        }

    async def command(self, *words: str, **settings: object) -> str:
        """Run a command of `eddy` to its end and return what it printed; it has to succeed."""
        status, printed, complained = await self.attempt(*words, **settings)
        assert status == 0, complained
        return printed

    async def attempt(self, *words: str, **settings: object) -> tuple[int, str, str]:
        """Run a command of `eddy` to its end and return its exit status, output and error output."""
        process = await asyncio.create_subprocess_exec(
            Path(sys.executable).with_name("eddy"),
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self._directory,
            env=self.environment(**settings),
        )
        try:
            printed, complained = await asyncio.wait_for(process.communicate(), PATIENCE_SECONDS)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode is not None
        return process.returncode, printed.decode(), complained.decode()

    async def publish_settings(self, **changes: object) -> None:
        """Do what `eddy config set` does."""
        async with connect(Connection(self.broker.bootstrap)) as brokers:
            settings = in_force(await settings_records(brokers))
            await publish(brokers, changed_document(settings, changes, {}))

    async def publish_shadow(self, **changes: object) -> None:
        """Do what `eddy config shadow set` does, and `clear` without changes."""
        async with connect(Connection(self.broker.bootstrap)) as brokers:
            tried = tried_out(await settings_records(brokers, Topic.SHADOW_CONFIG))
            version = tried.version + 1
            document = next_document(tried.settings or DEFAULTS, version, changes, {}) if changes else {}
            await publish_shadow(brokers, {"version": version, **document})

    def close(self) -> None:
        """End every worker."""
        for worker in self.workers:
            worker.kill()

    # -- what goes in -------------------------------------------------------------------------------------

    async def send(self, records: Iterable[Sending]) -> None:
        """Write to the input topic, and return once all is acknowledged."""
        async with self._producer() as producer:
            await self._send(producer, records)

    @asynccontextmanager
    async def pouring(
        self,
        records: Iterator[Sending],
        at_once: int = _CHUNK,
        *,
        transactions: bool = False,
        steady: bool = False,
    ) -> AsyncIterator[None]:
        """Keep writing to the input topic for as long as the block lasts: so many, ten times a second.

        With ``transactions`` each time is one, and one in ten is aborted. It is less often where brokers are
        slow to acknowledge, unless it has to be ``steady``.
        """
        enough = asyncio.Event()

        async def pour() -> None:
            async with self._producer(f"{self.application_id}-source" if transactions else None) as producer:
                for number in itertools.count(1):
                    if enough.is_set():
                        return
                    chunk, began = itertools.islice(records, at_once), time.monotonic()
                    if transactions:
                        await self._send_together(producer, chunk, aborted=number % 10 == 0)
                    else:
                        await self._send(producer, chunk)
                    pause = (
                        0.0
                        if steady
                        else min(_PAUSE_FACTOR * (time.monotonic() - began), _LONGEST_PAUSE_SECONDS)
                    )
                    await asyncio.sleep(max(_CHUNK_SECONDS, pause))

        pouring = asyncio.create_task(pour())
        try:
            yield
        finally:
            enough.set()
            await pouring

    def _producer(self, transactional_id: str | None = None) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(
            bootstrap_servers=self.broker.bootstrap,
            acks="all",
            max_request_size=8 << 20,
            enable_idempotence=self.broker.kind == "kafka",
            transactional_id=transactional_id,
            request_timeout_ms=int(PATIENCE_SECONDS * 1000),
        )
        find_coordinators(producer)
        return producer

    async def _send_together(
        self, producer: AIOKafkaProducer, records: Iterable[Sending], *, aborted: bool
    ) -> None:
        await producer.begin_transaction()
        written = await self._write(producer, records)
        if aborted:
            await producer.abort_transaction()
        else:
            await producer.commit_transaction()
            self._note(written)

    async def _send(self, producer: AIOKafkaProducer, records: Iterable[Sending]) -> None:
        self._note(await self._write(producer, records))

    def _note(self, written: Iterable[RecordMetadata]) -> None:
        for partition, offset in ((metadata.partition, metadata.offset) for metadata in written):
            if offset >= (end := self.sent[partition]):
                self.gaps += offset - end
                self.sent[partition] = offset + 1
            else:
                self.gaps -= 1

    async def _write(self, producer: AIOKafkaProducer, records: Iterable[Sending]) -> list[RecordMetadata]:
        sent = [
            await producer.send(
                Topic.DECISION_LOGS,
                value=record.value,
                key=record.key,
                partition=partition,
                timestamp_ms=record.timestamp,
                headers=record.headers,
            )
            for partition, record in records
        ]
        return list(await asyncio.gather(*sent))

    # -- what comes out -----------------------------------------------------------------------------------

    async def processed(self, application_id: str | None = None, within: float = PATIENCE_SECONDS) -> None:
        """Wait until the group has committed all that was sent, and all that this contributed.

        It may take any time, as long as more is committed ``within`` so many seconds.
        """
        group = application_id or self.application_id
        admin = AIOKafkaAdminClient(bootstrap_servers=self.broker.bootstrap)
        await admin.start()

        async def all_committed(wanted: dict[TopicPartition, int], what: str) -> None:
            async def committed() -> int:
                try:
                    found = await admin.list_consumer_group_offsets(group, partitions=list(wanted))
                except KafkaError:
                    return 0  # the first group of a broker has no coordinator for a moment
                # A coordinator that is only starting answers with nothing.
                return sum(min(max(0, found[tp].offset), end) for tp, end in wanted.items() if tp in found)

            await until_reached(committed, sum(wanted.values()), within, what, *self.workers)

        wanted = {
            TopicPartition(Topic.DECISION_LOGS, partition): end
            for partition, end in self.sent.items()
            if end > 0
        }
        try:
            await all_committed(wanted, "the commit of all that was sent")
            # What the sessions contribute is all there now.
            contributed = {
                TopicPartition(repartition_topic(group), stored.partition): stored.offset + 1
                for stored in await self.read(repartition_topic(group))
            }
            await all_committed(contributed, "the commit of all contributions")
        finally:
            await admin.close()

    async def read(self, topic: str) -> list[Stored]:
        """Return all that stands in a topic."""
        async with connect(Connection(self.broker.bootstrap)) as brokers:
            return [stored async for stored in brokers.read(topic)]

    async def partition_counts(self, topics: Iterable[str]) -> dict[str, int]:
        """Return how many partitions topics have."""
        async with connect(Connection(self.broker.bootstrap)) as brokers:
            return await brokers.partition_counts(topics)

    async def aborted(self, topic: str) -> int:
        """Return how many records of a topic only readers of uncommitted records see."""
        count = (await self.partition_counts([topic]))[topic]
        tps = [TopicPartition(topic, partition) for partition in range(count)]
        seen = 0
        async with AIOKafkaConsumer(bootstrap_servers=self.broker.bootstrap) as consumer:
            consumer.assign(tps)
            await consumer.seek_to_beginning(*tps)
            ends = await consumer.end_offsets(tps)
            while any([await consumer.position(tp) < ends[tp] for tp in tps]):
                seen += sum(map(len, (await consumer.getmany(timeout_ms=500)).values()))
        return seen - len(await self.read(topic))

    async def versions_by_offset(self) -> dict[int, list[int]]:
        """Return the settings versions of each partition's enriched records, in the order of the input."""
        found: dict[int, dict[int, int]] = defaultdict(dict)
        for stored in await self.read(Topic.ENRICHED):
            eddy = value_of(stored)["eddy"]
            partition, offset = map(int, eddy["id"].split("/")[-3:-1])
            known = found[partition].setdefault(offset, eddy["settings_version"])
            assert known == eddy["settings_version"], f"{eddy['id']} came under two versions"
        return {
            partition: [version for _, version in sorted(versions.items())]
            for partition, versions in found.items()
        }

    async def offsets_are_kept(self) -> None:
        """Wait until brokers keep the offsets of groups, which takes a new cluster a while."""

        async def kept() -> bool:
            try:
                await group(
                    Connection(self.broker.bootstrap), self.application_id, [(Topic.DECISION_LOGS, 0)]
                )
            except InfrastructureError:
                return False
            return True

        await until(kept, PATIENCE_SECONDS, "brokers that keep the offsets of groups")

    async def verdict(self, application_id: str | None = None, codec: Codec = _CODEC) -> Verdict:
        """Compare all that came out with the reference fold of all that went in; everything must be right."""
        verdict = await self.judged(application_id, codec)
        assert not verdict.problems, "\n".join(verdict.problems)
        return verdict

    async def judged(
        self, application_id: str | None = None, codec: Codec = _CODEC, lives: Lives | None = None
    ) -> Verdict:
        """Compare all that came out with the reference fold of all that went in.

        Args:
            application_id: The application id of the workers, unless it is the stage's own.
            codec: Theirs.
            lives: How long sessions lived, where the clock may have removed some.
        """
        group = application_id or self.application_id
        await self.written(group)
        return await judge_stage(self, group, codec, lives)

    async def written(self, application_id: str | None = None) -> None:
        """Wait until no session waits to be written."""
        changelog = changelog_topic(application_id or self.application_id)

        async def all_written() -> bool:
            marks = {
                stored.partition: CheckpointMark.decode(stored.value)
                for stored in await self.read(changelog)
                if stored.key == MARK_KEY
            }
            return all(mark is None or mark.since is None for mark in marks.values())

        await until(all_written, PATIENCE_SECONDS, "sessions that are written", *self.workers)


@asynccontextmanager
async def prepared(stage: Stage) -> AsyncIterator[Stage]:
    """Create the topics of a stage, and end its workers afterwards."""
    await stage.create_topics()
    try:
        yield stage
    finally:
        stage.close()
