"""`eddy notify`: alerts reach people."""

from __future__ import annotations

import asyncio
import logging.config
import random
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Final

import click

from schemas.codec import Codec, Decoder
from streams.alerts.metrics import NotifyMetrics
from streams.alerts.notifier import Notifier
from streams.alerts.rehearsal import rehearse, send
from streams.alerts.settings import NotifySettings
from streams.alerts.sink_kinds import sinks
from streams.alerts.sink_worker import Clocks
from streams.alerts.sinks.request import SinkRequest
from streams.alerts.sinks.sink import DeliveryStep, Sink
from streams.alerts.transport import HttpTransport
from streams.alerts.trial import trial
from streams.cli.command_group import PROBLEM_FOUND, CommandGroup
from streams.cli.text.screen import echo
from streams.cli.variables import brokers_option
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError
from streams.kafka.client import Brokers, connect
from streams.observe.logs import logging_config
from streams.observe.settings import load
from streams.observe.stop_signals import until_stopped
from streams.observe.web import HealthServer
from streams.worker.endpoints import connection, open_codec

log = logging.getLogger(__name__)

_LARGEST_ALERT: Final = 8 << 20
_CLOCKS: Final = Clocks(time.monotonic, time.time, random.random)


@click.group(cls=CommandGroup, invoke_without_command=True)
@click.option(
    "--from",
    "notify_from",
    type=click.Choice(["latest", "earliest"]),
    help="Where a new group begins; latest, the default, never pages for what is old [EDDY_NOTIFY_FROM].",
)
@click.option("--families", metavar="KINDS", help="Kinds of alerts, by commas [EDDY_NOTIFY_FAMILIES].")
@click.option("--dry-run", is_flag=True, help="Print the requests instead of sending them; commit nothing.")
@brokers_option
@click.option(
    "--web-port", type=click.IntRange(0, 65_535), help="Of /livez, /readyz, /metrics [EDDY_WEB_PORT]."
)
@click.option(
    "--log-level", type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"]), help="[EDDY_LOG_LEVEL]"
)
@click.pass_context
def notify(
    context: click.Context,
    *,
    notify_from: str | None,
    families: str | None,
    dry_run: bool,
    bootstrap_servers: str | None,
    web_port: int | None,
    log_level: str | None,
) -> None:
    """Tell people and programs what loops, until it is stopped.

    It reads `session-alerts` and tells Alertmanager, a webhook, PagerDuty, Slack, an OpenTelemetry Collector
    and whatever Apprise knows. Settings say which: `eddy settings notify` lists them. Start a second one
    anywhere: they share the partitions, and one takes over from the other.

    \b
    Exit codes: 0 a signal stopped it, 2 a setting or a topic is wrong, 3 the
    brokers failed.
    """  # noqa: D301
    if context.invoked_subcommand is not None:
        return
    settings = load(
        NotifySettings,
        notify_from=notify_from,
        notify_families=families,
        bootstrap_servers=bootstrap_servers,
        web_port=web_port,
        log_level=log_level,
    )
    found = sinks(settings)
    if dry_run:
        asyncio.run(_rehearse(settings, found))
        return
    logging.config.dictConfig(logging_config(settings.log_level, settings.log_format))
    asyncio.run(_run(settings, found))


@notify.command("test")
@click.argument("sink", required=False)
@click.option("--dry-run", is_flag=True, help="Print the requests instead of sending them.")
def test_command(*, sink: str | None, dry_run: bool) -> None:
    """Send a loop and its end to SINK, or to all that are set up, and say what each answered.

    It needs no broker. The session is called eddy-notify-test. Alertmanager gets no end: the alert ends by
    itself within four minutes.

    \b
    Examples:
      eddy notify test
      eddy notify test pagerduty --dry-run
    """  # noqa: D301
    settings = load(NotifySettings)
    found = [each for each in sinks(settings) if sink in {None, each.name}]
    if not found:
        raise click.UsageError(f"{sink} is not set up. These are: {', '.join(_names(sinks(settings)))}.")
    if not asyncio.run(_try(settings, found, dry_run=dry_run)):
        raise click.exceptions.Exit(PROBLEM_FOUND)


