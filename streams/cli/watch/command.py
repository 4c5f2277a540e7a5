"""`eddy watch`: what loops on this machine, and the hooks of its agents answered, in one process."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import orjson

from streams.cli.duration_type import DurationType
from streams.cli.input_options import formats_option, settings_option
from streams.cli.settings_file import settings_in_force
from streams.cli.text.screen import echo, terminal
from streams.cli.top.source import TopSource
from streams.core.domain.text.figures import clock
from streams.core.errors import ConfigurationError
from streams.formats.format_detection import FormatDetection


@click.command()
@click.argument("paths", metavar="[PATH...]", nargs=-1)
@click.option(
    "--policy",
    "policy_path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="JSON document of rules that act, instead of a note to each session at LOOP.",
)
@click.option("--no-act", is_flag=True, help="Only look: no policy acts.")
@click.option(
    "--within",
    "within_ms",
    type=DurationType(),
    metavar="SPAN",
    default="1h",
    show_default=True,
    help="Leave out sessions that have been silent for longer, and files.",
)
@click.option("--plain", is_flag=True, help="Write a line for each event; so it does without a terminal.")
@formats_option
@settings_option("JSON document of settings that differ from the defaults.")
def watch(
    *,
    paths: tuple[str, ...],
    policy_path: Path | None,
    no_act: bool,
    within_ms: int,
    plain: bool,
    formats: FormatDetection,
    settings_path: Path | None,
) -> None:
    """Judge the agents of this machine as they work, and tell those that loop, without Kafka.

    It reads the logs of coding agents here, or at PATHs, shows which go in circles, and answers the hooks
    that `eddy guard install` has put into them. An agent at LOOP gets a note: what repeats, and to choose
    another way. A --policy may pause and end sessions, too; `eddy guard pause` and its like do so by hand.

    What was asked of whom is kept in ~/.local/state/eddy/watch.jsonl. One watch runs for each user.

    \b
    Exit codes: 0 somebody ended it, 2 wrong usage, or another watch runs.

    \b
    Examples:
      eddy guard install claude-code
      eddy watch
      eddy watch --policy policy.json --plain >> watch.log
    """  # noqa: D301
    from streams.cli.top.command import absolute, explain_in_logs  # noqa: PLC0415 - Rich and the read model take their time
    from streams.cli.watch.watch_source import NOTES_ALONE, WatchSource  # noqa: PLC0415
    from streams.formats.agent_hooks.asking import path  # noqa: PLC0415
    from streams.formats.sources import known_patterns, missing  # noqa: PLC0415

    places = [absolute(each) for each in paths or known_patterns(Path.home())]
    if paths and (lost := missing(places)):
        raise ConfigurationError(f"There is nothing to read at {', '.join(lost)}")
    policy: Mapping[str, Any] = NOTES_ALONE if policy_path is None else _document(policy_path)
    address = Path(path())
    screen = None if plain else terminal()
    source = WatchSource(
        places,
        formats,
        settings_in_force(settings_path),
        {**policy, "mode": "off"} if no_act else policy,
        _now,
        within_ms,
        journal=address.with_name("watch.jsonl"),
        address=address,
        tell=_write if screen is None else _nothing,
    )
    if screen is None:
        asyncio.run(_until_told(source))
        return
    from streams.cli.text.full_screen import FullScreen  # noqa: PLC0415
    from streams.cli.top.live import LiveTop  # noqa: PLC0415

    explain = explain_in_logs(paths, ())
    asyncio.run(LiveTop(source, FullScreen(screen), _now, within_ms, explain).run())


async def _until_told(source: TopSource) -> None:
    """Run until a signal ends it. What happens is written as it happens."""
    running = asyncio.create_task(source.run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, running.cancel)
    caught_up = asyncio.create_task(source.caught_up())
    try:
        await asyncio.wait({running, caught_up}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            _write(f"Watching: {source.reading().source}")
        with suppress(asyncio.CancelledError):
            await running
    finally:
        caught_up.cancel()


def _write(sentence: str) -> None:
    echo(f"{clock(_now())} {sentence}")


def _nothing(_sentence: str) -> None:
    """Write nothing: the screen shows it."""


def _document(file: Path) -> Mapping[str, Any]:
    try:
        found = orjson.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{file} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise ConfigurationError(f"{file} holds no document of a policy: it must be an object")
    return found


def _now() -> int:
    return int(time.time() * 1000)
