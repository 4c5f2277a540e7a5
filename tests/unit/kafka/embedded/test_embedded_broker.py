"""The embedded broker starts, answers, and is gone afterwards whatever happened to its parent."""

import asyncio
import contextlib
import itertools
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from streams.core.errors import ConfigurationError, InfrastructureError
from streams.kafka.embedded import embedded
from streams.kafka.embedded.child import Child
from streams.kafka.embedded.embedded import EmbeddedBroker, broker_binary, free_port


@pytest.fixture
def scratch_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "scratch"
    root.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(root))
    return root


def descendants() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def eventually(condition, seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def port_of(broker: EmbeddedBroker) -> int:
    return int(broker.bootstrap.rpartition(":")[2])


def test_it_answers_and_leaves_neither_process_nor_file(scratch_root: Path) -> None:
    before = descendants()
    with EmbeddedBroker() as broker:
        port = port_of(broker)
        assert broker.bootstrap == f"127.0.0.1:{port}"
        assert descendants() > before
    assert descendants() == before
    assert list(scratch_root.iterdir()) == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 1)
    with pytest.raises(ConfigurationError, match="not running"):
        _ = broker.bootstrap


def test_two_brokers_do_not_meet() -> None:
    with EmbeddedBroker() as one, EmbeddedBroker() as other:
        assert one.bootstrap != other.bootstrap


async def test_it_starts_beside_other_work_of_the_event_loop() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    async with EmbeddedBroker() as broker:
        port_of(broker)
    ticking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await ticking
    assert ticks > 1


def test_it_dies_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    program = (
        f"import tempfile; tempfile.tempdir = {str(tmp_path)!r}\n"
        "from streams.kafka.embedded.embedded import EmbeddedBroker\n"
        "with EmbeddedBroker() as broker:\n"
        "    print(broker.bootstrap, flush=True)\n"
        "    input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline().startswith("127.0.0.1:")
        family = psutil.Process(parent.pid).children(recursive=True)
        assert any("tansu" in process.name() for process in family)
        assert list(tmp_path.iterdir()) != []
        parent.send_signal(signal.SIGKILL)
    _, alive = psutil.wait_procs(family, timeout=60)
    assert alive == []
    assert list(tmp_path.iterdir()) == []


def test_a_port_taken_meanwhile_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with EmbeddedBroker() as first:
        ports: Iterator[int] = itertools.chain([port_of(first)], iter(free_port, None))
        monkeypatch.setattr(embedded, "free_port", lambda: next(ports))
        with EmbeddedBroker() as second:
            assert second.bootstrap != first.bootstrap


def test_a_program_without_the_executable_bit_still_runs(
    monkeypatch: pytest.MonkeyPatch, scratch_root: Path, tmp_path: Path
) -> None:
    plain = tmp_path / "tansu"
    plain.write_bytes(broker_binary().read_bytes())
    plain.chmod(0o600)
    monkeypatch.setenv("CALF_TANSU_BIN", str(plain))
    with EmbeddedBroker() as broker:
        port_of(broker)
    assert list(scratch_root.iterdir()) == []


def test_a_missing_wheel_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_WHEEL", "no_such_wheel")
    with pytest.raises(ConfigurationError, match=r"Install Eddy with its extra `demo`"):
        EmbeddedBroker().start()


def test_a_wheel_without_a_program_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_WHEEL", "streams")
    with pytest.raises(ConfigurationError, match="no broker for this platform"):
        EmbeddedBroker().start()


def test_a_program_that_ends_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho out of luck >&2\nexit 3\n")
    broken.chmod(0o700)
    monkeypatch.setenv("CALF_TANSU_BIN", str(broken))
    before = descendants()
    with pytest.raises(InfrastructureError, match="out of luck"):
        EmbeddedBroker().start()
    assert descendants() == before


def test_a_program_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o700)
    monkeypatch.setenv("CALF_TANSU_BIN", str(silent))
    before = descendants()
    with pytest.raises(InfrastructureError, match=r"no answer within 0\.2 s"):
        EmbeddedBroker(start_seconds=0.2).start()
    assert descendants() == before


def test_a_child_takes_signals_and_reports_its_end(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with Child(
        ["/bin/sh", "-c", "trap 'echo bye; exit 0' TERM; echo up; while :; do :; done"], scratch=scratch
    ) as child:
        assert eventually(lambda: child.said() == "up")
        assert not child.ended()
        child.signal("TERM")
        assert child.ended(within=60)
        assert child.said() == "up\nbye"
        child.signal("TERM")
    assert not scratch.exists()
