"""The Faust agents: a run in, an epoch out."""

from __future__ import annotations

from typing import Any

from streams.engine.app import RunApp
from streams.engine.lanes import FaustDelivery


def register(app: RunApp) -> None:
    """Attach the job's agent to ``app``."""

    @app.agent(app.source, name="sessions")
    async def sessions(stream: Any) -> None:
        """Hand each run of `decision-logs` to the lane of its partition."""
        await app.settings_ready.wait()
        async for event in stream.noack().events():
            await app.lanes.put(FaustDelivery(app, stream, event))
