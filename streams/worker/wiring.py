"""The composition root: settings in, the Faust app of a worker or a bridge out. Wires, decides nothing.

``faust -A streams.worker.wiring worker`` finds ``app`` here; it is built from the environment when first
asked for.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from faust.exceptions import ImproperlyConfigured

from schemas.numbers import INPUT_SUBJECTS
from streams.core.domain.level import Level
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, DamagedStateError
from streams.core.policy.standing import standing
from streams.core.policy.state_limits import StateLimit
from streams.core.policy.verdict_answer import verdict_of
from streams.formats.content import Content, Redact
from streams.kafka.open_transactions import transaction_owner
from streams.observe.client_errors import ClientErrors
from streams.observe.engine_counts import Readings
from streams.observe.logs import logging_config
from streams.observe.settings import BridgeSettings, WorkerSettings, load
from streams.observe.web import HealthServer
from streams.worker.aggregation import Aggregation
from streams.worker.app import RunApp
from streams.worker.batch import Job
from streams.worker.bridge.bridge import Bridge, BridgeOptions
from streams.worker.bridge_metrics import BridgeCounts
from streams.worker.bridge_process import BridgeApp
from streams.worker.endpoints import connection, open_codec
from streams.worker.faust import agents
from streams.worker.faust.app_settings import check_pass_through
from streams.worker.health.broker_watch import BrokerWatch
from streams.worker.health.liveness import Health, Watchdog, status
from streams.worker.health.observation import Observation
from streams.worker.job_metrics import WorkerMetrics
from streams.worker.options import (
    BRIDGE_FLOW,
    JOB_FLOW,
    EngineOptions,
    Flow,
    TransactionOptions,
    TransportOptions,
    changelog_topic,
    repartition_topic,
)
from streams.worker.sessions_app import Folds, SessionsApp
from streams.worker.state.changelog import encode_session
from streams.worker.state.store import StoreOptions


class SessionLookup:
    """Reads the state of sessions. Changes nothing, and sees them as their last finished epoch left them.

    Args:
        app: The app that holds the table of sessions.
        health: Tells whether its state is there.
    """

    def __init__(self, app: SessionsApp, health: Health) -> None:
        self._app = app
        self._health = health

    def __call__(self, session_id: str) -> tuple[int, dict[str, Any]]:
        """Return the HTTP status and body: `streams.core.policy.standing.standing` with the session's id."""
        ready = self._health.ready()
        if not ready.ok:
            return 503, {"problem": f"the worker is not ready: {ready.detail}"}
        sessions = self._app.sessions
        try:
            found = sessions.find(session_id)
        except DamagedStateError as error:
            self._app.restore_again(error)
            return 503, {"problem": f"the worker is not ready: {error}"}
        if found is None:
            partitions = ", ".join(map(str, sorted(sessions.stores.opened()))) or "none"
            problem = f"no such session in the partitions of this worker: {partitions}. Ask the other workers"
            return 404, {"problem": problem}
        partition, session = found
        settings = sessions.ledger(partition).newest.settings
        return 200, {"session_id": session_id, **standing(session, settings)}

    def verdict(self, session_id: str, deny: Level | None) -> tuple[int, dict[str, Any]]:
        """Return the HTTP status, and a `VerdictAnswer` as a body: what a gateway asks for.

        Args:
            session_id: The id of the session.
            deny: The level from which on a call is refused.
        """
        status, found = self(session_id)
        if status != HTTPStatus.OK:
            return status, found
        return status, {**verdict_of(found).fields(deny)}


__version__ = version("eddy-streams")

log = logging.getLogger(__name__)


