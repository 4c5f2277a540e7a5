"""`eddy worker`: run the job."""

from __future__ import annotations

from pathlib import Path

import click

from streams.cli.worker_processes import own_settings, worker_options
from streams.observe.settings import WorkerSettings, load


@click.command()
@worker_options
def worker(
    *,
    bootstrap_servers: str | None,
    processes: int | None,
    data_dir: Path | None,
    web_port: int | None,
    log_level: str | None,
    process: int | None,
) -> None:
    """Score decision logs until it is stopped.

    Start as many workers as you like, up to the number of partitions: they share the partitions, and state
    moves with them. Each needs a data directory of its own. One worker keeps one core busy; with --processes,
    one command starts several on this machine, with directories inside of the data directory and ports behind
    the first. Every setting is an environment variable, listed by `eddy settings`; the options here win over
    them. SIGTERM drains, commits and leaves.

    \b
    Exit codes: 0 a signal stopped it, 1 the state or the disk cannot be used as
    it is, 2 a setting or a topic is wrong, 3 the brokers or the registry failed,
    70 it ended itself since it did not get on. The last line says what to do.
    After 3 and 70 a restart may be all that is needed. Of several workers none
    goes on when one has ended, and the worst code counts.
    """  # noqa: D301
    settings = own_settings(
        load(
            WorkerSettings,
            bootstrap_servers=bootstrap_servers,
            processes=processes,
            data_dir=data_dir,
            web_port=web_port,
            log_level=log_level,
        ),
        process,
    )
    from streams.cli.running import run  # noqa: PLC0415
    from streams.worker.wiring import build, engine_options  # noqa: PLC0415 - not needed by one that supervises

    run(lambda: build(settings), engine_options(settings), settings.log_level)