async def _try(settings: NotifySettings, found: Sequence[Sink], *, dry_run: bool) -> bool:
    """Return whether every sink took everything."""
    all_well = True
    async with _transport(settings) as transport:
        for sink in found:
            handle = None
            for delivery in trial(_now_ms()):
                if delivery.step is DeliveryStep.RESOLVE and sink.traits.refresh_s is not None:
                    # At once, its end would be there before anybody was called.
                    echo(f"{sink.name}: not resolved; it ends by itself, since nothing repeats it")
                    continue
                echo(f"{sink.name}: {delivery.step}")
                if dry_run:
                    for request in sink.requests(delivery, None, _now_ms()):
                        _show(request)
                    continue
                said, handle, well = await send(sink, delivery, handle, transport, _CLOCKS)
                all_well = all_well and well
                for line in said:
                    echo(f"  {line}")
    return all_well


async def _rehearse(settings: NotifySettings, found: Sequence[Sink]) -> None:
    async with connect(connection(settings)) as brokers:
        decoder = await _decoder(settings)
        await _check_topics(brokers)
        echo("Nothing is sent, and nothing is committed. Ctrl-C ends this.", err=True)

        async def print_requests() -> None:
            async for name, delivery, requests in rehearse(settings, brokers, decoder, found, _CLOCKS):
                echo(f"{name}: {delivery.step} {delivery.id}")
                for request in requests:
                    _show(request)

        await until_stopped(asyncio.create_task(print_requests()))


async def _run(settings: NotifySettings, found: Sequence[Sink]) -> None:
    metrics = NotifyMetrics()
    async with connect(connection(settings)) as brokers, _transport(settings) as transport:
        decoder = await _decoder(settings)
        await _check_topics(brokers)
        notifier = Notifier(
            settings, connection(settings), brokers, decoder, found, transport, _CLOCKS, metrics
        )
        server = _server(settings, notifier, metrics)
        log.info(
            "Eddy %s notifies %s: group %s at %s.",
            version("eddy-streams"),
            ", ".join(_names(found)),
            settings.group,
            settings.bootstrap_servers,
        )
        await server.start()
        notifying = asyncio.create_task(notifier.run())
        try:
            await until_stopped(notifying)
        finally:
            notifying.cancel()
            await asyncio.gather(notifying, return_exceptions=True)
            await server.stop()


def _server(settings: NotifySettings, notifier: Notifier, metrics: NotifyMetrics) -> HealthServer:
    def live() -> tuple[int, dict[str, Any]]:
        silent_s = _CLOCKS.elapsed_s() - notifier.polled_s
        if silent_s > settings.stall_timeout_s:
            return 503, {"status": "stalled", "detail": f"no look at the topic for {silent_s:.0f} s"}
        return 200, {"status": "live"}

    def ready() -> tuple[int, dict[str, Any]]:
        if notifier.is_ready:
            return 200, {"status": "ready", "open_episodes": notifier.open_episodes}
        return 503, {"status": "not ready", "detail": "learning which episodes are open"}

    return HealthServer(settings.web_host, settings.web_port, live=live, ready=ready, metrics=metrics.exposed)


async def _check_topics(brokers: Brokers) -> None:
    """Refuse to begin without the topics.

    Raises:
        ConfigurationError: one is missing, or they have different numbers of partitions.
    """
    names = [
        brokers.topic(topic) for topic in (Topic.SESSION_ALERTS, Topic.NOTIFY_STATE, Topic.ALERT_DEAD_LETTERS)
    ]
    counts = await brokers.partition_counts(names)
    if missing := [name for name in names if name not in counts]:
        raise ConfigurationError(
            f"The brokers have no topic {', '.join(missing)}. Create the topics with `eddy topics apply`."
        )
    if len(set(counts.values())) > 1:
        raise ConfigurationError(
            f"{', '.join(names)} must have the same number of partitions, and have "
            f"{', '.join(str(counts[name]) for name in names)}."
        )


async def _decoder(settings: NotifySettings) -> Decoder:
    # What the job writes may be larger than what it takes in.
    large = settings.model_copy(update={"max_value_bytes": _LARGEST_ALERT})
    codec: Codec = await open_codec(large, written=())
    return codec.decoder(f"{Topic.SESSION_ALERTS}-value")


def _transport(settings: NotifySettings) -> HttpTransport:
    return HttpTransport(settings.notify_timeout_s, settings.notify_cafile, settings.secret("apprise_urls"))


def _show(request: SinkRequest) -> None:
    for line in request.shown():
        echo(f"  {line}" if line else "")


def _names(found: Sequence[Sink]) -> list[str]:
    return [each.name for each in found]


def _now_ms() -> int:
    return round(time.time() * 1000)
