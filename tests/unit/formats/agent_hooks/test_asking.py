"""The process of a hook: what it sends, what it prints, and that an agent goes on whatever happens."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest

from streams.formats.agent_hooks.asking import LONGEST_REQUEST, SOCKET_VARIABLE, WAITS
from tests.pages import ROOT

EVENT = json.dumps({"session_id": "s-1", "tool_name": "Bash"}).encode()


class Watch:
    """Answers one request after the other with the same bytes, and keeps what was asked."""

    def __init__(self, path: Path, answer: bytes) -> None:
        self.path, self.answer, self.asked = path, answer, list[bytes]()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listening.accept()
            with connection, connection.makefile("rb") as lines:
                line = lines.readline()
                if not line:
                    return
                self.asked.append(line)
                connection.sendall(self.answer)

    def close(self) -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.path))
        self._thread.join()
        self._listening.close()


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Callable[[bytes], Watch]]:
    made: list[Watch] = []

    def make(answer: bytes) -> Watch:
        made.append(Watch(tmp_path / "watch.sock", answer))
        return made[-1]

    yield make
    for each in made:
        each.close()


def hook(tmp_path: Path, given: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "streams", "guard", "hook", "claude-code", "before", *options],
        input=given,
        env={**os.environ, SOCKET_VARIABLE: str(tmp_path / "watch.sock")},
        cwd=ROOT,
        capture_output=True,
        check=False,
    )


def test_it_prints_what_the_watch_answers(watch: Callable[[bytes], Watch], tmp_path: Path) -> None:
    asked = watch(b'{"decision":"deny"}\n').asked
    ran = hook(tmp_path, EVENT, "--timeout", "600")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b'{"decision":"deny"}', b"")
    assert json.loads(asked[0]) == {
        "hook": "claude-code",
        "moment": "before",
        "within": 590,
        "event": {"session_id": "s-1", "tool_name": "Bash"},
    }


def test_where_nothing_is_to_be_said_it_prints_nothing(
    watch: Callable[[bytes], Watch], tmp_path: Path
) -> None:
    watch(b"\n")
    ran = hook(tmp_path, EVENT)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (EVENT, b"no `eddy watch` runs or answers here"),
        (b"{", b"JSONDecodeError"),
        (b"[]", b"an object"),
        (b"\xff", b"Unicode"),
    ],
)
def test_the_agent_goes_on_if_nobody_can_be_asked(tmp_path: Path, given: bytes, why: bytes) -> None:
    ran = hook(tmp_path, given)
    assert (ran.returncode, ran.stdout) == (0, b"")
    assert why in ran.stderr
    assert b"The tool runs" in ran.stderr


def test_the_tool_does_not_run_unwatched_if_so_installed(tmp_path: Path) -> None:
    ran = hook(tmp_path, EVENT, "--if-lost", "refuse")
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert b"The tool did not run" in ran.stderr


def test_an_answer_that_is_cut_off_is_none(watch: Callable[[bytes], Watch], tmp_path: Path) -> None:
    watch(b'{"decision":"de')
    ran = hook(tmp_path, EVENT)
    assert (ran.returncode, ran.stdout) == (0, b"")
    assert b"gone before it had answered" in ran.stderr


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_input": {"content": "x" * 20_000_000}},
        {"tool_input": [str(number) for number in range(100_000)]},
        {f"field {number}": "text" for number in range(50_000)},
        {"tool_input": {"content": "\ud800" * 100_000}},
        {"tool_input": {"n": float("nan"), "m": float("inf")}},
    ],
    ids=["one long text", "many texts", "many fields", "half a surrogate pair", "no numbers"],
)
def test_a_large_event_is_cut_and_still_names_its_session(
    watch: Callable[[bytes], Watch], tmp_path: Path, fields: dict[str, object]
) -> None:
    asked = watch(b"\n").asked
    ran = hook(tmp_path, json.dumps({"session_id": "s-1", **fields}).encode())
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert len(asked[0]) <= LONGEST_REQUEST
    assert orjson.loads(asked[0])["event"]["session_id"] == "s-1"


@pytest.mark.parametrize(
    "given",
    [
        b'{"session_id": "s-1", "tool_input": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        b'{"session_id": "s-1", "tool_input": {"n": 1e999}, ',
    ],
    ids=["deep", "broken"],
)
def test_of_what_cannot_be_read_the_session_is_still_asked_about(
    watch: Callable[[bytes], Watch], tmp_path: Path, given: bytes
) -> None:
    asked = watch(b'{"decision":"deny"}\n').asked
    ran = hook(tmp_path, given)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b'{"decision":"deny"}', b"")
    # From Python 3.14 on, what is this deep can be read; then its beginning is sent.
    assert orjson.loads(asked[0])["event"].items() >= {("session_id", "s-1")}


def test_large_arguments_that_differ_are_sent_so_that_they_differ(
    watch: Callable[[bytes], Watch], tmp_path: Path
) -> None:
    asked = watch(b"\n").asked
    for last in ("one", "other"):
        items = [f"item {number}" for number in range(20_000)]
        hook(tmp_path, json.dumps({"session_id": "s-1", "input": {"todos": [*items, last]}}).encode())
    assert asked[0] != asked[1]


def test_a_watch_that_says_that_the_session_waits_is_waited_for(
    watch: Callable[[bytes], Watch], tmp_path: Path
) -> None:
    watch(WAITS + b'{"decision":"deny"}\n')
    assert hook(tmp_path, EVENT, "--timeout", "600").stdout == b'{"decision":"deny"}'
