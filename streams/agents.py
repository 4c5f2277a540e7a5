"""The Faust agents: a run in, an epoch out."""

from __future__ import annotations

from typing import Any

from streams.engine.app import RunApp
from streams.engine.lanes import FaustDelivery
from streams.engine.options import AGGREGATES, SESSIONS


def register(app: RunApp) -> None:
    """Attach the job's agents to ``app``."""

    @app.agent(app.source, name=SESSIONS)
    async def sessions(stream: Any) -> None:
        """Hand each run of `decision-logs` to the lane of its partition."""
        await app.settings_ready.wait()
        async for event in stream.noack().events():
            await app.lanes[SESSIONS].put(FaustDelivery(app, stream, event))

    @app.agent(app.repartition, name=AGGREGATES)
    async def aggregates(stream: Any) -> None:
        """Hand each run of what the sessions contribute to the lane of its partition."""
        async for event in stream.noack().events():
            await app.lanes[AGGREGATES].put(FaustDelivery(app, stream, event))
