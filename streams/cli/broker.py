"""`eddy broker`: a broker to try things on."""

from __future__ import annotations

import asyncio
from typing import Final

import click

from streams.cli.text.screen import echo
from streams.core.domain.text.figures import count
from streams.core.errors import InfrastructureError
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from streams.kafka.embedded.embedded import EmbeddedBroker
from streams.kafka.topic_identity import job_topics
from streams.observe.settings import TopicSettings, load
from streams.observe.stop_signals import until_stopped
from topics.plan import plan

_LOOK_SECONDS: Final = 0.5


@click.command()
@click.option("--port", type=click.IntRange(1, 65_535), default=9092, show_default=True, help="On 127.0.0.1.")
@click.option(
    "--partitions", type=click.IntRange(1, 64), default=4, show_default=True, help="Of the session topics."
)
def broker(*, port: int, partitions: int) -> None:
    """Start a broker here to try things on, with Eddy's topics, until it is stopped.

    It is the one of `eddy demo`, and comes with the extra `demo`. Everything is in memory and gone at the
    end. It knows no transactions, no access control and no retention: run Apache Kafka for those.

    \b
    Exit codes: 0 it was stopped, 2 the port is taken or the extra is
    missing, 3 it ended by itself.

    \b
    Examples:
      eddy broker
      eddy broker --port 19092 --partitions 8
    """  # noqa: D301
    asyncio.run(_serve(port, partitions))


async def _serve(port: int, partitions: int) -> None:
    async with EmbeddedBroker(port=port) as running:
        settings = load(TopicSettings)
        wanted = job_topics(settings.job, settings.topic_prefix, partitions=partitions, replicas=1)
        async with connect(Connection(running.bootstrap)) as brokers:
            await brokers.apply(plan(wanted, []))
        echo(f"A broker listens on {running.bootstrap}, with {count(len(wanted.topics), 'topic')} of Eddy.")
        echo("In another terminal:")
        given = f"EDDY_BOOTSTRAP_SERVERS={running.bootstrap} EDDY_REPLICAS=1"
        echo(f"  export {given} EDDY_PRODUCER_IDEMPOTENCE=false")
        echo("  eddy worker")
        echo("Everything is in memory. Ctrl-C ends it.")
        await until_stopped(asyncio.create_task(_until_ended(running)))


async def _until_ended(running: EmbeddedBroker) -> None:
    """Raise as soon as the broker is gone.

    Raises:
        InfrastructureError: it is.
    """
    while not await asyncio.to_thread(running.ended, within=_LOOK_SECONDS):
        pass
    raise InfrastructureError("The broker has ended by itself. Start it again.")
