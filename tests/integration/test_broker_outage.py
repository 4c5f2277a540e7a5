"""Brokers that do not answer: log, probes and metrics say so, and the worker continues when they do again."""

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable

import pytest

from streams.kafka.connection import Connection
from streams.observe.client_errors import ClientErrors
from streams.worker.health.broker_watch import BrokerWatch
from tests.integration.brokers import Linked
from tests.integration.load import load
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until
from tests.network import Link
from tests.ports import own_port

pytestmark = pytest.mark.integration

#: What an operator reads on one screen.
SCREEN = 12

#: The client library has tried hundreds of times by then.
OUTAGE_S = 15

GUARANTEES = [
    "at_least_once",
    pytest.param("exactly_once", marks=pytest.mark.kafka_only("transactions")),
]


def probed(worker: WorkerProcess, path: str, status: int, detail: str) -> Callable[[], Awaitable[bool]]:
    """Return a condition: a probe answers with this status, and says this."""

    async def holds() -> bool:
        answered, body = await worker.get(path)
        return answered == status and detail in body

    return holds


def lasts(worker: WorkerProcess, seconds: float) -> Callable[[], Awaitable[bool]]:
    """Return a condition: no broker has answered for so long."""

    async def holds() -> bool:
        return await worker.metric("eddy_broker_silence_seconds") > seconds

    return holds


async def silent(worker: WorkerProcess) -> None:
    """Wait until the worker says on all of its pages that no broker answers."""
    unready = probed(worker, "/readyz", 503, "No broker answers since")
    await until(unready, PATIENCE_SECONDS, "a worker that is not ready", worker)
    status, body = await worker.get("/livez")
    assert (status, "the lag is not known" in body, "0 records" in body) == (200, True, False)
    assert await worker.metric("eddy_brokers_answering") == 0
    assert await worker.metric("eddy_brokers_known") == 1
    assert await worker.metric("eddy_broker_silence_seconds") > 0


@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("hanging", [False, True], ids=["refuses", "hangs"])
async def test_an_outage_is_a_few_lines_and_the_worker_continues_after_it(
    linked_stage: tuple[Stage, Link], guarantee: str, hanging: bool
) -> None:
    stage, link = linked_stage
    worker = await stage.worker(processing_guarantee=guarantee).ready()
    await stage.send(itertools.islice(load(stage.partitions), 200))
    await stage.processed()
    assert await worker.metric("eddy_brokers_answering") == 1
    before = len(worker.log.splitlines())

    if hanging:
        link.silence()
    else:
        await link.cut()
    await silent(worker)
    await until(lasts(worker, OUTAGE_S), PATIENCE_SECONDS, "an outage that lasts", worker)
    lines = worker.log.splitlines()[before:]
    assert len(lines) <= SCREEN, lines
    assert sum("No broker answers since" in line for line in lines) == 1

    link.heal()
    await worker.ready()
    assert "The broker answers again after" in worker.log
    assert await worker.metric("eddy_brokers_answering") == 1
    await stage.send(itertools.islice(load(stage.partitions), 200, 400))
    await stage.processed()
    assert len(worker.log.splitlines()) - before <= 2 * SCREEN + worker.log.count("schema_violation"), (
        worker.log
    )
    worker.terminate()
    assert await worker.ended() == 0


@pytest.mark.parametrize("guarantee", GUARANTEES)
async def test_what_was_in_hand_when_brokers_fell_silent_is_processed_when_they_answer_again(
    linked_stage: tuple[Stage, Link], guarantee: str
) -> None:
    stage, link = linked_stage
    await stage.send(itertools.islice(load(stage.partitions), 3000))
    # Two records at a time, so that much is left to do when the brokers fall silent.
    worker = stage.worker(
        processing_guarantee=guarantee,
        run_max_records=2,
        producer_request_timeout_s=PATIENCE_SECONDS,
        transaction_timeout_s=PATIENCE_SECONDS + 1,
    )
    await worker.has_processed(100)
    link.silence()
    await silent(worker)
    await until(lasts(worker, OUTAGE_S), PATIENCE_SECONDS, "an outage that lasts", worker)
    status, body = await worker.get("/livez")
    assert (status, "the lag is not known" in body) == (200, True)
    link.heal()
    await stage.processed()
    await stage.verdict()


