"""All checks, one after another, each within its time; what cannot be checked is reported and skipped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, EddyError
from streams.kafka.client import Brokers, Stored, connect
from streams.kafka.job_topics import job_topics
from streams.kafka.survey import Ends, answers, broker_setting, ends, group
from streams.observe.settings import BridgeSettings, CommandSettings, WorkerSettings, load
from streams.operate.doctor.alerts import refused_alerts_check
from streams.operate.doctor.check import Check, Status, fail, ok, warn
from streams.operate.doctor.cluster import (
    age_checks,
    broker_checks,
    clock_check,
    detection_checks,
    group_checks,
    in_force,
    topic_checks,
)
from streams.operate.doctor.control import signing_check
from streams.operate.doctor.environment import port_check, settings_checks
from streams.operate.doctor.identity import identity_checks, size_checks
from streams.operate.doctor.place import (
    OFFSETS_RETENTION,
    RECORDS_RETENTION,
    lost_place_checks,
    retention_checks,
)
from streams.operate.doctor.schemas import bundled_check, registry_check
from streams.operate.doctor.spans import NEWEST, span_checks
from streams.operate.doctor.state import (
    Database,
    database_checks,
    databases,
    directory_check,
    set_aside_checks,
)
from streams.operate.doctor.versions import version_checks
from streams.worker.endpoints import connection
from streams.worker.options import AGGREGATES, changelog_topic, repartition_topic
from streams.worker.preflight.topic_check import check_topics
from streams.worker.preflight.transaction_check import check_transactions
from streams.worker.processes import of_each_process
from streams.worker.wiring import engine_options
from topics.plan import plan


async def examine(
    settings: WorkerSettings, environment: Mapping[str, str], within: float
) -> AsyncIterator[Check]:
    """Yield what is found, first here, then on the brokers.

    Args:
        settings: The settings of the worker in question.
        environment: Where they came from.
        within: Seconds that each check of something outside may take.
    """
    for check in (*version_checks(), *settings_checks(settings, environment), bundled_check()):
        yield check
    found: list[Database] = []
    async for check in _of_processes(settings, found, within):
        yield check
    for check in await _within(2 * within, "registry", registry_check(settings, within)):
        yield check
    try:
        answered = await answers(connection(settings), within)
    except ConfigurationError as error:
        yield fail("broker", str(error), "Correct the files, then run this again.")
        return
    for check in broker_checks(answered):
        yield check
    if all(answer.problem is not None for answer in answered):
        yield warn("topics", "not checked, nor settings, clock and group", "Run this again with a broker.")
        return
    for name, look in _Survey(settings, found).looks():
        for check in await _within(within, name, look()):
            yield check


async def _of_processes(
    settings: WorkerSettings, found: list[Database], within: float
) -> AsyncIterator[Check]:
    """Yield what each process of a worker finds on this machine; its databases are added to ``found``."""
    decision_logs = connection(settings).topic(Topic.DECISION_LOGS)
    try:
        processes = list(of_each_process(settings))
    except ConfigurationError as error:
        yield fail("web port", str(error), "Correct the variable, then run this again.")
        return
    for own in processes:
        directory = own.data_dir / own.job
        yield directory_check(directory)
        kept: list[Database] = []
        for check in await _within(within, "local state", _local(directory, kept, decision_logs)):
            yield check
        found += kept
        yield await port_check(own, within)


class _Survey:
    """What is asked of the brokers."""

    def __init__(self, settings: WorkerSettings, found: list[Database]) -> None:
        self._settings = settings
        self._found = found
        self._to = connection(settings)
        self._decision_logs = self._to.topic(Topic.DECISION_LOGS)
        self._in_force = DEFAULTS

    def looks(self) -> Iterator[tuple[str, Callable[[], Awaitable[Iterable[Check]]]]]:
        """Yield each look with its name."""
        yield "topics", self._topics
        if self._settings.processing_guarantee == "exactly_once":
            yield "transactions", self._transactions
        yield "detection settings", self._detection
        yield "clock", self._clock
        yield "group", self._group
        yield "offsets", self._offsets
        yield "local state", self._ages
        yield "spans", self._spans
        yield "commands", self._commands
        yield "alerts", self._alerts

    async def _topics(self) -> Iterable[Check]:
        group_id = self._settings.job
        async with connect(self._to) as brokers:
            spans = self._to.topic(Topic.OTLP_SPANS)
            counts = await brokers.partition_counts([self._decision_logs, spans])
            # EDDY_PARTITIONS is for creating them: what is there counts.
            wanted = job_topics(
                group_id,
                self._to.topic_prefix,
                partitions=counts.get(self._decision_logs, self._settings.partitions),
                replicas=self._settings.replicas,
                span_partitions=counts.get(spans),
            )
            described = await brokers.describe(each.name for each in wanted.topics)
            found = [*topic_checks(plan(wanted, described)), *size_checks(described, self._to.topic_prefix)]
        if not any(check.status is Status.FAIL for check in found):
            await check_topics(engine_options(self._settings))
        return found

    async def _transactions(self) -> Iterable[Check]:
        await check_transactions(engine_options(self._settings))
        timeout = self._settings.transaction_timeout_s
        return [ok("transactions", f"the brokers have them, and let one be open for {timeout:g} s")]

    async def _detection(self) -> Iterable[Check]:
        async with connect(self._to) as brokers:
            stored = [record async for record in brokers.read(brokers.topic(Topic.DETECTOR_CONFIG), [0])]
        self._in_force = in_force(stored)
        return await asyncio.to_thread(list, detection_checks(stored, self._to.topic(Topic.DETECTOR_CONFIG)))

    async def _clock(self) -> Iterable[Check]:
        async with connect(self._to) as brokers:
            found = await self._ends(brokers, [self._decision_logs])
        newest = [each.newest for each in found.values() if each.newest is not None]
        return [
            clock_check(newest, int(time.time() * 1000), self._in_force.max_future_ms, self._decision_logs)
        ]

    async def _group(self) -> Iterable[Check]:
        name = self._settings.job
        async with connect(self._to) as brokers:
            partitions = await self._ends(brokers, [self._decision_logs, repartition_topic(name)])
            found = await group(self._to, name, partitions)
        return [
            *group_checks(name, found, partitions),
            *lost_place_checks(name, found, self._found, self._decision_logs),
        ]

    async def _offsets(self) -> Iterable[Check]:
        async with connect(self._to) as brokers:
            kept = await broker_setting(self._to, OFFSETS_RETENTION)
            described = await brokers.describe([self._decision_logs])
        records = next((topic.config.get(RECORDS_RETENTION) for topic in described), None)
        return list(retention_checks(kept, records, self._in_force, self._decision_logs))

    async def _ages(self) -> Iterable[Check]:
        name = self._settings.job
        changelogs = [changelog_topic(name), changelog_topic(name, AGGREGATES)]
        async with connect(self._to) as brokers:
            described = await brokers.describe(changelogs)
            kept = {each.name: each.config.get("delete.retention.ms", "") for each in described}
            limits = {topic: int(text) for topic, text in kept.items() if text.isdigit()}
            held = await self._ends(brokers, changelogs)
            ids = await brokers.topic_ids([*changelogs, self._decision_logs, repartition_topic(name)])
        ages = age_checks(name, self._found, held, limits, time.time())
        return [*identity_checks(name, self._found, ids, self._to.topic(Topic.REDRIVEN)), *ages]

    async def _spans(self) -> Iterable[Check]:
        topic = self._to.topic(Topic.OTLP_SPANS)
        newest: list[Stored] = []
        async with connect(self._to) as brokers:
            for (_, partition), known in (await self._ends(brokers, [topic])).items():
                start = max(known.begin, known.end - NEWEST)
                newest += [each async for each in brokers.read_range(topic, partition, start, known.end)]
        return list(span_checks(newest, topic, load(BridgeSettings).session_keys))

    async def _commands(self) -> Iterable[Check]:
        key = load(CommandSettings).command_key_bytes
        async with connect(self._to) as brokers:
            held = await self._ends(brokers, [self._to.topic(Topic.SESSION_COMMANDS)])
        return [signing_check(key, sum(each.end - each.begin for each in held.values()))]

    async def _alerts(self) -> Iterable[Check]:
        topic = self._to.topic(Topic.ALERT_DEAD_LETTERS)
        async with connect(self._to) as brokers:
            held = await self._ends(brokers, [topic])
        count = sum(each.end - each.begin for each in held.values()) if held else None
        return [refused_alerts_check(topic, count)]

    async def _ends(self, brokers: Brokers, topics: Iterable[str]) -> dict[tuple[str, int], Ends]:
        return await ends(self._to, await brokers.partition_counts(topics))


async def _local(directory: Path, found: list[Database], decision_logs: str) -> Iterable[Check]:
    found += await asyncio.to_thread(databases, directory, decision_logs)
    return [*database_checks(found), *set_aside_checks(directory)]


async def _within(seconds: float, name: str, looking: Awaitable[Iterable[Check]]) -> list[Check]:
    """Return what a look finds; that it failed, or took too long, is a finding too."""
    try:
        async with asyncio.timeout(seconds):
            return list(await looking)
    except TimeoutError:
        return [fail(name, f"no answer within {seconds:g} s", "Try again with a longer --timeout.")]
    except EddyError as error:
        return [fail(name, str(error), "Do what is said there, then run this again.")]
