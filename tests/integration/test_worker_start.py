"""How a worker starts, says how it is, and refuses to start."""

import asyncio
import itertools
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from rocksdict import Options, Rdict

from streams.cli.command_group import BROKER_UNREACHABLE, PROBLEM_FOUND, WRONG_INPUT
from streams.core.domain.topic import Topic
from streams.kafka.client import connect
from streams.kafka.connection import Connection
from streams.kafka.topic_identity import job_topics
from streams.worker.options import AGGREGATES, SESSIONS, changelog_topic
from streams.worker.state.store.layout import FORMAT_KEY
from tests.integration.brokers import Broker
from tests.integration.load import load
from tests.integration.stage import SOON_MISSED, Stage, delete_topics
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until
from tests.network import Link, Slowness
from topics.plan import CreateTopic

pytestmark = pytest.mark.integration


async def test_it_is_alive_at_once_and_ready_only_when_its_state_is_restored(
    linked_stage: tuple[Stage, Link],
) -> None:
    stage, link = linked_stage
    # A poll looks more often than an answer arrives, and a restore takes several: it is not over by then.
    link.slow(Slowness(delay_s=0.1, bytes_per_s=1e9))
    worker = stage.worker()
    await until(worker.has_address, PATIENCE_SECONDS, "an address", worker)
    link.silence()
    status, said = await worker.get("/readyz")
    assert status == 503, said
    assert (await worker.get("/livez"))[0] == 200
    assert "Ready." not in worker.log
    link.heal()
    await worker.ready()
    assert worker.log.count("Ready.") == 1
    assert "Assigned: decision-logs 0-3, eddy-aggregates-repartition 0-3." in worker.log
    await stage.send(itertools.islice(load(stage.partitions), 100))
    await stage.processed()
    assert await worker.metric("eddy_decisions_total") == 100
    assert await worker.metric("eddy_consumer_lag", topic="decision-logs") == 0
    assert (await worker.get("/livez"))[0] == 200


async def test_without_its_topics_it_ends_and_says_what_to_do(stage_broker: Broker, tmp_path: Path) -> None:
    stage = Stage(stage_broker, tmp_path, application_id="nobody")
    worker = stage.worker()
    await refuses(worker, WRONG_INPUT, "eddy topics apply")
    stage.close()


@pytest.mark.any_broker
async def test_on_brokers_without_idempotent_producers_it_ends_and_says_what_to_do(stage: Stage) -> None:
    worker = stage.worker(producer_idempotence=True)
    await refuses(worker, WRONG_INPUT, "Set EDDY_PRODUCER_IDEMPOTENCE=false there.")
    status, said, _ = await stage.attempt("doctor", producer_idempotence=True)
    assert status == PROBLEM_FOUND
    assert "fail  producer" in said


async def refuses(worker: WorkerProcess, status: int, *said: str) -> None:
    """Check that a worker ends, and that its last line says why and what to do, without a stack trace."""
    await ends(worker, status, *said)
    assert "Traceback" not in worker.log


async def ends(worker: WorkerProcess, status: int, *said: str) -> None:
    """Check that a worker ends, and that its last line says why and what to do."""
    assert await worker.ended() == status, worker.tail()
    last = worker.log.splitlines()[-1]
    assert last.startswith("eddy: ")
    for words in said:
        assert words in last


async def test_on_a_port_that_is_taken_it_ends_and_says_what_to_do(stage: Stage) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        await refuses(stage.worker(web_port=port), WRONG_INPUT, f"127.0.0.1:{port}", "EDDY_WEB_PORT")


async def test_without_a_broker_it_ends_and_says_what_to_do(stage: Stage) -> None:
    worker = stage.worker(bootstrap_servers="127.0.0.1:9")
    await refuses(worker, BROKER_UNREACHABLE, "127.0.0.1:9", "EDDY_BOOTSTRAP_SERVERS")