async def in_the_middle(linked_stage: tuple[Stage, Link], guarantee: str, session_s: float) -> WorkerProcess:
    """Return a worker with much left to do, whose brokers have fallen silent."""
    stage, link = linked_stage
    await stage.send(itertools.islice(load(stage.partitions), 3000))
    worker = stage.worker(
        processing_guarantee=guarantee,
        run_max_records=2,
        session_timeout_s=session_s,
        producer_request_timeout_s=PATIENCE_SECONDS,
        transaction_timeout_s=PATIENCE_SECONDS + 1,
    )
    await worker.has_processed(100)
    link.silence()
    await silent(worker)
    return worker


@pytest.mark.parametrize("guarantee", GUARANTEES)
async def test_a_stop_without_brokers_ends_once_the_group_has_given_the_partitions_away(
    linked_stage: tuple[Stage, Link], guarantee: str
) -> None:
    stage, link = linked_stage
    worker = await in_the_middle(linked_stage, guarantee, session_s=10)
    worker.terminate()
    assert await worker.ended() == 0
    told, last = worker.log.splitlines()[-2:]
    assert "No broker answers since" in told
    assert "nothing that it has begun can be committed. It is done again." in told
    assert "Stopped." in last
    link.heal()
    stage.worker(processing_guarantee=guarantee)
    await stage.processed()
    await stage.verdict()


@pytest.mark.parametrize("guarantee", GUARANTEES)
async def test_a_stop_without_brokers_says_what_it_waits_for_and_a_second_interrupt_ends_it_at_once(
    linked_stage: tuple[Stage, Link], guarantee: str
) -> None:
    worker = await in_the_middle(linked_stage, guarantee, session_s=40)
    worker.signal("INT")
    await until(
        lambda: "Still stopping after 5 s. No broker answers since" in worker.log,
        PATIENCE_SECONDS,
        "word of what a stop waits for",
        worker,
    )
    worker.signal("INT")
    assert await worker.ended() == 130
    assert "Interrupted again" in worker.log.splitlines()[-1]
    assert "Stopped." not in worker.log


async def test_a_watch_asks_each_broker_of_the_cluster_and_reports_changes_only(
    link: Linked, caplog: pytest.LogCaptureFixture
) -> None:
    errors = ClientErrors()
    watch = BrokerWatch(Connection(link.bootstrap), errors)
    try:
        await watch.refresh()
        assert (watch.brokers(), watch.silence(), errors.hushed) == ((1, 1), None, False)
        await link.link.cut()
        await watch.refresh()
        await watch.refresh()
        assert watch.brokers() == (0, 1)
        assert errors.hushed
        assert (watch.silence() or "").startswith("No broker answers since ")
        link.link.heal()
        await watch.refresh()
        assert (watch.brokers(), watch.silence(), errors.hushed) == ((1, 1), None, False)
        assert watch.silent_s() < PATIENCE_SECONDS
    finally:
        await watch.on_stop()
    lines = [record.getMessage() for record in caplog.records if record.name.endswith("broker_watch")]
    assert [line.partition(" since ")[0].partition(" after ")[0] for line in lines] == [
        "No broker answers",
        "The broker answers again",
    ]


async def test_a_port_that_nobody_listens_on_is_named_with_the_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    address = f"127.0.0.1:{own_port()}"
    watch = BrokerWatch(Connection(address), ClientErrors())
    await watch.refresh()
    await watch.refresh()
    await watch.on_stop()
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert f"{address} (connection refused)" in record.getMessage()


async def test_a_server_that_accepts_and_says_nothing_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("streams.worker.health.broker_watch._PATIENCE_SECONDS", 0.2)
    heard = asyncio.Semaphore(0)

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()  # to the end of the connection
        writer.close()
        await writer.wait_closed()
        heard.release()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    watch = BrokerWatch(Connection(f"127.0.0.1:{port}"), ClientErrors())
    await watch.refresh()
    await watch.refresh()
    await watch.on_stop()
    for _ in range(2):
        await heard.acquire()
    server.close()
    assert "(no answer within 0.2 s)" in caplog.text
