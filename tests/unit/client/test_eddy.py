"""The producer of agents: it never raises, never waits, and says what it drops."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from eddy_client import Eddy, texts
from eddy_client.backlog import Backlog
from eddy_client.kafka import KafkaTransport
from eddy_client.texts import LONGEST_TEXT, bounded
from eddy_client.transport import FileTransport
from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.outcome import Rejected
from streams.core.domain.record import Record
from streams.core.entry import decode_object
from streams.core.pipeline import admit
from streams.formats.adapters.record import PATH_KEYS


class Hostile:
    """An object of the agent's own whose every text raises."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


class HostileError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


def circle() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def deep() -> list[Any]:
    found: list[Any] = []
    for _ in range(100_000):
        found = [found]
    return found


ODD = [
    None, True, 2**70, float("nan"), "\ud800", "\x00", b"\xff", {1: {2}}, {(1, 2): 3}, Hostile(),
    {"a": Hostile()}, circle(), deep(), object, "x" * 100_000,
]  # fmt: skip
odd = st.sampled_from(ODD) | st.text() | st.binary() | st.integers() | st.floats()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.fixture
def eddy(file: Path) -> Iterator[Eddy]:
    eddy = Eddy(None, agent="coder-7", file=str(file))
    yield eddy
    eddy.close()


def close_at_once(eddy: Eddy) -> None:
    """End sending without waiting for brokers, and see the thread end: a busy machine takes its time."""
    eddy.close(0)
    eddy._sender._thread.join()


def records(file: Path) -> list[dict[str, Any]]:
    """Return what was written; each must be one that Eddy judges."""
    found = [decode_object(line) for line in file.read_bytes().splitlines()]
    for value in found:
        assert value is not None
        admitted = admit(Record(0, 0, value["session_id"], None, value), DEFAULTS)
        assert not isinstance(admitted, Rejected), admitted
    return [value for value in found if value is not None]


def test_a_session_becomes_records_in_order(eddy: Eddy, file: Path) -> None:
    with eddy.session("s-1", goal="fix the build", task_type="fix") as session:
        session.said("I look at the file.")
        with session.tool("read", {"path": "a.py"}) as step:
            step.result = "x = 1"
        session.tokens(100)
        session.tokens(20)
        session.cost(0.5)
        with pytest.raises(OSError, match="disk"), session.tool("write", "text"):
            raise OSError("disk full")
        with session.tool("shell") as step:
            step.failed("exit 1")
        with pytest.raises(asyncio.CancelledError), session.tool("wait"):
            raise asyncio.CancelledError
        session.answer("It is done.")
    eddy.close()
    read, write, shell, wait, answer, end = records(file)
    assert read["cognition"] == {"intent": "I look at the file.", "goal": "fix the build"}
    assert read["action"] == {
        "kind": "tool",
        "status": "success",
        "tool_call": "read",
        "tool_input": '{"path":"a.py"}',
        "target": "a.py",
        "tool_output_summary": "x = 1",
    }
    assert write["state_delta"] == {"tokens_consumed": 120, "cumulative_session_cost": 0.5}
    assert (write["action"]["status"], write["action"]["error"]) == ("failure", "OSError: disk full")
    assert write["cognition"]["intent"] == "write text"
    assert (shell["action"]["error"], shell["cognition"]["intent"]) == ("exit 1", "shell")
    assert wait["action"]["status"] == "skipped"
    assert (answer["action"]["kind"], answer["cognition"]["intent"]) == ("llm", "It is done.")
    assert (end["action"]["kind"], end["control"]) == ("system", {"is_terminal": True})
    assert {each["task_type"] for each in (read, write, shell, wait, answer, end)} == {"fix"}
    assert len({each["event_id"] for each in (read, write, shell, wait, answer, end)}) == 6
    assert eddy.stats == (6, 0, 0, 0, 0)


