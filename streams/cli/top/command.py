"""`eddy top`: what loops now, in the terminal."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import click

from streams.cli.duration_type import DurationType
from streams.cli.input_options import formats_option, given_options, settings_option
from streams.cli.settings_file import settings_in_force
from streams.cli.text.screen import echo_json, standard_output, terminal
from streams.cli.top.list_text import snapshot
from streams.cli.top.picture import Picture, picture
from streams.cli.top.source import TopSource
from streams.cli.variables import brokers_option
from streams.core.errors import ConfigurationError
from streams.formats.format_detection import FormatDetection

_CATCH_UP_SECONDS: Final = 60.0
"""How long a snapshot waits for what is there to be read; it then says how much is left."""
_COLUMNS: Final = 120
"""Characters of a line where there is no terminal."""
_HOUR_MS: Final = 3_600_000

Explain = Callable[[str], str]
"""Returns the command that explains a session, which is quoted for a shell."""
Show = Callable[[TopSource, Explain], Coroutine[Any, Any, None]]


@click.command()
@click.argument("paths", metavar="[PATH...]", nargs=-1)
@click.option(
    "--follow", is_flag=True, help="Judge the logs of the agents on this machine, or at PATHs, without Kafka."
)
@click.option(
    "--within",
    "within_ms",
    type=DurationType(),
    metavar="SPAN",
    default="1h",
    show_default=True,
    help="Leave out sessions that have been silent for longer, and with --follow files.",
)
@click.option("--once", is_flag=True, help="Write what is so now, and end; so it does without a terminal.")
@click.option("--json", "as_json", is_flag=True, help="Write what is so now as one JSON document, and end.")
@formats_option
@settings_option("With --follow: JSON document of settings that differ from the defaults.")
@brokers_option
def top(
    *,
    paths: tuple[str, ...],
    follow: bool,
    within_ms: int,
    once: bool,
    as_json: bool,
    formats: FormatDetection,
    settings_path: Path | None,
    bootstrap_servers: str | None,
) -> None:
    """Show in the terminal which sessions go in circles now, worst first.

    It reads the topics of the job, outside any consumer group, and changes nothing. Each session has two
    lines: verdict, since when, and the records, tokens and cost since the loop began; then whether
    somebody has stopped it, and what repeats. The order is that of the console's inbox: first what needs
    somebody, then what to watch, then what is paused or acknowledged.

    With --follow it judges the logs of coding agents on this machine instead, without Kafka.

    Keys: arrows (or j and k) choose a session, Enter shows why and its newest steps, Esc goes back, q ends.

    \b
    Exit codes: 0 somebody ended it, 2 wrong usage, or there are no topics,
    3 the brokers do not answer or do not let this user read.

    \b
    Examples:
      eddy top
      eddy top --follow
      eddy top --follow ~/.claude/projects --within 15m
      eddy top --json | jq '.rows[] | .session_id'
    """  # noqa: D301
    if paths and not follow:
        raise click.UsageError("PATHs are read with --follow.")

    async def show(source: TopSource, explain: Explain) -> None:
        screen = None if once or as_json else terminal()
        if screen is None:
            found = await _caught_up(source, within_ms)
            _write(found, as_json=as_json)
            return
        from streams.cli.text.full_screen import FullScreen  # noqa: PLC0415 - Rich takes its time
        from streams.cli.top.live import LiveTop  # noqa: PLC0415

        await LiveTop(source, FullScreen(screen), _now, within_ms, explain).run()

    if follow:
        asyncio.run(_logs(paths, formats, settings_path, within_ms, show))
    else:
        asyncio.run(_topics(bootstrap_servers, show))


async def _topics(bootstrap_servers: str | None, show: Show) -> None:
    # Imported here, since they take a second that those who follow logs need not wait for.
    from streams.cli.top.topic_source import TopicSource  # noqa: PLC0415
    from streams.console.intake import LARGEST_OUTPUT  # noqa: PLC0415
    from streams.kafka.client import connect  # noqa: PLC0415
    from streams.observe.settings import RecordSettings, load  # noqa: PLC0415
    from streams.worker.endpoints import connection, open_codec  # noqa: PLC0415

    settings = load(RecordSettings, bootstrap_servers=bootstrap_servers)
    # What the job writes may be larger than what it takes in.
    large = settings.model_copy(update={"max_value_bytes": LARGEST_OUTPUT})
    async with connect(connection(settings)) as brokers:
        codec = await open_codec(large, written=())
        try:
            source = TopicSource(brokers, codec, _now)
            await source.check()
            await show(source, lambda session: f"`eddy explain {session} --topic`")
        finally:
            await codec.close()


async def _logs(
    paths: tuple[str, ...],
    formats: FormatDetection,
    settings_path: Path | None,
    within_ms: int,
    show: Show,
) -> None:
    from streams.cli.top.log_source import LogSource  # noqa: PLC0415
    from streams.formats.sources import known_patterns, missing  # noqa: PLC0415

    if lost := missing([absolute(each) for each in paths]):
        raise ConfigurationError(
            f"There is nothing to read at {', '.join(lost)}. Name a log, or the folder in which logs will be"
        )
    places = paths or tuple(known_patterns(Path.home()))
    source = LogSource(
        [absolute(each) for each in places],
        formats,
        settings_in_force(settings_path),
        _now,
        within_ms,
    )
    await show(source, explain_in_logs(paths, given_options()))


def explain_in_logs(paths: Sequence[str], options: Iterable[str]) -> Explain:
    """Return what tells how a session of some logs is explained.

    Args:
        paths: Paths that were given; without any, those of known agents.
        options: Options that were given, and that `eddy explain` needs too.
    """
    named = " ".join(map(shlex.quote, (*(paths or _folders()), *options)))
    return lambda session: f"`eddy explain {session} {named}`"


def absolute(path: str) -> str:
    """Return a path from the root, with the home folder in the place of ``~``."""
    return str(Path(path).expanduser().absolute())


def _folders() -> list[str]:
    """Return the folders in which known agents keep logs here."""
    from streams.formats.sources import known_places  # noqa: PLC0415

    return sorted({absolute(each.folder) for each in known_places(Path.home()) if each.files})


async def _caught_up(source: TopSource, within_ms: int) -> Picture:
    """Return what is so once all that was there is read, or a minute later."""
    reading = asyncio.create_task(source.run())
    caught_up = asyncio.create_task(source.caught_up())
    try:
        await asyncio.wait(
            {reading, caught_up}, timeout=_CATCH_UP_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        for task in (reading, caught_up):
            if task.done():
                task.result()
        return picture(source.model, source.reading(), _now(), within_ms)
    finally:
        for task in (reading, caught_up):
            task.cancel()
        await asyncio.gather(reading, caught_up, return_exceptions=True)


def _write(found: Picture, *, as_json: bool) -> None:
    if as_json:
        echo_json(found.document())
        return
    screen, write = terminal(), standard_output()
    for line in snapshot(found, _COLUMNS if screen is None else screen.width):
        write(line)


def _now() -> int:
    return int(time.time() * 1000)
