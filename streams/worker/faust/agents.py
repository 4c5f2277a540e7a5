"""The Faust agents: a run in, an epoch out."""

from __future__ import annotations

from typing import cast

from faust.streams import Stream
from faust.types import EventT, StreamT

from streams.core.domain.run import Run
from streams.worker.bridge_process import BridgeApp
from streams.worker.faust.job_app import JobApp
from streams.worker.options import AGGREGATES, SESSIONS, TRACES
from streams.worker.sessions_app import SessionsApp


class RunDelivery:
    """A run in a Faust stream event; a `streams.worker.lanes.LaneDelivery`.

    Args:
        app: The Faust app that consumes the run.
        stream: The stream that the event came through.
        event: The stream event that carries the run.
    """

    __slots__ = ("_app", "_event", "_stream", "run")

    def __init__(self, app: JobApp, stream: StreamT[Run], event: EventT[Run]) -> None:
        self._app = app
        self._stream = stream
        self._event = event
        self.run = cast("Run", event.value)  # `RunSchema` hands it on

    @property
    def stale(self) -> bool:
        """Whether its generation is over or delivery has stopped."""
        app = self._app
        generation = self._event.message.generation_id
        return app.should_stop or not app.run_consumer.flow_active or generation != app.consumer_generation_id

    async def acknowledge(self) -> None:
        """Acknowledge through the stream, so that Faust's own bookkeeping stays right."""
        await self._stream.ack(self._event)

    def abandon(self) -> None:
        """Remove it from the list of what the consumer waits for."""
        self._app.run_consumer.abandon(self._event.message)


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
