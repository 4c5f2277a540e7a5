"""All checks, one after another, each within its time; what cannot be checked is reported and skipped."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import aiohttp
from eddy_client.protocol import key_id

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, EddyError
from streams.formats.adapters.otlp.span import SpanKind
from streams.formats.adapters.otlp.values import SESSION_KEYS, kind_of, reduced, session_of
from streams.kafka.client import Brokers, Stored, connect
from streams.kafka.survey import Ends, answers, broker_setting, ends, group, racks
from streams.kafka.topic_identity import job_topics
from streams.observe.settings import (
    BridgeSettings,
    CommandSettings,
    DoctorSettings,
    WorkerSettings,
    load,
    unread,
)
from streams.operate.doctor.check import Check, CheckStatus, fail, ok, warn
from streams.operate.doctor.cluster import (
    OFFSETS_RETENTION,
    RECORDS_RETENTION,
    REPLICA_SELECTOR,
    age_checks,
    broker_checks,
    clock_check,
    detection_checks,
    group_checks,
    identity_checks,
    in_force,
    lost_place_checks,
    retention_checks,
    size_checks,
    topic_checks,
    zone_checks,
)
from streams.operate.doctor.installation import bundled_check, registry_check, version_checks
from streams.operate.doctor.state import (
    Database,
    database_checks,
    databases,
    directory_check,
    set_aside_checks,
)
from streams.worker.bridge.bridge import TraceRequest, is_keyed, read
from streams.worker.endpoints import connection
from streams.worker.options import AGGREGATES, changelog_topic, repartition_topic
from streams.worker.preflight import check_producer, check_topics
from streams.worker.processes import of_each_process
from streams.worker.wiring import engine_options
from topics.plan import plan

NEWEST = 50
"""Records of each partition that are looked at."""

_NAME = "spans"


def span_checks(
    newest: Iterable[Stored], topic: str = Topic.OTLP_SPANS, session_keys: Sequence[str] = ()
) -> Iterator[Check]:
    """Yield what the newest records of the topic of spans lack; nothing if there are none.

    Args:
        newest: The newest records of the topic of spans.
        topic: How the topic is called.
        session_keys: The operator's attributes that name a session.
    """
    requests = [(stored, read(stored)) for stored in newest]
    if not requests:
        return
    readable = [(stored, found) for stored, found in requests if isinstance(found, TraceRequest)]
    spans = [span for _, found in readable for span in found.spans]
    calls = [reduced(span) for span in spans if kind_of(span) is SpanKind.TOOL]
    traces = {span.trace_id for span in spans}
    keys = (*session_keys, *SESSION_KEYS)
    named = {span.trace_id for span in spans if session_of(span, keys) is not None}
    findings = [
        *_unreadable(topic, len(requests) - len(readable), len(requests)),
        *_foreign(topic, sum(not is_keyed(stored, found.spans) for stored, found in readable), len(readable)),
        *_without_content(sum(call.arguments is None for call in calls), len(calls)),
        *_unnamed(len(traces - named), len(traces)),
    ]
    yield from findings
    if not findings:
        yield ok(_NAME, f"{len(spans)} spans in the newest records of {topic}: {len(calls)} tool calls")


def _unreadable(topic: str, count: int, total: int) -> Iterator[Check]:
    if count:
        said = f"{count} of the newest {total} records of {topic} hold no spans"
        yield warn(_NAME, said, "Let the collector write traces only, as otlp_proto or otlp_json.")


def _foreign(topic: str, count: int, total: int) -> Iterator[Check]:
    if count:
        said = f"{count} of the newest {total} records of {topic} are not keyed by their trace"
        yield warn(_NAME, said, "Set `partition_traces_by_id: true` at the collector's kafkaexporter.")


def _without_content(count: int, total: int) -> Iterator[Check]:
    if count:
        advice = "Switch content capture on, as docs/sources/frameworks.md says: such calls equal no other."
        yield warn(_NAME, f"{count} of {total} tool calls have no arguments", advice)


def _unnamed(count: int, total: int) -> Iterator[Check]:
    if count:
        advice = (
            "If an agent's conversation is several traces, name it, as docs/sources/frameworks.md says, or "
            "name your attribute in EDDY_OTLP_SESSION."
        )
        yield warn(_NAME, f"{count} of {total} traces have no session: each is one of its own", advice)


def signing_check(key: bytes | None, commands: int) -> Check:
    """Return whether commands from here are signed.

    Args:
        key: Value of `EDDY_COMMAND_KEY`, None if it is not set.
        commands: How many records `session-commands` holds: without any, nobody uses the control loop yet.
    """
    name = "commands"
    if key is not None:
        return ok(name, f"signed with the key {key_id(key)} from here; {commands:,} are held")
    if not commands:
        return ok(name, "none is held; EDDY_COMMAND_KEY is not set, so they would not be signed")
    said = f"{commands:,} are held, and EDDY_COMMAND_KEY is not set here: commands from here are not signed"
    advice = "Set it to the key of the guards, or see to it that few may write to session-commands."
    return warn(name, said, advice)


def refused_alerts_check(topic: str, held: int | None) -> Check:
    """Return whether the notifier has dead letters.

    Args:
        topic: Name of the topic of the notifier's dead letters.
        held: How many it holds; None if there is no such topic.

    >>> refused_alerts_check("alerts-dlq", 0).said
    'no receiver has refused an alert'
    """
    name = "alerts"
    if held is None:
        return ok(name, f"there is no {topic}: `eddy notify` is not in use")
    if not held:
        return ok(name, "no receiver has refused an alert")
    said = f"{topic} holds {held:,} alerts that a receiver refused, or did not take for a day"
    return warn(
        name, said, "The header x-dlq-reason of each says why; `eddy notify test` tries every receiver."
    )


async def examine(
    settings: DoctorSettings, environment: Mapping[str, str], within: float
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
    settings: DoctorSettings, found: list[Database], within: float
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

    def __init__(self, settings: DoctorSettings, found: list[Database]) -> None:
        self._settings = settings
        self._found = found
        self._to = connection(settings)
        self._decision_logs = self._to.topic(Topic.DECISION_LOGS)
        self._in_force = DEFAULTS

    def looks(self) -> Iterator[tuple[str, Callable[[], Awaitable[Iterable[Check]]]]]:
        """Yield each look with its name."""
        yield "topics", self._topics
        yield "producer", self._producer
        yield "detection settings", self._detection
        yield "clock", self._clock
        yield "group", self._group
        yield "zone", self._zone
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
        if not any(check.status is CheckStatus.FAIL for check in found):
            await check_topics(engine_options(self._settings))
        return found

    async def _producer(self) -> Iterable[Check]:
        await check_producer(engine_options(self._settings))
        if self._settings.processing_guarantee == "exactly_once":
            timeout = self._settings.transaction_timeout_s
            said = f"the brokers have transactions, and let one be open for {timeout:g} s"
        elif self._settings.producer_idempotence:
            said = "the brokers take one that writes nothing twice"
        else:
            said = "not idempotent: what is sent again after a lost answer may be there twice"
        return [ok("producer", said)]

    async def _detection(self) -> Iterable[Check]:
        async with connect(self._to) as brokers:
            stored = [record async for record in brokers.read(brokers.topic(Topic.DETECTOR_CONFIG), [0])]
        self._in_force = in_force(stored)
        return await asyncio.to_thread(list, detection_checks(stored, self._to.topic(Topic.DETECTOR_CONFIG)))

    async def _clock(self) -> Iterable[Check]:
        async with connect(self._to) as brokers:
            found = await self._ends(brokers, [self._decision_logs])
        newest = [each.newest for each in found.values() if each.newest is not None]
        return [clock_check(newest, int(time.time() * 1000), self._decision_logs)]

    async def _group(self) -> Iterable[Check]:
        name = self._settings.job
        async with connect(self._to) as brokers:
            partitions = await self._ends(brokers, [self._decision_logs, repartition_topic(name)])
            found = await group(self._to, name, partitions)
        return [
            *group_checks(name, found, partitions),
            *lost_place_checks(name, found, self._found, self._decision_logs),
        ]

    async def _zone(self) -> Iterable[Check]:
        rack = self._to.client_rack
        if not rack:
            return []
        selector = await broker_setting(self._to, REPLICA_SELECTOR)
        return list(zone_checks(rack, await racks(self._to), selector))

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


def settings_checks(settings: WorkerSettings, environment: Mapping[str, str]) -> Iterator[Check]:
    """Yield whether every variable means something, and whether the options handed through exist."""
    try:
        engine_options(settings)
    except ConfigurationError as error:
        yield fail("settings", str(error), "Correct the variable, then run this again.")
        return
    if unknown := unread(environment):
        advice = "Correct the name, or unset it."
        yield warn("settings", f"means nothing to Eddy: {', '.join(unknown)}", advice)
    else:
        fields = {f"EDDY_{name.upper()}" for name in WorkerSettings.model_fields}
        given = sum(name.upper() in fields for name in environment)
        yield ok("settings", f"usable; {_set(given)}")


async def port_check(settings: WorkerSettings, within: float) -> Check:
    """Return whether /livez, /readyz and /metrics can be served; if a worker serves them, what they say."""
    host, port = settings.web_host, settings.web_port
    address = f"{host}:{port}"
    if port == 0:
        return ok("web port", "a free one is chosen")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((host, port))
    except OSError as error:
        answer = await _answer(host, port, within)
        if answer is not None:
            return ok("web port", f"a worker answers at {address}: {answer}")
        advice = "Choose another with EDDY_WEB_HOST and EDDY_WEB_PORT, or end what has it."
        return warn("web port", f"{address} is not available ({error.strerror or error})", advice)
    return ok("web port", f"{address} is free")


async def _answer(host: str, port: int, within: float) -> str | None:
    """Return what a worker there says of itself; None when nothing there answers like a worker."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - asked, not bound
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}/readyz"
    timeout = aiohttp.ClientTimeout(total=within)
    try:
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as response:
            body = await response.json(content_type=None)
            ready = response.status == 200
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return None
    if not isinstance(body, dict):
        return None
    return "ready" if ready else "not ready"


def _set(count: int) -> str:
    """Say how many settings variables set."""
    match count:
        case 0:
            return "no variable sets any"
        case 1:
            return "1 is set by a variable"
        case _:
            return f"{count} are set by variables"
