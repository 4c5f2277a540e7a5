"""`eddy demo` as people start it: what it says, how it ends, and that nothing is left of it."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import orjson
import psutil
import pytest

from streams.formats.recordings.catalogue import RECORDINGS, Recording, messages
from tests.integration.load import decision

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif("config.getoption('--broker') == 'kafka'", reason="it brings a broker of its own"),
]

KEYS = ["records", "sessions", "scored", "dead_lettered", "alerts", "lost", "seconds"]
SAMPLES = Path(__file__).parents[1] / "samples"
PATIENCE_SECONDS = 300.0
_MARK = "MARK_OF_A_TEST"


class Demo:
    """A demo with a home, a temporary directory and a working directory of its own, all empty.

    Its processes carry a mark, or work in its temporary directory.
    """

    def __init__(self, directory: Path) -> None:
        self._mark = uuid.uuid4().hex
        self._places = {name: directory / name for name in ("home", "temporary", "work")}
        for place in self._places.values():
            place.mkdir()
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self._places["home"]),
            "TMPDIR": str(self._places["temporary"]),
            # The variables of a user who has a Kafka: the demo must not touch it.
            "EDDY_BOOTSTRAP_SERVERS": "127.0.0.1:1",
            "EDDY_APPLICATION_ID": "production",
            _MARK: self._mark,
        }

    def start(self, *words: str | Path) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [Path(sys.executable).with_name("eddy"), "demo", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self._places["work"],
            env=self._environment,
        )

    def run(self, *words: str | Path) -> tuple[int, str, str]:
        """Return exit status, standard output and standard error."""
        with self.start(*words) as process:
            try:
                stdout, stderr = process.communicate(timeout=PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return process.returncode, stdout, stderr

    def left_behind(self) -> list[str]:
        """Return the processes and files there are of it."""
        processes = [
            str(process.info) for process in psutil.process_iter(["pid", "cmdline"]) if self._is_ours(process)
        ]
        # Unlike Path.rglob, os.walk does not mind folders that go away meanwhile.
        walked = itertools.chain.from_iterable(os.walk(place) for place in self._places.values())
        return processes + [f"{folder}/{name}" for folder, inner, files in walked for name in inner + files]

    def _is_ours(self, process: psutil.Process) -> bool:
        with suppress(psutil.Error):
            return process.environ().get(_MARK) == self._mark or Path(process.cwd()).is_relative_to(
                self._places["temporary"]
            )
        return False

    def leaves_nothing(self) -> bool:
        """Wait until nothing is there."""
        return eventually(lambda: self.left_behind() == [])


def eventually(condition: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    demo = Demo(tmp_path)
    yield demo
    # Whatever a test has found, the next one starts on a clean machine.
    for process in psutil.process_iter():
        if demo._is_ours(process):
            with suppress(psutil.NoSuchProcess):
                process.kill()


def session_of(recording: Recording) -> str:
    """Return the one session of a recording."""
    (session_id,) = {orjson.loads(message.value or b"")["session_id"] for message in messages([recording])}
    return str(session_id)


def findings_by_session(stdout: str) -> dict[str, dict[str, str]]:
    """Return the reasons by rule and session of the summary."""
    found: dict[str, dict[str, str]] = {}
    for line in stdout.partition("unaccounted")[0].splitlines():
        if session := re.fullmatch(r"  ▲ (\S+)", line):
            rules = found[session[1]] = {}
        elif reason := re.fullmatch(r"      (\w+)(?: \(\d+ times\))?: (.+)", line):
            rules[reason[1]] = reason[2]
    return found


def test_the_recordings_are_told_apart_with_rule_and_reason_and_nothing_is_left(demo: Demo) -> None:
    status, stdout, stderr = demo.run()
    assert status == 0, stdout + stderr
    assert demo.left_behind() == []

    records, rejected = sum(each.records for each in RECORDINGS), sum(each.rejected for each in RECORDINGS)
    assert f"\n{records} records: {records - rejected} scored, {rejected} dead-lettered (" in stdout
    assert stdout.splitlines()[-1] == "0 records unaccounted for"

    told = {session_of(each): set(each.findings) for each in RECORDINGS if each.findings}
    found = findings_by_session(stdout)
    assert {session: set(rules) for session, rules in found.items()} == told
    assert all(reason for rules in found.values() for reason in rules.values())
    # As it happened, too, not only at the end.
    for session, rules in told.items():
        for rule in rules:
            assert re.search(rf"^ *[0-9.]+ s  ▲ {re.escape(session)}  {rule}: \S", stdout, re.MULTILINE), (
                session,
                rule,
            )


def test_files_for_machines_end_with_one_line_of_numbers(demo: Demo, tmp_path: Path) -> None:
    looping, other = tmp_path / "my-agent.jsonl", tmp_path / "other.jsonl"
    lines = [json.dumps(decision("s-1", number, intent="find it", tool_call="search")) for number in range(8)]
    looping.write_text("\n".join([*lines, "no JSON", json.dumps({"session_id": "s-1"})]) + "\n")
    other.write_text("".join(json.dumps(decision("s-2", number)) + "\n" for number in range(3)))

    began = time.monotonic()
    status, stdout, stderr = demo.run("--json", "--input", looping, other)
    took = time.monotonic() - began
    assert status == 0, stdout + stderr
    assert demo.left_behind() == []

    [line] = stdout.splitlines()
    numbers = json.loads(line)
    assert list(numbers) == KEYS
    assert all(type(value) in {int, float} for value in numbers.values())
    assert numbers["lost"] == 0
    assert numbers["records"] == numbers["scored"] + numbers["dead_lettered"] == 13
    assert (numbers["sessions"], numbers["dead_lettered"]) == (2, 2)
    assert 0 < numbers["seconds"] < took
    # Three in a row of one tool in each session; eight of the same step in the one.
    assert set(findings_by_session(stderr)["s-1"]) == {
        "loop_episode",
        "entropy_alert",
        "divergence_suspected",
    }
    assert f"{numbers['alerts']} alerts" in stderr
    assert "0 records unaccounted for" in stderr


def test_what_is_left_out_of_a_log_is_reported(demo: Demo, tmp_path: Path) -> None:
    log, stranger = tmp_path / "session.jsonl", tmp_path / "notes.txt"
    log.write_bytes((SAMPLES / "claude_code" / "loop.jsonl").read_bytes() + b"{broken\n")
    stranger.write_text("once upon a time")
    status, stdout, stderr = demo.run("--json", "--input", log, stranger)
    assert status == 0, stdout + stderr
    assert json.loads(stdout)["records"] == 7
    assert "claude-code: 1 file, 7 records; ignored" in stderr
    assert "could not be read: 1; the first: " in stderr
    assert "1 file left out because no format fits" in stderr


def test_a_file_that_does_not_exist_is_wrong_usage(demo: Demo) -> None:
    status, stdout, stderr = demo.run("--input", "nowhere.jsonl")
    assert (status, stdout) == (2, "")
    assert "nowhere.jsonl" in stderr
    assert demo.left_behind() == []


def test_a_damaged_file_is_named_before_anything_starts(demo: Demo, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.avro"
    damaged.write_bytes(b"Obj\x01no container")
    status, stdout, stderr = demo.run("--json", "--input", damaged)
    assert (status, stdout) == (2, "")
    assert "damaged.avro" in stderr
    assert "broker on" not in stderr
    assert demo.left_behind() == []


@pytest.fixture
def long_file(tmp_path: Path) -> Path:
    """Write more than a demo scores in the time it takes to stop it."""
    file = tmp_path / "long.jsonl"
    sessions = itertools.cycle(range(40))
    with file.open("wb") as lines:
        for number in range(40_000):
            lines.write(orjson.dumps(decision(f"s-{next(sessions)}", number, intent="again")) + b"\n")
    return file


def in_the_middle(process: "subprocess.Popen[str]") -> None:
    """Return when the first alert is told: the broker and both workers are at work."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if "▲" in line:
            return
    pytest.fail("".join(said))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let new processes be interrupted: who runs in the background ignores it, and hands that down."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_stopped_in_the_middle_it_leaves_nothing(
    demo: Demo, long_file: Path, number: signal.Signals, status: int
) -> None:
    with demo.start("--json", "--input", long_file) as process:
        in_the_middle(process)
        # The demo itself, and for the broker and each worker a guard and the program.
        assert len([each for each in demo.left_behind() if "cmdline" in each]) >= 7
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, stdout) == (status, ""), stderr
    if number is signal.SIGINT:
        assert demo.left_behind() == []
        assert "Traceback" not in stderr
    # Nobody could clean up: the guards do.
    assert demo.leaves_nothing(), demo.left_behind()
