"""Workers started, passed signals, and ended together: with small programs in the place of workers."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from streams.operate.supervisor import Supervisor, SupervisorEnd

#: Says so when it can be asked to stop, and then leaves with the status that is its argument.
LEAVES = """
import os, select, signal, sys
# A handler alone may run just before a read begins that nothing then ends.
asked, tells = os.pipe()
os.set_blocking(tells, False)
signal.set_wakeup_fd(tells)
signal.signal(signal.SIGTERM, lambda *_: None)
print("listening", file=sys.stderr, flush=True)
select.select([asked, sys.stdin], [], [])
sys.exit(int(sys.argv[1]))
"""
IGNORES = """
import signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("listening", file=sys.stderr, flush=True)
sys.stdin.read()
"""
SAYS = "import sys; sys.exit(print(sys.argv[2], file=sys.stderr) or int(sys.argv[1]))"


def program(text: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", text, *map(str, arguments)]


async def asked_to_stop(
    supervisor: Supervisor, capfd: pytest.CaptureFixture[str], workers: int
) -> SupervisorEnd:
    """Run workers, ask them to stop once each has said that it listens, and return how they ended."""
    running = asyncio.create_task(supervisor.run())
    await listening(capfd, workers)
    os.kill(os.getpid(), signal.SIGTERM)
    return await running


async def listening(capfd: pytest.CaptureFixture[str], workers: int) -> set[str]:
    """Wait until so many workers have said that they listen, and return the lines."""
    said = ""
    while said.count("listening\n") < workers:
        await asyncio.sleep(0.01)
        said += capfd.readouterr().err
    return set(said.splitlines())


async def test_a_signal_asks_all_of_them_and_all_is_well(capfd: pytest.CaptureFixture[str]) -> None:
    supervisor = Supervisor({number: program(LEAVES, 0) for number in (1, 2, 3)})
    assert await asked_to_stop(supervisor, capfd, 3) == SupervisorEnd(0, "")


@pytest.mark.parametrize("status", [0, 1, 2, 3, 70])
async def test_when_one_ends_by_itself_the_others_are_asked_to_stop(status: int) -> None:
    ended = await Supervisor({1: program(LEAVES, 0), 2: program(SAYS, status, "eddy: Do this.")}).run()
    assert ended.status == status
    if status:
        assert ended.why == f"Worker 2 ended with status {status}. Do this."


async def test_the_worst_status_counts(capfd: pytest.CaptureFixture[str]) -> None:
    supervisor = Supervisor({number: program(LEAVES, status) for number, status in ((1, 3), (2, 1), (3, 70))})
    assert (await asked_to_stop(supervisor, capfd, 3)).status == 1


async def test_a_killed_worker_has_the_status_of_a_shell() -> None:
    kills_itself = "import os; os.kill(os.getpid(), 9)"
    ended = await Supervisor({1: program(kills_itself)}).run()
    assert ended == SupervisorEnd(137, "Worker 1 ended with status 137. Its last lines are above.")


async def test_a_second_interrupt_kills_and_a_second_request_does_not(
    capfd: pytest.CaptureFixture[str],
) -> None:
    running = asyncio.create_task(Supervisor({1: program(IGNORES), 2: program(IGNORES)}).run())
    await listening(capfd, 2)
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
        os.kill(os.getpid(), number)
        # Python runs a handler between two steps of the loop.
        await asyncio.sleep(0)
    assert not running.done()
    os.kill(os.getpid(), signal.SIGINT)
    assert (await running).status == 137


async def test_one_that_cannot_be_started_ends_the_others_too() -> None:
    ended = await Supervisor({1: program(LEAVES, 0), 2: ["/nowhere/at/all"]}).run()
    assert ended.status == 1
    assert "could not be started" in ended.why


async def test_lines_say_whose_they_are(capfd: pytest.CaptureFixture[str]) -> None:
    running = asyncio.create_task(Supervisor({1: program(LEAVES, 0), 2: program(LEAVES, 0)}).run())
    assert {"[worker 1] listening", "[worker 2] listening"} <= await listening(capfd, 2)
    os.kill(os.getpid(), signal.SIGTERM)
    await running


async def test_what_a_worker_leaves_behind_is_not_waited_for(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A process that it started has its standard error too, and lives on."""
    leaves_a_process = """
import os, subprocess, sys
waits = subprocess.Popen(["cat"], stdin=os.open(sys.argv[1], os.O_RDONLY), stdout=subprocess.DEVNULL)
print("x" * 50_000, "eddy: Do that.", waits.pid, sep="\\n", end="", file=sys.stderr)
sys.exit(3)
"""
    os.mkfifo(fifo := tmp_path / "fifo")
    held = os.open(fifo, os.O_RDWR)
    try:
        ended = await Supervisor({1: program(leaves_a_process, fifo)}).run()
        *_, last = capfd.readouterr().err.splitlines()
        assert ended == SupervisorEnd(3, "Worker 1 ended with status 3. Do that.")
        assert psutil.Process(int(last.removeprefix("[worker 1] "))).is_running()
    finally:
        os.close(held)
