"""The thread of the group's consumer, when the worker crashes and it ends before the rest."""

import asyncio
import threading
from pathlib import Path
from typing import Any, cast

import pytest
from faust.types import TP

from streams.core.errors import StateError
from streams.observe.settings import WorkerSettings
from streams.worker.faust import transport
from streams.worker.faust.consumer_thread import RunConsumerThread
from streams.worker.faust.transport import RunConsumer
from streams.worker.wiring import build
from tests.integration.brokers import Broker

pytestmark = pytest.mark.integration


class _Ending(RunConsumerThread):
    """A thread that has stopped answering, and ends when it is let go."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.silent, self.let_go = threading.Event(), threading.Event()

    async def on_thread_stop(self) -> None:
        await super().on_thread_stop()
        self.silent.set()
        await asyncio.to_thread(self.let_go.wait)


async def test_a_commit_does_not_wait_for_a_thread_that_ends_or_has_ended(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "RunConsumerThread", _Ending)
    app = build(WorkerSettings(_env_file=None, data_dir=tmp_path, bootstrap_servers=broker.bootstrap))
    consumer = cast("RunConsumer", app.consumer)
    thread = cast("_Ending", consumer._thread)
    await thread.start()
    await consumer.crash(StateError("the disk is full"))
    await asyncio.to_thread(thread.silent.wait)
    commit = asyncio.create_task(consumer._commit({TP("decision-logs", 0): 1}))
    await asyncio.sleep(0)  # it is in the queue now
    thread.let_go.set()
    assert not await commit
    assert thread._thread is not None
    await asyncio.to_thread(thread._thread.join)
    assert not await consumer._commit({TP("decision-logs", 0): 1})


async def test_a_thread_that_ended_in_a_crash_can_be_stopped_without_an_error(
    broker: Broker, tmp_path: Path
) -> None:
    app = build(WorkerSettings(_env_file=None, data_dir=tmp_path, bootstrap_servers=broker.bootstrap))
    thread = cast("RunConsumerThread", cast("RunConsumer", app.consumer)._thread)
    await thread.start()
    await thread.crash(StateError("the topic was created again"))
    thread.set_shutdown()
    assert thread._thread is not None
    await asyncio.to_thread(thread._thread.join)
    await thread.stop()
