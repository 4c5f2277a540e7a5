"""`eddy worker --processes 2`: two workers that live and die as one, and leave nothing behind."""

import itertools
import re

import aiohttp
import psutil
import pytest

from streams.cli.command_group import BROKER_UNREACHABLE
from tests.integration.load import load
from tests.integration.stage import SOON_MISSED, Stage
from tests.integration.worker_process import PATIENCE_SECONDS, WorkerProcess, until

pytestmark = pytest.mark.integration

TWO = ("eddy", "worker", "--processes", "2")
KILLED = 128 + 9
ADDRESS = re.compile(r"\[worker (\d)\] .*Health and metrics on (http://\S+)")
STARTED = re.compile(r"Worker (\d) of 2 is process (\d+)")


def processes(both: WorkerProcess) -> dict[str, psutil.Process]:
    """Return the processes of the workers, by the number of the worker."""
    return {number: psutil.Process(int(pid)) for number, pid in STARTED.findall(both.log)}


async def shared(both: WorkerProcess, partitions: int) -> dict[str, psutil.Process]:
    """Wait until both workers are ready and have half of the partitions; return their processes."""

    async def share(http: aiohttp.ClientSession, address: str) -> int:
        async with http.get(f"{address}/readyz") as ready, http.get(f"{address}/metrics") as metrics:
            if ready.status != 200:
                return 0
            lines = (await metrics.text()).splitlines()
        return sum("eddy_consumer_lag{" in line and '"decision-logs"' in line for line in lines)

    async def both_share() -> bool:
        addresses = dict(ADDRESS.findall(both.log))
        async with aiohttp.ClientSession() as http:
            return [await share(http, address) for address in addresses.values()] == [partitions // 2] * 2

    await until(both_share, PATIENCE_SECONDS, "two workers with half of the partitions each", both)
    return processes(both)


async def gone(*found: psutil.Process) -> None:
    """Wait until processes are gone."""
    await until(
        lambda: not any(process.is_running() for process in found), PATIENCE_SECONDS, "the end of the workers"
    )


async def test_they_share_the_work_and_leave_in_order_when_one_signal_comes(stage: Stage) -> None:
    both = stage.worker(command=TWO)
    async with stage.pouring(load(stage.partitions)):
        workers = await shared(both, stage.partitions)
        await both.has_processed(100)
        both.terminate()
        assert await both.ended() == 0, both.tail()
    await gone(*workers.values())
    for number in workers:
        assert f"[worker {number}] " in both.log
    assert both.log.count("Stopped.") == 2
    again = stage.worker(command=TWO, directory=both.directory / "data")
    await stage.processed()
    await shared(again, stage.partitions)
    verdict = await stage.verdict()
    assert sum(verdict.repeated.values()) == 0, verdict


async def test_when_one_is_killed_the_other_leaves_in_order_and_the_status_is_told(stage: Stage) -> None:
    both = stage.worker(command=TWO, **SOON_MISSED)
    async with stage.pouring(load(stage.partitions)):
        workers = await shared(both, stage.partitions)
        workers["2"].kill()
        assert await both.ended() == KILLED, both.tail()
        last = both.log.splitlines()[-1]
        assert last.startswith("eddy: Worker 2 ended with status 137."), last
        await gone(*workers.values())
        assert "[worker 1] " in next(line for line in both.log.splitlines() if "Stopped." in line)
        await shared(stage.worker(command=TWO, directory=both.directory / "data"), stage.partitions)
    await stage.processed()
    await stage.verdict()


async def test_when_the_supervisor_is_killed_no_worker_outlives_it(stage: Stage) -> None:
    both = stage.worker(command=TWO, **SOON_MISSED)
    async with stage.pouring(load(stage.partitions)):
        workers = await shared(both, stage.partitions)
        workers["2"].parent().kill()
        await both.ended()
        await gone(*workers.values())
        # Neither a directory nor a port is held any more.
        await shared(stage.worker(command=TWO, directory=both.directory / "data"), stage.partitions)
    await stage.processed()
    await stage.verdict()


async def test_a_second_interrupt_does_not_wait_for_a_worker_that_stands_still(stage: Stage) -> None:
    await stage.send(itertools.islice(load(stage.partitions), 100))
    both = stage.worker(command=TWO, **SOON_MISSED)
    workers = await shared(both, stage.partitions)
    workers["1"].suspend()
    both.signal("INT")
    await until(lambda: not workers["2"].is_running(), PATIENCE_SECONDS, "the end of the other worker", both)
    both.signal("INT")
    assert await both.ended() == KILLED, both.tail()
    await gone(*workers.values())


async def test_without_a_broker_the_last_line_says_what_to_do(stage: Stage) -> None:
    both = stage.worker(command=TWO, bootstrap_servers="127.0.0.1:9")
    assert await both.ended() == BROKER_UNREACHABLE, both.tail()
    last = both.log.splitlines()[-1]
    assert re.match(r"eddy: Worker \d ended with status 3\. .*EDDY_BOOTSTRAP_SERVERS", last), last