@given(name=odd, arguments=odd, result=odd, session_id=odd, goal=odd, tokens=odd, words=odd, intent=odd)
def test_no_value_makes_it_raise_and_every_record_is_one_that_eddy_judges(
    tmp_path_factory: pytest.TempPathFactory, **odds: Any
) -> None:
    file = tmp_path_factory.mktemp("run") / "run.jsonl"
    eddy = Eddy(None, agent=odds["name"], file=str(file))
    with eddy.session(odds["session_id"], goal=odds["goal"], task_type=odds["intent"]) as session:
        session.tokens(odds["tokens"])
        session.cost(odds["tokens"])
        session.said(odds["words"])
        with session.tool(odds["name"], odds["arguments"], intent=odds["intent"]) as step:
            step.result = odds["result"]
        session.answer(odds["words"])
    eddy.close(30)
    assert eddy.stats.sent == len(records(file)) == 3
    assert eddy.stats.dropped_error == 0


def test_an_exception_that_cannot_be_told_is_raised_again_and_named(eddy: Eddy, file: Path) -> None:
    session = eddy.session("s")
    with pytest.raises(HostileError), session.tool("t"):
        raise HostileError
    eddy.close()
    assert records(file)[0]["action"]["error"] == "HostileError"


def test_arguments_count_as_they_were_when_the_call_began(eddy: Eddy, file: Path) -> None:
    arguments = {"q": 1}
    with eddy.session("s").tool("t", arguments):
        arguments["q"] = 2
    eddy.close()
    assert records(file)[0]["action"]["tool_input"] == '{"q":1}'


def test_texts_are_cut_and_counted(eddy: Eddy, file: Path) -> None:
    with eddy.session("s").tool("t", "a" * 20_000) as step:
        step.result = "b" * 20_000
    eddy.close()
    action = records(file)[0]["action"]
    assert len(action["tool_input"]) == len(action["tool_output_summary"]) == LONGEST_TEXT
    assert eddy.stats.truncated == 2


