"""What a console costs while people look: `python -m benchmarks.console`, Markdown on standard output.

A broker, a console, and what a busy job writes: many live sessions, enriched records and alerts at a steady
rate, and viewers that listen to the inbox. Measured are CPU and memory of the console, and the time from the
acknowledgement of an alert until its row is at a viewer. Then, without load, how long pages take. With
`--browser` Chromium is one more viewer: how long a change of the page takes there, and how large the page is.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import aiohttp
import click
import orjson
import psutil
from aiokafka import AIOKafkaProducer

from benchmarks.broker import provision, running
from benchmarks.console_page import looking
from schemas.codec import Codec
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.event_kind import EventKind
from streams.core.domain.outcome import Scored
from streams.core.domain.topic import Topic
from streams.core.offline import judge
from streams.formats.reading import entries
from streams.formats.recordings.catalogue import RECORDINGS
from tests.browser.console_process import ConsoleProcess

PARTITIONS: Final = 8
WARM_S: Final = 10.0
STEPS: Final = 200
"""Steps of the session whose page is asked for."""
PAGES: Final = {
    "inbox": "/alerts",
    "search by prefix": "/sessions?q=session-0001",
    f"session of {STEPS} steps": "/session?id=long",
}
ASKED: Final = 20

Record = tuple[bytes, bytes]


def judged() -> list[dict[str, Any]]:
    """Return every scored record of the recordings."""
    names = [str(each.path) for each in RECORDINGS if not each.rejected]
    outcomes = (each.outcome for each in judge(entries(names), DEFAULTS))
    return [each.enriched for each in outcomes if isinstance(each, Scored)]


def enriched(templates: list[dict[str, Any]], sessions: int, codec: Codec) -> Iterator[Record]:
    """Yield one enriched record of each session, for ever."""
    encoder = codec.encoder(f"{Topic.ENRICHED}-value")
    made: list[Record] = []
    for number in range(sessions):
        record = copy.deepcopy(templates[number % len(templates)])
        record["session_id"] = f"session-{number:06}"
        record["meta"]["timestamp"] = time.time_ns() // 1_000_000
        record["eddy"]["id"] = f"session-{number:06}/0/{number}/enriched"
        record["eddy"]["events"] = []
        made.append((record["session_id"].encode(), encoder.encode(record)))
    yield from itertools.cycle(made)


def long_session(templates: list[dict[str, Any]], codec: Codec) -> Iterator[Record]:
    """Yield the records of one session."""
    encoder = codec.encoder(f"{Topic.ENRICHED}-value")
    for number, template in enumerate(itertools.islice(itertools.cycle(templates), STEPS)):
        record = copy.deepcopy(template)
        record["session_id"] = "long"
        record["meta"]["timestamp"] = time.time_ns() // 1_000_000
        record["eddy"] = {
            **record["eddy"],
            "id": f"long/0/{number}/enriched",
            "step": number + 1,
            "events": [],
        }
        yield b"long", encoder.encode(record)


async def pages(http: aiohttp.ClientSession, address: str, console: psutil.Process) -> dict[str, float]:
    """Return how long each page takes, and the CPU that the console needs for it."""
    found: dict[str, float] = {}
    for name, path in PAGES.items():
        waits: list[float] = []
        before = console.cpu_times()
        for _ in range(ASKED):
            began = time.monotonic()
            async with http.get(f"{address}{path}", headers={"Accept": "text/html"}) as answer:
                answer.raise_for_status()
                await answer.read()
            waits.append((time.monotonic() - began) * 1000)
        after = console.cpu_times()
        cpu = after.user + after.system - before.user - before.system
        found |= {
            f"page {name}, median ms": statistics.median(waits),
            f"page {name}, p95 ms": p95(sorted(waits)),
            f"page {name}, CPU ms": 1000 * cpu / ASKED,
        }
    return found


def alerts(templates: list[dict[str, Any]], codec: Codec) -> Iterator[tuple[str, Record]]:
    """Yield alerts of ever new sessions, each worse than the one before, so that it stands on top."""
    encoder = codec.encoder(f"{Topic.SESSION_ALERTS}-value")
    event = next(
        fields
        for record in templates
        for fields in record["eddy"]["events"]
        if fields["event_type"] == EventKind.LOOP_EPISODE and fields["level"] == "LOOP"
    )
    for number in itertools.count():
        now = time.time_ns() // 1_000_000
        session_id = f"looping-{number:06}"
        fields = {
            **event,
            "id": f"{session_id}/0/{number}/loop_episode/opened",
            "session_id": session_id,
            "episode_id": f"{number:016x}",
            "timestamp": now,
            "first_timestamp": now - 60_000,
            "last_timestamp": now,
            "offset": number,
            "tokens_since_onset": 10_000 + number,
        }
        yield session_id, (session_id.encode(), encoder.encode(fields))


class Viewer:
    """A browser that listens to the inbox and notes when it first hears of a session."""

    def __init__(self, http: aiohttp.ClientSession, address: str) -> None:
        self.heard: dict[str, float] = {}
        self._http, self._address = http, address

    async def listen(self) -> None:
        """Listen until cancelled."""
        url = f"{self._address}/live?view=/alerts"
        async with self._http.get(url, timeout=aiohttp.ClientTimeout(total=None)) as answer:
            answer.raise_for_status()
            async for line in answer.content:
                if line.startswith(b'data: {"view"'):
                    for key in orjson.loads(line[6:]).get("set", {}):
                        self.heard.setdefault(key, time.monotonic())


async def logged_in(link: str) -> tuple[aiohttp.ClientSession, str]:
    """Return a session of HTTP that is logged in, and the address of the console."""
    address, _, token = link.partition("/login#t=")
    http = aiohttp.ClientSession(
        cookie_jar=aiohttp.CookieJar(unsafe=True),
        connector=aiohttp.TCPConnector(limit=0),
        read_bufsize=1 << 22,
    )
    async with http.post(f"{address}/login", data={"token": token}, headers={"Origin": address}) as answer:
        answer.raise_for_status()
    return http, address


def process_of(parent: psutil.Process) -> psutil.Process:
    """Return the process of the console."""
    [found] = [
        each
        for each in parent.children(recursive=True)
        if each.cmdline()[1:4] == ["-m", "streams", "console"] and "python" in each.name()
    ]
    return found


async def written(
    producer: AIOKafkaProducer, records: Iterator[Record], headers: list[tuple[str, bytes]]
) -> None:
    """Write enriched records."""
    for key, value in records:
        await producer.send(Topic.ENRICHED, value, key=key, headers=headers)


async def measured(
    bootstrap: str,
    console: psutil.Process,
    link: str,
    *,
    sessions: int,
    rate: int,
    alarms: int,
    viewers: int,
    seconds: float,
    browser: bool,
) -> dict[str, float]:
    """Return what was measured."""
    codec, templates = Codec.bundled(), judged()
    records, alarming = enriched(templates, sessions, codec), alerts(templates, codec)
    headers = {
        topic: list(codec.encoder(f"{topic}-value").headers)
        for topic in (Topic.ENRICHED, Topic.SESSION_ALERTS)
    }
    http, address = await logged_in(link)
    listeners = [Viewer(http, address) for _ in range(viewers)]
    acknowledged: dict[str, float] = {}
    wall_ms: dict[str, float] = {}
    seen: dict[str, Any] = {}
    async with AsyncExitStack() as stack:
        producer = await stack.enter_async_context(
            AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", linger_ms=5)
        )

        async def send(count: int) -> None:
            await written(producer, itertools.islice(records, count), headers[Topic.ENRICHED])

        async def alarm() -> None:
            session_id, (key, value) = next(alarming)
            await producer.send_and_wait(
                Topic.SESSION_ALERTS, value, key=key, headers=headers[Topic.SESSION_ALERTS]
            )
            acknowledged[session_id] = time.monotonic()
            wall_ms[session_id] = time.time() * 1000

        await written(producer, long_session(templates, codec), headers[Topic.ENRICHED])
        await send(sessions)
        await producer.flush()
        listening = [asyncio.create_task(each.listen()) for each in listeners]
        looker = None
        if browser:
            cookies = [(cookie.key, cookie.value) for cookie in http.cookie_jar]
            looker = await stack.enter_async_context(looking(cookies, address))
        await asyncio.sleep(WARM_S)
        if looker is not None:
            await looker.forget()
        cpu, began = console.cpu_times(), time.monotonic()
        largest, due = 0, 0.0
        under_way: set[asyncio.Task[None]] = set()
        for tick in range(int(seconds * 10)):
            await send(rate // 10)
            due += alarms / 600
            while due >= 1:
                due -= 1
                under_way.add(asyncio.create_task(alarm()))
            largest = max(largest, console.memory_info().rss)
            await asyncio.sleep(max(0.0, began + (tick + 1) / 10 - time.monotonic()))
        elapsed, after = time.monotonic() - began, console.cpu_times()
        await asyncio.gather(*under_way)
        await asyncio.sleep(3.0)
        if looker is not None:
            seen = on_screen(await looker.measured(), wall_ms)
            seen |= {"page, cold, kB": looker.cold / 1000, "page, warm, kB": looker.warm / 1000}
        for task in listening:
            task.cancel()
        await asyncio.gather(*listening, return_exceptions=True)
    asked = await pages(http, address, console)
    await http.close()
    waits = waited(listeners, acknowledged)
    return {
        "CPU of the console, cores": (after.user + after.system - cpu.user - cpu.system) / elapsed,
        "memory of the console, MiB": largest / (1 << 20),
        "records a second": rate * seconds / elapsed,
        "alerts": len(acknowledged),
        "alerts that reached a viewer, %": 100 * len(waits) / max(1, len(acknowledged) * viewers),
        "alert to viewer, median s": statistics.median(waits) if waits else float("nan"),
        "alert to viewer, p95 s": p95(waits),
        **seen,
        **asked,
        "load of the machine": psutil.getloadavg()[0],
    }


def waited(listeners: list[Viewer], acknowledged: dict[str, float]) -> list[float]:
    """Return how long alerts took to viewers, ascending."""
    return sorted(
        each.heard[session_id] - at
        for each in listeners
        for session_id, at in acknowledged.items()
        if session_id in each.heard
    )


def on_screen(measured: dict[str, Any], acknowledged_ms: dict[str, float]) -> dict[str, float]:
    """Return what a browser has told of the changes of a page."""
    rows = measured["rows"]
    waits = sorted(
        (rows[session_id] - at) / 1000 for session_id, at in acknowledged_ms.items() if session_id in rows
    )
    patches = sorted(measured["patches"])
    return {
        "alerts on the screen": len(waits),
        "alert to row on the screen, median s": statistics.median(waits) if waits else float("nan"),
        "alert to row on the screen, p95 s": p95(waits),
        "changes of the page": len(patches),
        "change of the page, median ms": statistics.median(patches) if patches else float("nan"),
        "change of the page, p95 ms": p95(patches),
        "change of the page, CPU of the renderer, mean ms": 1000 * measured["cpu"] / max(1, len(patches)),
        "tasks of 50 ms and more": measured["long"],
    }


def p95(ordered: list[float]) -> float:
    """Return the value that 95 % do not exceed."""
    return ordered[int(len(ordered) * 0.95)] if ordered else float("nan")


@click.command()
@click.option("--sessions", default=10_000, show_default=True, help="Live sessions.")
@click.option("--rate", default=1_000, show_default=True, help="Enriched records a second.")
@click.option("--alerts", "alarms", default=1_000, show_default=True, help="Alerts a minute.")
@click.option("--viewers", default=20, show_default=True)
@click.option("--seconds", default=60.0, show_default=True)
@click.option("--browser", is_flag=True, help="Look at it with Chromium, too.")
@click.option("--broker", type=click.Choice(["kafka", "embedded"]), default="kafka", show_default=True)
def main(
    *, sessions: int, rate: int, alarms: int, viewers: int, seconds: float, browser: bool, broker: str
) -> None:
    """Measure a console under load, and print a table."""
    with running(broker) as here, tempfile.TemporaryDirectory(prefix="eddy-bench-console-") as directory:
        asyncio.run(provision(here.bootstrap, "eddy", PARTITIONS))
        began = time.monotonic()
        process = ConsoleProcess(["--bootstrap-servers", here.bootstrap], Path(directory) / "console")
        try:
            link = process.link()
            found = {"start until pages are served, s": time.monotonic() - began}
            found |= asyncio.run(
                measured(
                    here.bootstrap,
                    process_of(psutil.Process()),
                    link,
                    sessions=sessions,
                    rate=rate,
                    alarms=alarms,
                    viewers=viewers,
                    seconds=seconds,
                    browser=browser,
                )
            )
        finally:
            process.kill()
    sys.stdout.write(
        f"{sessions:,} sessions, {rate:,} records/s, {alarms:,} alerts/min, {viewers} viewers, {broker}\n\n"
    )
    sys.stdout.write("| measured | |\n|---|---|\n")
    for name, value in found.items():
        sys.stdout.write(f"| {name} | {value:,.2f} |\n")


if __name__ == "__main__":
    main()
