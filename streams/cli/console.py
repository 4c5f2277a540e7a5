"""`eddy console`: see which sessions go in circles, and stop them."""

from __future__ import annotations

import asyncio
import shlex
import time
import webbrowser
from pathlib import Path

import click

from schemas.numbers import CONTROL_SUBJECTS
from streams.cli.input_options import INPUT_PATH, formats_option, given_options, settings_option
from streams.cli.settings_file import settings_in_force
from streams.cli.text.intake_report import report_intake, reported
from streams.cli.text.progress import watched
from streams.cli.text.screen import echo
from streams.cli.variables import brokers_option
from streams.console.app import Routes, served
from streams.console.composition import console_on
from streams.console.console import Console
from streams.console.demo import demo_console, free
from streams.console.file_board import FileBoard
from streams.console.intake import LARGEST_OUTPUT
from streams.console.live_console import live_console
from streams.console.settings import ConsoleSettings
from streams.core.errors import ConfigurationError
from streams.core.offline import judge
from streams.formats.format_detection import FormatDetection
from streams.formats.intake import Intake
from streams.formats.reading import entries
from streams.kafka.client import connect
from streams.observe.settings import load
from streams.observe.stop_signals import until_stopped
from streams.worker.endpoints import connection, open_codec


@click.command()
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=INPUT_PATH)
@click.option(
    "--demo", "shows_demo", is_flag=True, help="Start a broker, workers and agents here, and show them."
)
@click.option(
    "--speed",
    type=click.FloatRange(0.1, 100),
    default=1.0,
    show_default=True,
    help="How much quicker the agents of --demo work.",
)
@click.option("--port", type=click.IntRange(0, 65_535), help="0 chooses a free one [EDDY_CONSOLE_PORT].")
@click.option("--open", "opens", is_flag=True, help="Open a browser.")
@brokers_option
@settings_option("JSON document of settings that differ from the defaults; for files.")
@formats_option
def console(
    *,
    paths: tuple[str, ...],
    shows_demo: bool,
    speed: float,
    port: int | None,
    opens: bool,
    bootstrap_servers: str | None,
    settings_path: Path | None,
    formats: FormatDetection,
) -> None:
    """Show in a browser which sessions go in circles, and why.

    Without a PATH it follows the topics of the job: operators see which sessions need them, and pause, resume
    or end them, where the agent runs under a guard (eddy-client).

    With --demo it starts a broker, two workers and twelve agents under a guard on this machine.

    Each PATH is a file or a folder in any format that `eddy detect` reads. Its sessions are judged here,
    without Kafka, and can be looked at.

    \b
    Examples:
      eddy console
      eddy console --demo
      eddy console run.jsonl
      eddy console ~/.claude/projects --open
    """  # noqa: D301
    if shows_demo and paths:
        raise click.UsageError("Give --demo or files, not both.")
    settings = load(ConsoleSettings, console_port=port, bootstrap_servers=bootstrap_servers)
    if paths:
        board = _judged(paths, formats, settings_path)
        asyncio.run(_show(settings, board, opens=opens))
    elif shows_demo:
        asyncio.run(_demo(settings, speed, opens=opens))
    else:
        asyncio.run(_follow(settings, opens=opens))


def _judged(paths: tuple[str, ...], formats: FormatDetection, settings_path: Path | None) -> FileBoard:
    given = " ".join(map(shlex.quote, (*paths, *given_options())))
    in_force = settings_in_force(settings_path)
    board = FileBoard(Path(paths[0]).name if len(paths) == 1 else f"{len(paths)} inputs", given, in_force)
    intake = Intake()
    found = entries(paths, formats, intake)
    for judgement in reported(judge(watched(found, "judging"), in_force)):
        board.add(judgement)
    report_intake(intake)
    if not board.ids:
        raise ConfigurationError("Nothing was scored. Check the files and --format.")
    return board


async def _show(settings: ConsoleSettings, board: FileBoard, *, opens: bool) -> None:
    await _serve(console_on(settings, board, _now), (), None, opens=opens)


async def _follow(settings: ConsoleSettings, *, opens: bool) -> None:
    async with connect(connection(settings)) as brokers:
        # What the job writes may be larger than what it takes in.
        large = settings.model_copy(update={"max_value_bytes": LARGEST_OUTPUT})
        codec = await open_codec(large, written=CONTROL_SUBJECTS)
        name = settings.bootstrap_servers.split(",")[0]
        async with live_console(settings, brokers, codec, name, _now) as (shown, beside, reading):
            await _serve(shown, beside, reading, opens=opens)


async def _demo(settings: ConsoleSettings, speed: float, *, opens: bool) -> None:
    began = time.monotonic()

    def say(text: str) -> None:
        echo(f"{time.monotonic() - began:5.1f} s  {text}")

    async with demo_console(free(settings), _now, say, speed) as (shown, beside, reading):
        await _serve(shown, beside, reading, opens=opens)


async def _serve(shown: Console, beside: Routes, reading: asyncio.Task[None] | None, *, opens: bool) -> None:
    async with served(shown, beside) as address:
        link = shown.access.link(address)
        echo(f"Open {link} in a browser. Ctrl-C ends the console.")
        if opens:
            await asyncio.to_thread(webbrowser.open, link)
        await until_stopped(reading)


def _now() -> int:
    return int(time.time() * 1000)
