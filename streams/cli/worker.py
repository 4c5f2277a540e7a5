"""`eddy worker`: run the job."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from streams.app import build, engine_options
from streams.engine.garbage import collect_rarely
from streams.engine.options import EngineOptions
from streams.engine.preflight.topic_check import check_topics
from streams.engine.preflight.transaction_check import check_transactions
from streams.errors import EddyError
from streams.settings import WorkerSettings, load


@click.command()
@click.option("--bootstrap-servers", help="Brokers [EDDY_BOOTSTRAP_SERVERS].")
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Local state; one worker's own [EDDY_DATA_DIR].",
)
@click.option(
    "--web-port", type=click.IntRange(0, 65_535), help="Of /livez, /readyz, /metrics [EDDY_WEB_PORT]."
)
@click.option(
    "--log-level", type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"]), help="[EDDY_LOG_LEVEL]"
)
def worker(
    bootstrap_servers: str | None, data_dir: Path | None, web_port: int | None, log_level: str | None
) -> None:
    """Score decision logs until it is stopped.

    Start as many workers as you like, up to the number of partitions: they share the partitions, and state
    moves with them. Each needs a data directory of its own. Every setting is an environment variable,
    listed by `eddy settings`; the options here win over them. SIGTERM drains, commits and leaves.

    \b
    Exit codes: 0 a signal stopped it, 1 the state or the disk cannot be used as it is, 2 a setting or a topic
    is wrong, 3 the brokers or the registry failed, 70 it ended itself since it did not get on. The last line
    says what to do. After 3 and 70 a restart may be all that is needed.
    """  # noqa: D301
    settings = load(
        WorkerSettings,
        bootstrap_servers=bootstrap_servers,
        data_dir=data_dir,
        web_port=web_port,
        log_level=log_level,
    )
    # Said here, a problem is a sentence and an exit status; said from inside Faust, it is a stack trace.
    asyncio.run(_check(engine_options(settings)))
    app = build(settings)
    app.finalize()
    collect_rarely()
    try:
        app.Worker(loglevel=settings.log_level, redirect_stdouts=False, quiet=True).execute_from_commandline()
    except (SystemExit, asyncio.CancelledError) as ended:
        # mode exits with 1 whatever it was, or as a service did that was cancelled because of it; what it was
        # tells an orchestrator more.
        for cause in (app.crash_reason, ended.__context__):
            if isinstance(cause, EddyError):
                raise cause from None
        raise


async def _check(options: EngineOptions) -> None:
    await check_topics(options)
    await check_transactions(options)