async def test_without_a_directory_it_can_write_to_it_ends_and_says_what_to_do(
    stage: Stage, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    worker = stage.worker(directory=tmp_path / "file" / "data")
    await refuses(worker, WRONG_INPUT, "cannot be written to", "EDDY_DATA_DIR")


async def test_in_the_directory_of_another_worker_it_ends_and_says_what_to_do(stage: Stage) -> None:
    first = await stage.worker(**SOON_MISSED).ready()
    second = stage.worker(directory=first.directory / "data")
    await refuses(second, WRONG_INPUT, "is used by another worker", "EDDY_DATA_DIR")
    assert (await first.get("/readyz"))[0] == 200
    first.kill()
    await first.ended()
    await stage.worker(directory=first.directory / "data").ready()


async def test_without_its_schema_registry_it_ends_and_says_what_to_do(stage: Stage) -> None:
    worker = stage.worker(schema_registry_url="http://127.0.0.1:9")
    await refuses(worker, BROKER_UNREACHABLE, "http://127.0.0.1:9", "Check that it runs")


async def test_with_settings_it_cannot_use_it_ends_and_says_what_to_do(stage: Stage) -> None:
    await refuses(stage.worker(run_max_records=0), WRONG_INPUT, "EDDY_RUN_MAX_RECORDS")


async def test_under_local_state_of_a_newer_version_it_ends_and_says_what_to_do(
    stage: Stage, tmp_path: Path
) -> None:
    database = tmp_path / "data" / stage.application_id / SESSIONS / "0.db"
    database.mkdir(parents=True)
    written = Rdict(str(database), options=Options(raw_mode=True))
    written.put(FORMAT_KEY, b"999")
    written.close()
    worker = stage.worker(directory=tmp_path / "data")
    await refuses(worker, PROBLEM_FOUND, str(database), "delete the directory")


@pytest.mark.parametrize("table", [SESSIONS, AGGREGATES])
async def test_with_a_changelog_of_another_size_it_ends_and_says_what_to_do(stage: Stage, table: str) -> None:
    catalogue = job_topics("other", partitions=stage.partitions, replicas=1)
    smaller = replace(catalogue[changelog_topic("other", table)], partitions=stage.partitions - 1)
    others = [topic for topic in catalogue.topics if topic.internal and topic.name != smaller.name]
    async with connect(Connection(stage.broker.bootstrap)) as brokers:
        await brokers.apply([CreateTopic(topic) for topic in (smaller, *others)])
    worker = stage.worker(application_id="other")
    await refuses(worker, WRONG_INPUT, f"{smaller.name} has {smaller.partitions}", "EDDY_APPLICATION_ID")


@pytest.mark.parametrize("table", [SESSIONS, AGGREGATES])
async def test_with_a_changelog_that_forgets_it_ends_and_says_what_to_do(stage: Stage, table: str) -> None:
    catalogue = job_topics("other", partitions=stage.partitions, replicas=1)
    kept = catalogue[changelog_topic("other", table)]
    # What a broker makes of a topic that somebody asks for, where it may.
    forgets = replace(kept, config={**kept.config, "cleanup.policy": "delete"})
    others = [topic for topic in catalogue.topics if topic.internal and topic.name != kept.name]
    async with connect(Connection(stage.broker.bootstrap)) as brokers:
        await brokers.apply([CreateTopic(topic) for topic in (forgets, *others)])
    worker = stage.worker(application_id="other")
    await refuses(worker, WRONG_INPUT, f"{kept.name} has cleanup.policy=delete", "eddy topics apply")


async def test_on_the_topics_of_a_version_without_aggregates_it_ends_and_says_what_to_do(
    stage: Stage,
) -> None:
    catalogue = job_topics("before", partitions=stage.partitions, replicas=1)
    sessions_only = CreateTopic(catalogue[changelog_topic("before")])
    async with connect(Connection(stage.broker.bootstrap)) as brokers:
        await brokers.apply([sessions_only])
    worker = stage.worker(application_id="before")
    missing = "before-aggregates-repartition, before-aggregates-changelog"
    await refuses(worker, WRONG_INPUT, missing, "eddy topics apply")


async def test_fausts_own_command_runs_the_same_worker(stage: Stage) -> None:
    worker = stage.worker(
        command=("faust", "-A", "streams.worker.wiring", "worker", "--without-web", "-l", "info")
    )
    await stage.send(itertools.islice(load(stage.partitions), 200))
    await worker.ready()
    await stage.processed()
    await stage.verdict()
    worker.terminate()
    assert await worker.ended() == 0, worker.tail()


async def test_the_tools_say_that_nobody_answers(stage: Stage) -> None:
    status, _, said = await stage.attempt(
        "topics", "plan", "--replicas", "1", bootstrap_servers="127.0.0.1:9"
    )
    assert status == 3, said
    assert "EDDY_BOOTSTRAP_SERVERS" in said


async def stopped(worker: WorkerProcess) -> None:
    """Check that a worker leaves as one that was told to stop, without a word of errors."""
    worker.terminate()
    assert await worker.ended() == 0, worker.tail()
    for bad in ("Traceback", "[error", "[critical", "never retrieved", "Unclosed"):
        assert bad not in worker.log


async def test_told_to_stop_while_no_broker_has_answered_yet_it_ends_with_0(stage: Stage) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        silent.setblocking(False)
        worker = stage.worker(bootstrap_servers=f"127.0.0.1:{silent.getsockname()[1]}")
        asked, _ = await asyncio.get_running_loop().sock_accept(silent)
        with asked:
            await stopped(worker)


@pytest.mark.parametrize("moment", ["Health and metrics on", "settings are in force", "Assigned:", "Ready."])
async def test_told_to_stop_at_any_moment_of_its_start_it_ends_with_0(stage: Stage, moment: str) -> None:
    worker = stage.worker()
    await until(lambda: moment in worker.log, PATIENCE_SECONDS, moment, worker)
    await stopped(worker)
    assert worker.log.count("Stopping:") == worker.log.count("Stopped.") == 1


async def test_a_deleted_output_ends_it_before_anything_is_written_there(stage: Stage) -> None:
    worker = await stage.worker().ready()
    await delete_topics(stage.broker, [Topic.TOPOLOGY])
    await ends(worker, BROKER_UNREACHABLE, "Topic topology is gone", "eddy topics apply")