def engine_options(
    settings: WorkerSettings,
    errors: ClientErrors | None = None,
    *,
    flow: Flow = JOB_FLOW,
    application_id: str | None = None,
) -> EngineOptions:
    """Return what the settings mean for the engine.

    Args:
        settings: The settings that the worker was started with.
        errors: Folds those of the client library in the log.
        flow: What the app reads and writes.
        application_id: The app's name, where it is not the job itself.

    Raises:
        ConfigurationError: an option handed through does not exist.
    """
    check_pass_through(faust=settings.faust, consumer=settings.consumer, producer=settings.producer)
    exactly_once = settings.processing_guarantee == "exactly_once"
    compression = None if settings.producer_compression == "none" else settings.producer_compression
    return EngineOptions(
        application_id=application_id or settings.job,
        job=settings.job,
        flow=flow,
        connection=connection(settings),
        directory=settings.data_dir / (application_id or settings.job),
        transport=TransportOptions(
            run_max_records=settings.run_max_records,
            run_max_bytes=settings.run_max_bytes,
            fetch_max_wait_ms=settings.fetch_max_wait_ms,
            commits_in_transactions=exactly_once,
            # Their lanes rest for so long: what comes more often waits there.
            paced={repartition_topic(settings.job): settings.aggregate_pause_s / 4},
            producer={"enable_idempotence": settings.producer_idempotence, **settings.producer},
            consumer=settings.consumer,
        ),
        store=StoreOptions(
            block_cache_bytes=settings.rocksdb_block_cache_bytes,
            write_buffer_bytes=settings.rocksdb_write_buffer_bytes,
            max_write_buffers=settings.rocksdb_max_write_buffers,
            max_open_files=settings.rocksdb_max_open_files,
            bloom_bits=settings.rocksdb_bloom_bits,
        ),
        cached_sessions=settings.session_cache,
        checkpoint_s=settings.checkpoint_s,
        lane_max_runs=settings.lane_max_runs,
        aggregate_pause_s=settings.aggregate_pause_s,
        standby_replicas=settings.standby_replicas,
        session_timeout_s=settings.session_timeout_s,
        rebalance_timeout_s=settings.rebalance_timeout_s,
        stub_rest_s=settings.stub_rest_s,
        housekeeping_interval_s=settings.housekeeping_interval_s,
        transactions=TransactionOptions(
            within_s=settings.producer_request_timeout_s, timeout_s=settings.transaction_timeout_s
        )
        if exactly_once
        else None,
        faust={
            "broker_session_timeout": settings.session_timeout_s,
            "broker_heartbeat_interval": settings.heartbeat_interval_s,
            "broker_rebalance_timeout": settings.rebalance_timeout_s,
            "broker_request_timeout": settings.request_timeout_s,
            "broker_commit_interval": settings.commit_interval_s,
            "consumer_max_fetch_size": settings.fetch_max_bytes,
            "consumer_group_instance_id": settings.group_instance_id,
            "producer_acks": -1,
            "producer_compression_type": compression,
            "producer_linger": settings.producer_linger_ms / 1000.0,
            "producer_max_batch_size": settings.producer_max_batch_bytes,
            "producer_max_request_size": settings.producer_max_request_bytes,
            "producer_request_timeout": settings.producer_request_timeout_s,
            "stream_buffer_maxsize": 8,
            "web_enabled": False,
            "logging_config": logging_config(settings.log_level, settings.log_format, errors),
            **settings.faust,
        },
    )


def build(settings: WorkerSettings) -> SessionsApp:
    """Return the app of a worker.

    Raises:
        ConfigurationError: the settings do not fit together.
    """
    metrics = WorkerMetrics(__version__)
    errors = ClientErrors(fold=settings.log_level != "DEBUG")
    redact = redactor(settings.redactor)

    @asynccontextmanager
    async def new_folds(largest: Mapping[str, int]) -> AsyncIterator[Folds]:
        codec = await open_codec(settings)
        try:
            changelog = changelog_topic(settings.job)
            limit = StateLimit.of(largest[changelog], encode_session, changelog)
            job = Job(
                codec,
                group=settings.job,
                version=__version__,
                topic_prefix=settings.topic_prefix,
                largest=largest,
                state_limit=limit,
                content=Content(settings.content),
                redact=redact,
            )
            yield Folds(job, Aggregation(codec, group=settings.job, topic_prefix=settings.topic_prefix))
        finally:
            await codec.close()

    try:
        app = SessionsApp(engine_options(settings, errors), new_folds, metrics)
    except (ValueError, TypeError, ImproperlyConfigured) as error:
        raise ConfigurationError(f"Faust refuses a setting: {error}. Check EDDY_FAUST.") from error
    metrics.now_ms = app.clock.now_ms
    agents.register(app)
    brokers = BrokerWatch(connection(settings), errors)
    metrics.watch(
        replace(
            readings(app, brokers),
            settings_versions=app.sessions.settings_versions,
            shadow_versions=app.sessions.shadow_versions,
        )
    )
    observe(app, settings, brokers, metrics.exposition, lambda health: SessionLookup(app, health))
    return app


def bridge_name(job: str) -> str:
    """Return the name of the bridge of a job: its consumer group, and the beginning of its internal topic.

    >>> bridge_name("eddy")
    'eddy-bridge'
    """
    return f"{job}-bridge"


def bridge_engine_options(settings: BridgeSettings, errors: ClientErrors | None = None) -> EngineOptions:
    """Return what the settings mean for the engine.

    Raises:
        ConfigurationError: an option handed through does not exist.
    """
    return engine_options(settings, errors, flow=BRIDGE_FLOW, application_id=bridge_name(settings.job))


