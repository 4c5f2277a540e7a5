"""What a console says of itself to orchestrators and to Prometheus, under the prefix ``eddy_console_``.

| metric | labels | meaning |
|---|---|---|
| eddy_console_lag | topic | records that are not folded yet |
| eddy_console_folded_total | topic | records that were folded |
| eddy_console_fold_seconds_total | | seconds that folding took |
| eddy_console_unreadable_total | topic | records that were passed over |
| eddy_console_connections | | browsers that listen |
| eddy_console_tick_seconds | | the longest time that the views of all browsers took |
| eddy_console_breakers_open | | open breakers of the live policy: its own, of rules, of agents |

The client adds ``process_...``: memory, CPU, open files and the start of the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aiohttp import web
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from streams.console.board import FollowerReadings
from streams.console.console import Console
from streams.console.live import LiveStreams
from streams.console.wording import duration

#: A console that is so far behind shows what was, not what is.
READY_LAG = 10_000


class ConsoleMetrics(Collector):
    """Reads the console whenever it is asked.

    Args:
        console: Console whose state is reported.
        live: Its streams; None if it has none.
    """

    def __init__(self, console: Console, live: LiveStreams | None) -> None:
        self._console, self._live = console, live
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.registry.register(self)

    def collect(self) -> Iterable[Metric]:
        """Yield every metric."""
        found = self._console.board.readings()
        lag = GaugeMetricFamily("eddy_console_lag", "Records not folded yet.", labels=["topic"])
        folded = CounterMetricFamily("eddy_console_folded", "Records folded.", labels=["topic"])
        unreadable = CounterMetricFamily("eddy_console_unreadable", "Records passed over.", labels=["topic"])
        for family, values in ((lag, found.lag), (folded, found.folded), (unreadable, found.unreadable)):
            for topic, value in values.items():
                family.add_metric([topic], value)
            yield family
        yield CounterMetricFamily("eddy_console_fold_seconds", "Seconds of folding.", value=found.seconds)
        listening = self._live.connections if self._live is not None else 0
        yield GaugeMetricFamily("eddy_console_connections", "Browsers that listen.", value=listening)
        slowest = self._live.slowest_s if self._live is not None else 0.0
        yield GaugeMetricFamily("eddy_console_tick_seconds", "Longest tick.", value=slowest)
        yield GaugeMetricFamily("eddy_console_breakers_open", "Breakers of the policy.", value=found.breakers)


def unready(found: FollowerReadings) -> str | None:
    """Return why a console shows what was and not what is; None if it is current.

    >>> unready(FollowerReadings(silent_ms=12_400))
    'no broker has answered for 12 s'
    >>> unready(FollowerReadings({"session-alerts": 10_001}))
    '10,001 records behind'
    """
    if not found.begun:
        return "reading has not begun"
    if found.silent_ms is not None:
        return f"no broker has answered for {duration(found.silent_ms)}"
    behind = sum(found.lag.values())
    return f"{behind:,} records behind" if behind > READY_LAG else None


def routes(console: Console, live: LiveStreams | None) -> Sequence[web.RouteDef]:
    """Return the routes of the probes, which need no login."""
    metrics = ConsoleMetrics(console, live)

    async def livez(_: web.Request) -> web.Response:
        return web.json_response({"status": "live"})

    async def readyz(_: web.Request) -> web.Response:
        if (detail := unready(console.board.readings())) is None:
            return web.json_response({"status": "ready"})
        return web.json_response({"status": "not ready", "detail": detail}, status=503)

    async def exposed(_: web.Request) -> web.Response:
        return web.Response(
            body=generate_latest(metrics.registry),
            headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"},
        )

    return [web.get("/livez", livez), web.get("/readyz", readyz), web.get("/metrics", exposed)]