def test_what_finds_the_queue_full_is_dropped_and_the_next_record_of_the_session_says_so() -> None:
    backlog = Backlog(2, 10_000)
    assert [backlog.put(name, {}, 10) for name in ("a", "b", "a", "a", "b")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert (backlog.gap("a"), backlog.gap("b"), backlog.gap("c")) == (2, 1, 0)
    backlog.take()
    backlog.done()
    assert backlog.put("a", {}, 10, 2)
    assert (backlog.gap("a"), backlog.gap("b")) == (0, 1)


def lost(backlog: Backlog) -> None:
    """Lose the oldest record, as when brokers refuse it."""
    waiting = backlog.take()
    assert waiting is not None
    backlog.lost(waiting)
    backlog.done()


def test_a_record_that_tells_of_missing_ones_and_is_lost_itself_is_told_of_with_them() -> None:
    backlog = Backlog(1, 10_000)
    assert [backlog.put("a", {}, 10) for _ in range(3)] == [True, False, False]
    lost(backlog)
    assert backlog.gap("a") == 3
    assert backlog.put("a", {}, 10, 3)
    assert backlog.gap("a") == 0
    lost(backlog)
    assert backlog.gap("a") == 4


def test_what_is_lost_while_the_next_record_is_made_is_told_of_by_the_one_after() -> None:
    backlog = Backlog(10, 10_000)
    backlog.put("a", {}, 10)
    gap = backlog.gap("a")
    lost(backlog)
    backlog.put("a", {}, 10, gap)
    assert backlog.gap("a") == 1


def test_tokens_of_a_record_that_is_dropped_go_with_the_next(tmp_path: Path) -> None:
    file = tmp_path / "away" / "run.jsonl"
    eddy = Eddy(None, agent="a", file=str(file), most_records=1)
    session = eddy.session("s")
    for count in (1, 20, 300):
        session.tokens(count)
        session.answer("x")
    file.parent.mkdir()
    while eddy.stats.waiting:
        threading.Event().wait(0.01)
    session.answer("after")
    eddy.close(30)
    assert [each["state_delta"]["tokens_consumed"] for each in records(file)] == [1, 320]


def test_calls_of_a_round_bear_its_id_and_those_outside_none(eddy: Eddy, file: Path) -> None:
    session = eddy.session("s", parent="boss")
    with session.round():
        first, second = session.tool("read", {"path": "a.py"}), session.tool("read", {"path": "b.py"})
    for step in (first, second, session.tool("read", {"path": "c.py"})):
        with step:
            step.result = "x"
    with session.round("msg-1"), session.tool("read"):
        pass
    eddy.close()
    rounds = [each["meta"].get("round_id") for each in records(file)]
    assert rounds[0] == rounds[1] is not None
    assert rounds[2:] == [None, "msg-1"]
    assert {each["meta"]["parent_session_id"] for each in records(file)} == {"boss"}


def test_a_person_a_compaction_and_cached_tokens_go_with_the_next_record(eddy: Eddy, file: Path) -> None:
    session = eddy.session("s")
    session.user("correction")
    session.compacted()
    session.tokens(10, cached=90)
    session.answer("I look again")
    session.answer("Done")
    eddy.close()
    first, second = records(file)
    assert first["meta"]["user_turn"] == "correction"
    assert first["meta"]["context_change"] == "compacted"
    assert first["state_delta"] == {"tokens_consumed": 10, "tokens_cached": 90}
    assert second["meta"].keys() == {"trace_id", "timestamp"}
    assert "state_delta" not in second


def test_a_line_that_is_never_finished_is_not_counted_as_sent(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full in the middle of a line."""
    room = 4

    def write(descriptor: int, line: bytes) -> int:
        nonlocal room
        if not room:
            raise OSError("no space left on device")
        taken = min(room, len(line))
        room -= taken
        return written(descriptor, line[:taken])

    written = os.write
    monkeypatch.setattr(os, "write", write)
    transport, told = FileTransport(str(file)), list[bool]()
    assert transport.send(b"s", b"{}", told.append)
    assert transport.send(b"s", b"{}", told.append)
    assert told == [True]
    room = 2
    transport.work(0)
    assert told == [True, True]
    room = 1
    assert transport.send(b"s", b"{}", told.append)
    assert not transport.send(b"s", b"{}", told.append)
    transport.close(0)
    assert told == [True, True, False]


def test_a_kafka_client_that_has_broken_down_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """An idempotent producer gives up for good if a broker has lost what it had taken."""
    made: list[Broken] = []

    class Broken:
        def __init__(self, config: object, logger: object) -> None:
            self.under_way: list[Callable[[Any, Any], None]] = []
            self.is_broken = False
            made.append(self)

        def produce(self, *_: object, on_delivery: Callable[[Any, Any], None], **__: object) -> None:
            if self.is_broken:
                raise confluent_kafka.KafkaException(confluent_kafka.KafkaError(-150, "it broke", fatal=True))
            self.under_way.append(on_delivery)

        def poll(self, within: float) -> None: ...

        def purge(self) -> None: ...

        def flush(self, within: float) -> int:
            if within:
                while self.under_way:
                    self.under_way.pop(0)("purged" if self.is_broken else None, None)
            return len(self.under_way)

    monkeypatch.setattr(confluent_kafka, "Producer", Broken)
    transport, told = KafkaTransport("127.0.0.1:9", "decision-logs", {}), list[bool]()
    assert transport.send(b"s", b"{}", told.append)
    made[0].is_broken = True
    assert not transport.send(b"s", b"{}", told.append)
    assert told == [False]
    assert transport.send(b"s", b"{}", told.append)
    transport.close(1)
    assert (len(made), told) == (2, [False, True])


def test_bytes_are_limited_as_well_as_records() -> None:
    backlog = Backlog(1_000, 10_000)
    taken = sum(backlog.put("a", {}, 4_000) for _ in range(10))
    assert taken == 2
    assert backlog.clear() == 2
    assert backlog.put("a", {}, 4_000)


def test_a_gap_is_marked_in_the_stream(tmp_path: Path) -> None:
    file = tmp_path / "away" / "run.jsonl"  # whose folder is not there yet
    eddy = Eddy(None, agent="a", file=str(file), most_records=2)
    session = eddy.session("s")
    for number in range(5):
        with session.tool("t", str(number)):
            pass
    assert eddy.stats == (0, 3, 0, 0, 2)
    file.parent.mkdir()
    while eddy.stats.waiting:
        threading.Event().wait(0.01)
    with session.tool("t", "after"):
        pass
    eddy.close(30)
    *_, last = records(file)
    assert last["control"] == {"interrupt_signal": "gap:3"}
    assert eddy.stats == (3, 3, 0, 0, 0)


def test_what_cannot_be_sent_at_the_end_is_counted_and_the_end_does_not_wait(tmp_path: Path) -> None:
    eddy = Eddy(None, agent="a", file=str(tmp_path / "nowhere" / "run.jsonl"))
    for _ in range(3):
        eddy.session("s").answer("x")
    close_at_once(eddy)
    assert eddy.stats == (0, 0, 3, 0, 0)


def test_what_comes_after_the_end_is_dropped(eddy: Eddy, file: Path) -> None:
    eddy.close()
    eddy.session("s").answer("late")
    assert not file.exists()
    assert eddy.stats.dropped_full == 1


def test_many_threads_lose_nothing(eddy: Eddy, file: Path) -> None:
    def work(name: str) -> None:
        session = eddy.session(name)
        for number in range(200):
            with session.tool("t", str(number)):
                pass

    threads = [threading.Thread(target=work, args=(f"s-{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    eddy.close(60)
    found = records(file)
    assert len({each["event_id"] for each in found}) == len(found) == 1_600
    for name in {each["session_id"] for each in found}:
        mine = [int(each["action"]["tool_input"]) for each in found if each["session_id"] == name]
        assert mine == list(range(200))


def run(program: str, *arguments: str, python: tuple[str, ...] = (sys.executable,)) -> str:
    environment = {"PYTHONPATH": str(Path(__file__).parents[3] / "client"), "PATH": os.environ["PATH"]}
    words = [*python, "-W", "error", "-c", program, *arguments]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_the_end_of_the_process_sends_what_waits(file: Path) -> None:
    run(
        "import sys; from eddy_client import Eddy; eddy = Eddy(None, agent='a', file=sys.argv[1]);"
        "s = eddy.session('s'); [s.answer(str(n)) for n in range(100)]",
        str(file),
    )
    assert len(records(file)) == 100


def test_a_child_of_a_fork_sends_its_own_records_and_none_of_its_parent(file: Path) -> None:
    run(
        "import os, sys; from eddy_client import Eddy; eddy = Eddy(None, agent='a', file=sys.argv[1]);"
        "s = eddy.session('s'); [s.answer(f'parent {n}') for n in range(50)];"
        "child = os.fork();"
        "[s.answer(f'child {n}') for n in range(50)] if child == 0 else os.waitpid(child, 0);"
        "eddy.close(30)",
        str(file),
    )
    words = [each["cognition"]["intent"] for each in records(file)]
    assert sorted(words) == sorted(f"{who} {n}" for who in ("parent", "child") for n in range(50))
    assert len({each["event_id"] for each in records(file)}) == 100


def test_an_agent_gets_nothing_but_the_standard_library() -> None:
    program = "import sys, eddy_client; print(*{name.partition('.')[0] for name in sys.modules})"
    printed = run(program, python=(sys.executable, "-S"))
    assert set(printed.split()) - sys.stdlib_module_names <= {"eddy_client", "__main__"}


def test_the_oldest_python_that_is_promised_runs_it(file: Path) -> None:
    python = shutil.which("python3.10")
    if python is None or subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip("Python 3.10 is not installed")
    program = (
        "import sys; from eddy_client import Eddy, alerts; eddy = Eddy(None, agent='a', file=sys.argv[1])\n"
        "with eddy.session('s') as s:\n"
        "    with s.tool('t', {'q': 1}) as step: step.result = 'found'"
    )
    run(program, str(file), python=(python,))
    assert [each["action"]["kind"] for each in records(file)] == ["tool", "system"]


def test_brokers_that_are_away_neither_stop_nor_slow_the_agent() -> None:
    eddy = Eddy("127.0.0.1:9", agent="a", most_records=50)
    for number in range(3_000):
        eddy.session("s").answer(str(number))
    close_at_once(eddy)
    stats = eddy.stats
    assert stats.sent == stats.waiting == 0
    assert stats.dropped_full + stats.dropped_error == 3_000


def test_an_option_that_kafka_does_not_know_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="refuses an option"):
        Eddy("127.0.0.1:9", agent="a", kafka={"no.such.option": "1"})


def test_json_of_a_value_is_short_and_its_own_text_stays() -> None:
    assert bounded({"b": [1, "ü"]}).text == '{"b":[1,"ü"]}'
    assert json.loads(bounded({"a": Hostile()}).text) == {"a": "[cannot be written]"}


def test_a_file_is_found_by_the_names_that_the_job_knows() -> None:
    assert texts._PATH_KEYS == PATH_KEYS
