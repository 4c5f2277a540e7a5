"""One worker or several: what `eddy worker` and `eddy bridge` do before they run.

Imports nothing of the engine: a process that supervises others needs a third of a worker's memory for that.
"""

from __future__ import annotations

import asyncio
import logging.config
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from streams.cli.text.screen import echo
from streams.cli.variables import brokers_option
from streams.observe.logs import logging_config
from streams.observe.settings import WorkerSettings
from streams.operate.supervisor import Supervisor, tie
from streams.worker.processes import of_each_process, of_process

F = TypeVar("F", bound=Callable[..., object])
S = TypeVar("S", bound=WorkerSettings)


def worker_options(command: F) -> F:
    """Add the options that every worker has.

    The command gets them by the names of the settings, and ``process``: which of several workers it is, None
    if no supervisor started it.
    """
    level = click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"])
    for option in (
        click.option("--log-level", type=level, help="[EDDY_LOG_LEVEL]"),
        click.option(
            "--web-port",
            type=click.IntRange(0, 65_535),
            help="Of /livez, /readyz, /metrics [EDDY_WEB_PORT].",
        ),
        click.option(
            "--data-dir",
            type=click.Path(file_okay=False, path_type=Path),
            help="Local state; one worker's own [EDDY_DATA_DIR].",
        ),
        click.option(
            "--processes",
            type=click.IntRange(1, 256),
            help="Workers to start, one for each core of the machine [EDDY_PROCESSES].",
        ),
        brokers_option,
        click.option("--process", type=click.IntRange(1, 256), hidden=True, help="Which of them this is."),
    ):
        command = option(command)
    return command


def own_settings(settings: S, process: int | None) -> S:
    """Return the settings of this worker. If several are to run, run them instead and exit.

    Args:
        settings: As they were given.
        process: Which of several workers this is, None if no supervisor started it.

    Raises:
        ConfigurationError: the settings leave no port for a worker.
        click.exceptions.Exit: all workers have ended.
    """
    if process is not None:
        tie()
        return of_process(settings, process)
    if settings.processes == 1:
        return settings
    for _ in of_each_process(settings):
        pass  # what is wrong with one of them is said before any is started
    logging.config.dictConfig(logging_config(settings.log_level, settings.log_format))
    ended = asyncio.run(Supervisor(_commands(settings.processes)).run())
    if ended.why:
        echo(f"eddy: {ended.why}", err=True)
    raise click.exceptions.Exit(ended.status)


def _commands(processes: int) -> dict[int, list[str]]:
    # This program again; without -P it would be looked for in the working directory first.
    again = [sys.executable, "-P", "-m", "streams", *sys.argv[1:], "--process"]
    return {number: [*again, str(number)] for number in range(1, processes + 1)}
