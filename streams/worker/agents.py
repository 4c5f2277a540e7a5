"""The Faust agents: a run in, an epoch out."""

from __future__ import annotations

from typing import cast

from faust.streams import Stream
from faust.types import StreamT

from streams.core.domain.run import Run
from streams.worker.bridge_process import BridgeApp
from streams.worker.faust.run_delivery import RunDelivery
from streams.worker.options import AGGREGATES, SESSIONS, TRACES
from streams.worker.sessions_app import SessionsApp


def register(app: SessionsApp) -> None:
    """Attach the job's agents to ``app``."""

    @app.agent(app.sources[SESSIONS], name=SESSIONS)
    async def sessions(stream: StreamT[Run]) -> None:
        """Hand each run of `decision-logs` to the lane of its partition."""
        await app.settings_ready.wait()
        async for event in cast("Stream[Run]", stream).noack().events():
            await app.lanes[SESSIONS].put(RunDelivery(app, stream, event))

    @app.agent(app.sources[AGGREGATES], name=AGGREGATES)
    async def aggregates(stream: StreamT[Run]) -> None:
        """Hand each run of what the sessions contribute to the lane of its partition."""
        async for event in cast("Stream[Run]", stream).noack().events():
            await app.lanes[AGGREGATES].put(RunDelivery(app, stream, event))


def register_bridge(app: BridgeApp) -> None:
    """Attach the agent of the bridge to ``app``."""

    @app.agent(app.sources[TRACES], name=TRACES)
    async def traces(stream: StreamT[Run]) -> None:
        """Hand each run of spans to the lane of its partition."""
        async for event in cast("Stream[Run]", stream).noack().events():
            await app.lanes[TRACES].put(RunDelivery(app, stream, event))
