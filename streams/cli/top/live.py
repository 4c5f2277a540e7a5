"""`eddy top` on a terminal: paints what is so each second, and does what keys and signals say."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Any, Final

from streams.cli.text.full_screen import FullScreen, keyboard
from streams.cli.top.list_text import list_lines, rows_that_fit
from streams.cli.top.picture import Picture, picture, row_of
from streams.cli.top.session_text import furthest, page, screenful
from streams.cli.top.source import TopSource
from streams.cli.top.view import Key, TopView, keys
from streams.core.errors import EddyError
from streams.observe.logs import Notices

_TICK_SECONDS: Final = 1.0
_LABEL_SECONDS: Final = 5.0
"""How long a label that was just given is waited for at the end."""

log = logging.getLogger(__name__)


class _Leave(Enum):
    """Why the terminal is given back."""

    END = auto()
    SUSPEND = auto()


class LiveTop:
    """Shows a source on a terminal until somebody ends it.

    Args:
        source: Source of what is shown.
        screen: Terminal that it is drawn on.
        clock: Returns the time in milliseconds since 1970.
        within_ms: A session without a record for longer is left out.
        explain: Returns the command that explains a session, which is quoted for a shell.
    """

    def __init__(
        self,
        source: TopSource,
        screen: FullScreen,
        clock: Callable[[], int],
        within_ms: int,
        explain: Callable[[str], str],
    ) -> None:
        self._source, self._screen, self._clock = source, screen, clock
        self._within_ms, self._explain = within_ms, explain
        self._view = TopView()
        self._shown: Picture | None = None
        self._left: asyncio.Future[_Leave] | None = None
        self._woken = asyncio.Event()
        self._notices = Notices(clock)
        self._doubted: str | None = None
        self._labelling: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Show it until a key or a signal ends it.

        Raises:
            EddyError: what ended the reading.
        """
        with self._notices.taken():
            reading = asyncio.create_task(self._source.run())
            try:
                while await self._on_terminal(reading) is _Leave.SUSPEND:
                    os.kill(os.getpid(), signal.SIGSTOP)
            finally:
                if self._labelling is not None:
                    await asyncio.wait({self._labelling}, timeout=_LABEL_SECONDS)
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)

    async def _on_terminal(self, reading: asyncio.Task[None]) -> _Leave:
        left: asyncio.Future[_Leave] = asyncio.get_running_loop().create_future()
        self._left = left
        with self._screen.shown(), keyboard(self._typed), self._signals():
            while not left.done():
                self._woken.clear()
                self._paint()
                waking = asyncio.create_task(self._woken.wait())
                watched: set[asyncio.Future[Any]] = {reading, left, waking}
                await asyncio.wait(watched, timeout=_TICK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                waking.cancel()
                if reading.done():
                    reading.result()
                    self._end(_Leave.END)
        return left.result()

    def _paint(self) -> None:
        width, height = self._screen.size
        now = self._clock()
        reading = self._source.reading()
        notices = (*reading.notices, *self._notices.recent())
        if self._doubted is not None:
            notices = (*notices, f"Press n again if {self._doubted} is not a loop.")
        shown = picture(
            self._source.model,
            reading._replace(notices=notices),
            now,
            self._within_ms,
        )
        self._shown = shown
        self._view = self._view.settled(shown.ids, rows_that_fit(height))
        chosen = self._view.chosen
        if not self._view.is_open or chosen is None:
            self._screen.paint(list_lines(shown, self._view, width, height))
            return
        lines = page(
            chosen,
            row_of(self._source.model, chosen, now),
            self._source.steps.of(chosen),
            now,
            explain=self._explain,
            stop=self._source.stop,
        )
        laid_out = self._screen.laid_out(lines)
        self._view = self._view.scrolled_to(furthest(self._view.first, len(laid_out), height))
        self._screen.paint(screenful(laid_out, self._view.first, width, height))

    def _typed(self, typed: bytes) -> None:
        """Do what keys say; no bytes say that the terminal is gone."""
        fit = rows_that_fit(self._screen.size[1])
        ids = [] if self._shown is None else self._shown.ids
        for key in keys(typed):
            doubted, self._doubted = self._doubted, None
            if key is Key.QUIT:
                self._end(_Leave.END)
            elif key is Key.WRONG:
                self._doubt(doubted)
            else:
                self._view = self._view.pressed(key, ids, fit)
        if not typed:
            self._end(_Leave.END)
        self._woken.set()

    def _doubt(self, doubted: str | None) -> None:
        """Say that the chosen session is not a loop, if the key is pressed for it a second time."""
        chosen = self._view.chosen
        if chosen is None or (self._labelling is not None and not self._labelling.done()):
            return
        if chosen != doubted:
            self._doubted = chosen
            return
        self._labelling = asyncio.create_task(self._call_wrong(chosen))

    async def _call_wrong(self, session_id: str) -> None:
        try:
            await self._source.call_wrong(session_id)
        except EddyError as error:
            log.warning("Not labelled: %s", error)
        self._woken.set()

    def _end(self, why: _Leave) -> None:
        if self._left is not None and not self._left.done():
            self._left.set_result(why)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._end, _Leave.END)
        loop.add_signal_handler(signal.SIGTSTP, self._end, _Leave.SUSPEND)
        loop.add_signal_handler(signal.SIGWINCH, self._woken.set)
        try:
            yield
        finally:
            for number in (
                signal.SIGINT,
                signal.SIGTERM,
                signal.SIGHUP,
                signal.SIGTSTP,
                signal.SIGWINCH,
            ):
                loop.remove_signal_handler(number)
