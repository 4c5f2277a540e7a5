"""`eddy watch` without a terminal: a line for what begins to loop, what was asked of it, and how it ended."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from streams.cli.text.line import Line, TextSpan
from streams.cli.text.screen import standard_output
from streams.cli.top.list_text import control
from streams.cli.top.picture import row_of
from streams.cli.watch.watch_source import WatchSource
from streams.console.read_model.attention import Class
from streams.core.domain.text.figures import clock, count
from streams.core.domain.text.printable import printable

_LOOK_SECONDS: Final = 0.5
_LONGEST: Final = 200
_MOST_REMEMBERED: Final = 2_000


async def lines(source: WatchSource, now: Callable[[], int], within_ms: int) -> None:
    """Write lines until a signal ends it.

    Args:
        source: What is watched.
        now: Returns the time in milliseconds since 1970.
        within_ms: A session without a record for longer is left out.

    Raises:
        EddyError: what ended the reading.
    """
    write = standard_output()
    reading = asyncio.create_task(source.run())
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    ending = asyncio.create_task(ended.wait())
    said: dict[str, str] = {}
    started = False
    try:
        while not ended.is_set() and not reading.done():
            if not started and source.reading().behind is not None:
                started = True
                write(_line(now(), source.reading().source))
            for line in news(source, said, now(), within_ms):
                write(line)
            await asyncio.wait(
                {reading, ending}, timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
        if reading.done():
            reading.result()
    finally:
        for task in (reading, ending):
            task.cancel()
        await asyncio.gather(reading, ending, return_exceptions=True)


def news(source: WatchSource, said: dict[str, str], now: int, within_ms: int) -> Iterator[Line]:
    """Yield a line for each session about which there is something else to say than before.

    Args:
        source: What is watched.
        said: What was said of each session; kept up to date.
        now: The moment, ms since 1970.
        within_ms: A session without a record for longer is left out.
    """
    for session_id, about in source.model.attention(now).items():
        if about.newest <= now - within_ms or about.class_ is Class.LOW:
            continue
        row = row_of(source.model, session_id, now)
        if row is None:
            continue
        text = _state(row)
        if said.pop(session_id, None) != text:
            yield _line(now, f"{printable(session_id, _LONGEST)} ({printable(row['agent_id'] or '', 80)}): {text}")
        said[session_id] = text
        if len(said) > _MOST_REMEMBERED:
            del said[next(iter(said))]


def _state(row: Mapping[str, Any]) -> str:
    """Return how a session stands, without what changes each second."""
    state = row["ending"] or row["level"] or "NORMAL"
    if row["ending"] is not None:
        return f"{state}, after {count(row['records'], 'record')} in the loop"
    asked = "; ".join(span.text for span in control(row))
    return f"{state}, {row['sentence']}" + (f"; {asked}" if asked else "")


def _line(now: int, text: str) -> Line:
    return Line.of(TextSpan(f"{clock(now)} {text}"))