def redactor(name: str) -> Redact | None:
    """Return the function that `EDDY_REDACTOR` names, None for no name.

    Raises:
        ConfigurationError: there is none, or it cannot be imported.
    """
    if not name:
        return None
    module, _, function = name.partition(":")
    try:
        found: object = getattr(importlib.import_module(module), function)
    except Exception as error:
        raise ConfigurationError(
            f"EDDY_REDACTOR names {name}, and it cannot be imported ({error!r}). Install its package beside "
            "Eddy, or put its folder into PYTHONPATH."
        ) from error
    if not callable(found):
        raise ConfigurationError(f"EDDY_REDACTOR names {name}, which is no function.")
    redact: Redact = found
    return redact


def build_bridge(settings: BridgeSettings) -> BridgeApp:
    """Return the app of a bridge.

    Raises:
        ConfigurationError: the settings do not fit together.
    """
    metrics = BridgeCounts(__version__)
    errors = ClientErrors(fold=settings.log_level != "DEBUG")
    options = bridge_engine_options(settings, errors)
    decided = BridgeOptions(
        hold_ms=settings.bridge_hold_ms,
        trace_ttl_ms=int(1000 * settings.trace_ttl_s),
        content=Content(settings.content),
        session_keys=settings.session_keys,
    )

    @asynccontextmanager
    async def new_bridge(largest: Mapping[str, int]) -> AsyncIterator[Bridge]:
        codec = await open_codec(settings, INPUT_SUBJECTS)
        try:
            yield Bridge(
                codec.encoder(f"{Topic.DECISION_LOGS}-value"),
                decided,
                group=options.application_id,
                version=__version__,
                largest={topic: largest[options.topic(topic)] for topic in BRIDGE_FLOW.outputs},
            )
        finally:
            await codec.close()

    try:
        app = BridgeApp(options, new_bridge, metrics)
    except (ValueError, TypeError, ImproperlyConfigured) as error:
        raise ConfigurationError(f"Faust refuses a setting: {error}. Check EDDY_FAUST.") from error
    agents.register_bridge(app)
    brokers = BrokerWatch(connection(settings), errors)
    metrics.watch(readings(app, brokers))
    metrics.watch_held(app.held)
    observe(app, settings, brokers, metrics.exposition)
    return app


def readings(app: RunApp, brokers: BrokerWatch) -> Readings:
    """Return what every app is asked at each scrape."""
    return Readings(
        brokers=brokers.brokers,
        broker_silence_s=brokers.silent_s,
        tls_outdated=brokers.tls_outdated,
        lags=app.lags,
        waiting=app.waiting,
        sizes=app.sizes,
        unwritten=app.unwritten,
        standby_lags=app.standby_lags,
        clock_ahead=lambda: app.clock.ahead_s,
    )


def observe(
    app: RunApp,
    settings: WorkerSettings,
    brokers: BrokerWatch,
    exposition: Callable[[], bytes],
    new_lookup: Callable[[Health], SessionLookup] | None = None,
) -> None:
    """Give an app what answers probes and watches over it, from before the first restore on.

    Args:
        app: The app that probes ask about.
        settings: Where to listen, and how long a stall may be.
        brokers: Knows whether brokers answer.
        exposition: Returns the metrics in Prometheus' text format.
        new_lookup: Makes what answers for sessions, where the app has any.
    """
    health = Health(
        app,
        brokers,
        partial(transaction_owner, app.options.connection),
        stall_timeout_s=settings.stall_timeout_s,
        restore_timeout_s=settings.restore_timeout_s,
    )
    app.broker_silence = brokers.silence
    token = settings.web_token
    lookup = None if new_lookup is None else new_lookup(health)
    server = HealthServer(
        settings.web_host,
        settings.web_port,
        live=lambda: status(health.live()),
        ready=lambda: status(health.ready()),
        metrics=exposition,
        session=lookup,
        verdict=None if lookup is None else lookup.verdict,
        token=None if token is None else token.get_secret_value(),
    )
    watchdog = Watchdog(health, stall_timeout_s=settings.stall_timeout_s)
    greeting = (
        f"Eddy {__version__} starts: group {app.options.application_id} at {settings.bootstrap_servers}, "
        f"{settings.processing_guarantee.replace('_', ' ')}, state in {app.options.directory.absolute()}."
    )
    app.background_services += (brokers, Observation(server, watchdog, greeting))


def __getattr__(name: str) -> Any:
    if name == "app":
        app = globals()["app"] = build(load(WorkerSettings))
        return app
    raise AttributeError(name)
