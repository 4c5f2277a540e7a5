"""A console on brokers: reads, shows and acts, for as long as it is wanted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from aiohttp import web

from schemas.codec import Codec
from streams.console import actions, guard_api
from streams.console.action_context import ActionContext, ModelKnown
from streams.console.archive.archive import Archive
from streams.console.archive.row_store import recall
from streams.console.backtests import Backtests
from streams.console.composition import console_on
from streams.console.console import Console
from streams.console.guard_api import GuardApi, ReadCommands
from streams.console.interventions.deciding import Deciding
from streams.console.live_board import LiveBoard
from streams.console.raw_records import RawRecords
from streams.console.read_model.model import ReadModel
from streams.console.settings import ConsoleSettings
from streams.console.settings_actions import Changing
from streams.console.timeline import StepReader
from streams.console.topic_follower import FollowerSettings, TopicFollower
from streams.console.verdict_api import VerdictApi
from streams.console.views import backtest, dead_letter, policy, record
from streams.console.views.redrive import Redriving
from streams.console.workers import JobPoll
from streams.control.audit import AuditRecord
from streams.control.publisher import CommandPublisher
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers
from streams.observe.stop_signals import all_of


@asynccontextmanager
async def live_console(
    settings: ConsoleSettings,
    brokers: Brokers,
    codec: Codec,
    cluster: str,
    clock: Callable[[], int],
    *,
    from_beginning: bool = False,
) -> AsyncIterator[tuple[Console, Sequence[web.RouteDef], asyncio.Task[None]]]:
    """Read and act as long as the block lasts.

    Yields the console, the routes of its actions and for guards, and the task that reads and decides.

    Args:
        settings: As read at start.
        brokers: Connection that is already open.
        codec: Reads what is on the topics, and writes commands.
        cluster: What to call the brokers.
        clock: Returns the time in milliseconds since 1970.
        from_beginning: Whether the topics are read from their beginning, as on brokers that keep nothing.

    Raises:
        ConfigurationError: the settings would let in whoever asks.
    """
    archive = Archive(settings.console_dir)
    try:
        model = ReadModel(
            recall=recall(archive),
            live_minutes=settings.console_live_minutes,
            live_max=settings.console_live_max,
        )
        read = FollowerSettings(
            history_days=settings.console_history_days,
            live_minutes=settings.console_live_minutes,
            live_max=settings.console_live_max,
            index=settings.console_index,
            from_beginning=from_beginning,
        )
        feed = TopicFollower(brokers, codec, model, archive, read, clock)
        timeline = StepReader(
            brokers,
            codec,
            model,
            archive,
            searches=settings.console_index != "off",
            from_beginning=from_beginning,
        )
        token = settings.web_token.get_secret_value() if settings.web_token else None
        job = JobPoll(brokers, settings.job, settings.worker_urls, clock, token)
        board = LiveBoard(model, feed, timeline, job, cluster, settings.console_currency)
        publisher = _publisher(settings, brokers, codec)

        async def audit(done: AuditRecord) -> None:
            await publisher.audit(done)

        backtests = Backtests(brokers, brokers.servers, clock)
        console = console_on(settings, board, clock, audit=audit, beside=[backtest.screen(backtests)])
        context = ActionContext(publisher, ModelKnown(model, clock), feed.passed)
        guards = GuardApi(ReadCommands(model, feed, clock), publisher, _key(settings))
        work = [feed.run(), job.run()]
        if settings.console_automatic:
            deciding = Deciding(model, publisher, feed, clock)
            feed.intake.listeners[Topic.SESSION_ALERTS] = deciding.on_alert
            work.append(deciding.run())
        working = asyncio.create_task(all_of(work))
        try:
            acts = actions.routes(console, context)
            records = RawRecords(brokers, codec)
            letters = dead_letter.routes(console, records, audit)
            raw = record.routes(console, records, audit)
            changing = Changing(console, context, brokers, backtests).routes()
            tests = backtest.routes(console, context, backtests)
            doors = [*guard_api.routes(console, guards), *VerdictApi(console, guards, model, clock).routes()]
            policies = policy.actions(console, context, brokers)
            again = Redriving(console, context, brokers, records).routes()
            yield console, [*acts, *changing, *tests, *letters, *again, *policies, *raw, *doors], working
        finally:
            await backtests.cancel()
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
    finally:
        archive.close()


def _publisher(settings: ConsoleSettings, brokers: Brokers, codec: Codec) -> CommandPublisher:
    return CommandPublisher(brokers, codec, _key(settings))


def _key(settings: ConsoleSettings) -> bytes | None:
    key = settings.command_key
    return key.get_secret_value().encode() if key else None
