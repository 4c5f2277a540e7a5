"""The composition root of the bridge: settings in, a Faust app out. Wires, decides nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from faust.exceptions import ImproperlyConfigured

from schemas.numbers import INPUT_SUBJECTS
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError
from streams.formats.content import Content
from streams.observe.client_errors import ClientErrors
from streams.observe.settings import BridgeSettings
from streams.worker import agents
from streams.worker.bridge.bridge import Bridge, BridgeOptions
from streams.worker.bridge_metrics import BridgeCounts
from streams.worker.bridge_process import BridgeApp
from streams.worker.endpoints import connection, open_codec
from streams.worker.health.broker_watch import BrokerWatch
from streams.worker.options import BRIDGE_FLOW, EngineOptions
from streams.worker.wiring import __version__, engine_options, observe, readings

_SUFFIX: Final = "-bridge"


def bridge_name(job: str) -> str:
    """Return the name of the bridge of a job: its consumer group, and the beginning of its internal topic.

    >>> bridge_name("eddy")
    'eddy-bridge'
    """
    return f"{job}{_SUFFIX}"


def bridge_engine_options(settings: BridgeSettings, errors: ClientErrors | None = None) -> EngineOptions:
    """Return what the settings mean for the engine.

    Raises:
        ConfigurationError: an option handed through does not exist.
    """
    return engine_options(settings, errors, flow=BRIDGE_FLOW, application_id=bridge_name(settings.job))


def build(settings: BridgeSettings) -> BridgeApp:
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
