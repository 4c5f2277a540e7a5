"""What the inbox costs a browser: Chromium looks at it while alerts come. Needs `make test-browser` once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import click
import psutil

from tests.browser import chromium

if TYPE_CHECKING:
    from playwright.async_api import Page

#: Times each message of the live stream until the page is laid out again, tasks of 50 ms and more, and when
#: a row is there (ms since 1970).
_WATCH: Final = """
window.measured = { patches: [], long: 0, rows: {} };
const own = Object.getOwnPropertyDescriptor(MessagePort.prototype, "onmessage");
Object.defineProperty(MessagePort.prototype, "onmessage", { ...own, set(take) {
  own.set.call(this, (event) => {
    if (event.data.type !== "rows") return take(event);
    const began = performance.now();
    take(event);
    document.body.getBoundingClientRect();
    const done = performance.now();
    window.measured.patches.push(done - began);
    for (const row of document.querySelectorAll("tbody[id] > tr[data-key]:not([hidden])"))
      window.measured.rows[row.getAttribute("data-key")] ??= performance.timeOrigin + done;
  });
} });
new PerformanceObserver((list) => { window.measured.long += list.getEntries().length; })
  .observe({ type: "longtask" });
"""
#: Bytes that came over the network for the page, as they were sent.
_TRANSFERRED: Final = """() => ["navigation", "resource"]
  .flatMap((type) => performance.getEntriesByType(type))
  .reduce((sum, entry) => sum + entry.transferSize, 0)"""


class Looker:
    """A page that shows the inbox."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.cold = self.warm = 0
        self._cpu = 0.0

    async def open(self, address: str) -> None:
        """Open the inbox with an empty cache, and once more."""
        await self._page.goto(f"{address}/alerts", wait_until="load")
        self.cold = await self._page.evaluate(_TRANSFERRED)
        await self._page.goto(f"{address}/alerts", wait_until="load")
        self.warm = await self._page.evaluate(_TRANSFERRED)

    async def forget(self) -> None:
        """Begin to measure."""
        await self._page.evaluate("() => { measured.patches.length = 0; measured.long = 0; }")
        self._cpu = _renderers()

    async def measured(self) -> dict[str, Any]:
        """Return ``patches`` (ms each), ``long`` (tasks), ``rows`` (key to ms since 1970) and ``cpu`` (s)."""
        found: dict[str, Any] = await self._page.evaluate("() => measured")
        return {**found, "cpu": _renderers() - self._cpu}


def _renderers() -> float:
    """Return the seconds of CPU of the processes that lay pages out: what a busy machine does not stretch."""
    times = [
        each.cpu_times()
        for each in psutil.Process().children(recursive=True)
        if "--type=renderer" in each.cmdline()
    ]
    return sum(each.user + each.system for each in times)


@asynccontextmanager
async def looking(cookies: list[tuple[str, str]], address: str) -> AsyncIterator[Looker]:
    """Open the inbox in a browser that is logged in.

    Raises:
        click.ClickException: playwright or Chromium is missing.
    """
    try:
        from playwright.async_api import async_playwright  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise click.ClickException("playwright is missing: `make test-browser` installs it.") from error
    path = chromium.found()
    if path is None:
        raise click.ClickException(f"Chromium is missing. As root: {chromium.INSTALL}")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path)
        context = await browser.new_context(viewport={"width": 1440, "height": 900})
        await context.add_cookies([{"name": name, "value": value, "url": address} for name, value in cookies])
        await context.add_init_script(_WATCH)
        looker = Looker(await context.new_page())
        await looker.open(address)
        try:
            yield looker
        finally:
            await browser.close()
