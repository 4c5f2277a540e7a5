"""The guard in a process: checks that wait, raise, hand over, and go on when nobody can be heard."""

import asyncio
import json
import os
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from eddy_client import Guard, GuardUnavailable, SessionAborted
from eddy_client.guard import guard as guard_module
from eddy_client.guard.channel import MOST_ACKS
from eddy_client.guard.command import Command
from eddy_client.guard.guard import GuardedSession
from eddy_client.guard.outgoing import Outgoing
from eddy_client.guard.retry import Retry

from tests.unit.client.guard.commanded import HOUR_MS, LocalChannel, command

SECONDS = 30.0
FAR = 10**15


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)


@pytest.fixture
def channel() -> LocalChannel:
    return LocalChannel()


@pytest.fixture
def guard(channel: LocalChannel) -> Iterator[Guard]:
    with_channel = Guard(lambda: channel, stale_after=0.3, lost_wait=0.2, start_wait=SECONDS)
    yield with_channel
    with_channel.close()


@pytest.fixture
def session(guard: Guard, channel: LocalChannel) -> GuardedSession:
    found = guard.session("s-1", agent_id="a-1")
    found.check()
    until(lambda: [ack["status"] for ack in channel.acks] == ["attached"])
    return found


class Agent(threading.Thread):
    """A loop under the guard."""

    def __init__(self, session: GuardedSession) -> None:
        super().__init__(daemon=True)
        self.session = session
        self.steps = 0
        self.notes: list[str] = []
        self.ended: Exception | None = None
        self.enough = False

    def run(self) -> None:
        try:
            while not self.enough:
                self.notes += [note.text for note in self.session.check()]
                self.steps += 1
                time.sleep(0.001)
        except (SessionAborted, GuardUnavailable) as error:
            self.ended = error


@pytest.fixture
def agent(session: GuardedSession) -> Iterator[Agent]:
    running = Agent(session)
    running.start()
    until(lambda: running.steps > 3)
    yield running
    running.enough = True
    session._guard.close()
    session._wake()
    running.join(SECONDS)
    assert not running.is_alive()


def test_a_paused_agent_makes_no_step_until_it_is_resumed(agent: Agent, channel: LocalChannel) -> None:
    channel.incoming.put(command("pause", 1, expires_at=FAR))
    until(lambda: channel.statuses("c-1") == ["received", "applied"])
    steps = agent.steps
    until(lambda: agent.session.peek().level == "paused")
    assert agent.steps <= steps + 1
    channel.incoming.put(command("resume", 2, expires_at=FAR))
    until(lambda: agent.steps > steps + 3)
    until(lambda: channel.statuses("c-1") == ["received", "applied", "released"])


def test_an_aborted_agent_ends_with_the_reason(agent: Agent, channel: LocalChannel) -> None:
    channel.incoming.put(command("abort", 1, expires_at=FAR))
    until(lambda: agent.ended is not None)
    assert isinstance(agent.ended, SessionAborted)
    assert (agent.ended.reason, agent.ended.command_id) == ("it goes in circles", "c-1")
    with pytest.raises(SessionAborted):
        agent.session.check()


def test_a_note_is_handed_over_once(agent: Agent, channel: LocalChannel) -> None:
    channel.incoming.put(command("inject_message", 1, expires_at=FAR))
    until(lambda: agent.notes != [])
    steps = agent.steps
    until(lambda: agent.steps > steps + 3)
    assert agent.notes == ["think of something else"]


def test_a_lost_channel_lets_an_agent_go_on_and_says_so_once(
    agent: Agent, channel: LocalChannel, guard: Guard, caplog: pytest.LogCaptureFixture
) -> None:
    channel.broken = True
    until(lambda: guard.lost)
    steps = agent.steps
    until(lambda: agent.steps > steps + 3)
    assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 1
    channel.broken = False
    until(lambda: not guard.lost)


def test_what_a_lost_channel_has_not_sent_the_next_one_sends_first(
    session: GuardedSession, channel: LocalChannel, guard: Guard
) -> None:
    del channel.acks[:]
    channel.unsent = [{"command_id": "c-1", "status": "received"}, {"command_id": "c-1", "status": "applied"}]
    channel.broken = True
    until(lambda: channel.unsent == [])
    session.close()
    channel.broken = False
    until(lambda: len(channel.acks) == 3)
    assert [ack["status"] for ack in channel.acks] == ["received", "applied", "detached"]


def test_a_tool_that_cannot_be_undone_is_refused_while_the_channel_is_lost(channel: LocalChannel) -> None:
    on_lost = {"default": "open", "deploy_*": "closed"}
    guard = Guard(lambda: channel, on_lost=on_lost, stale_after=0.2, lost_wait=0.05)
    try:
        session = guard.session("s-1")
        assert session.check(tool="deploy_web") == ()
        channel.broken = True
        until(lambda: guard.lost)
        assert session.check(tool="read_file") == ()
        with pytest.raises(GuardUnavailable, match="nobody answers"):
            session.check(tool="deploy_web")
        channel.broken = False
        until(lambda: not guard.lost)
        assert session.check(tool="deploy_web") == ()
    finally:
        guard.close()


@pytest.fixture
def interleaved() -> Iterator[None]:
    """Let threads take turns so often that each may stand between two lines of another."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("interleaved")
def test_no_tool_passes_at_the_very_moment_the_channel_counts_as_lost(channel: LocalChannel) -> None:
    guard = Guard(lambda: channel, on_lost={"deploy_*": "closed"}, stale_after=0.02, lost_wait=0.01)
    try:
        session = guard.session("s-1")
        assert session.check(tool="deploy_web") == ()
        channel.broken = True
        while not guard.lost:  # without a wait: what follows is at that moment
            pass
        with pytest.raises(GuardUnavailable):
            session.check(tool="deploy_web")
    finally:
        guard.close()


def test_what_was_commanded_before_the_first_step_holds_it(channel: LocalChannel) -> None:
    channel.is_current = False
    channel.incoming.put(command("pause", 1, expires_at=FAR))
    guard = Guard(lambda: channel, start_wait=SECONDS)
    running = Agent(guard.session("s-1"))
    running.start()
    until(channel.incoming.empty)
    channel.is_current = True
    until(lambda: "applied" in channel.statuses("c-1"))
    assert running.steps == 0
    channel.incoming.put(command("abort", 2, expires_at=FAR))
    running.join(SECONDS)
    guard.close()
    assert isinstance(running.ended, SessionAborted)


async def test_a_coroutine_waits_without_holding_the_loop(
    session: GuardedSession, channel: LocalChannel
) -> None:
    channel.incoming.put(command("pause", 1, expires_at=FAR))
    await asyncio.to_thread(until, lambda: not session._quiet)
    waiting = asyncio.ensure_future(session.acheck())
    await asyncio.sleep(0)
    assert not waiting.done()
    channel.incoming.put(command("resume", 2, expires_at=FAR))
    assert await asyncio.wait_for(waiting, SECONDS) == ()


def test_notes_are_kept_for_the_next_check_by_what_cannot_pass_them_on(
    session: GuardedSession, channel: LocalChannel
) -> None:
    channel.incoming.put(command("inject_message", 1, expires_at=FAR))
    until(lambda: session.peek().notes == 1)
    assert session.guarded(lambda: 7)() == 7
    assert list(session.steps([1, 2])) == [1, 2]
    assert session.hold().notes == 1
    until(lambda: channel.statuses("c-1") == ["received"])
    assert [note.command_id for note in session.check()] == ["c-1"]
    until(lambda: channel.statuses("c-1") == ["received", "applied"])


def test_a_message_is_not_said_to_be_handed_over_to_a_call_that_is_refused(channel: LocalChannel) -> None:
    guard = Guard(lambda: channel, on_lost="closed", stale_after=0.2, lost_wait=0.0, start_wait=SECONDS)
    session = guard.session("s-1")
    channel.incoming.put(command("inject_message", 1, expires_at=FAR))
    until(lambda: session.peek().notes == 1)
    channel.broken = True
    until(lambda: guard.lost)
    with pytest.raises(GuardUnavailable):
        session.check()
    assert session.peek().notes == 1
    channel.broken = False
    until(lambda: channel.statuses("c-1") == ["received"])
    guard.close()


def test_a_session_that_begins_again_in_its_process_gets_no_message_twice(
    session: GuardedSession, channel: LocalChannel, guard: Guard
) -> None:
    """As an agent does that has a session for each of its turns, faster than its ack comes back."""
    channel.incoming.put(command("inject_message", 1, expires_at=FAR))
    until(lambda: session.peek().notes == 1)
    assert len(session.check()) == 1
    session.close()
    assert guard.session("s-1").check() == ()


class Hour:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000 * HOUR_MS

    def __call__(self) -> int:
        return self.now


def hold(clock: Hour, **fields: Any) -> Command:
    """Return a hold of everything for an hour, which the brokers have taken now."""
    now = clock()
    plain = {"issued_at": now, "expires_at": now + HOUR_MS, "written_at": now, "is_live": True}
    return command("pause", 1, scope="all", target="", **{**plain, **fields})


def test_a_session_that_begins_during_a_hold_is_held_to_its_end_and_no_longer(channel: LocalChannel) -> None:
    clock = Hour()
    guard = Guard(lambda: channel, clock=clock, start_wait=SECONDS)
    first = guard.session("s-1")
    channel.incoming.put(hold(clock))
    until(lambda: first.peek().level == "paused")
    clock.now += HOUR_MS // 2
    second = guard.session("s-2")
    assert second.hold().level == "paused"
    clock.now += HOUR_MS // 2
    assert [each.hold().level for each in (first, second)] == ["running", "running"]
    until(lambda: channel.statuses("c-1").count("received") == 2)
    guard.close()
    assert {ack["detail"] for ack in channel.acks if ack["status"] == "received"} == {None}


def test_a_session_goes_by_the_brokers_clock_as_those_before_it_did(channel: LocalChannel) -> None:
    """The clock of this machine is two hours ahead: by it, the hold was over when it came."""
    clock = Hour()
    guard = Guard(lambda: channel, clock=clock, start_wait=SECONDS)
    first = guard.session("s-1")
    channel.incoming.put(hold(clock, expires_at=clock() - HOUR_MS, written_at=clock() - 2 * HOUR_MS))
    until(lambda: first.peek().level == "paused")
    second = guard.session("s-2")
    assert second.hold().level == "paused"
    clock.now += HOUR_MS
    assert second.hold().level == "running"
    guard.close()


def test_a_process_that_stood_still_obeys_nothing_that_is_over(channel: LocalChannel) -> None:
    """What came meanwhile is old, and its clock is right."""
    clock = Hour()
    guard = Guard(lambda: channel, clock=clock, start_wait=SECONDS)
    session = guard.session("s-1")
    session.check()
    pause = hold(clock)
    clock.now += 2 * HOUR_MS
    channel.incoming.put(pause)
    until(lambda: session.hold().level == "running" and "expired" in channel.statuses("c-1"))
    guard.close()


def test_what_an_agent_sets_can_be_sent_whatever_it_is(guard: Guard, channel: LocalChannel) -> None:
    session = guard.session("s-\ud800")
    session.checkpoint, session.last_event_id = object(), "e" * 2_000_000  # type: ignore[assignment]
    session.check()
    until(lambda: len(channel.acks) == 1)
    assert len(json.dumps(channel.acks[0]).encode()) < 64 << 10
    assert channel.acks[0]["session_id"].encode() == b"s-?"


def test_a_guard_that_ends_says_how_much_did_not_reach_operators(
    session: GuardedSession, channel: LocalChannel, guard: Guard, caplog: pytest.LogCaptureFixture
) -> None:
    channel.broken = True
    until(lambda: guard._channel is None)
    session.close()
    guard.close()
    until(lambda: not guard._thread.is_alive())
    assert "1 acknowledgements did not reach operators" in caplog.text


def test_a_coroutine_of_a_loop_that_was_closed_keeps_no_command_from_others(
    session: GuardedSession, channel: LocalChannel
) -> None:
    channel.incoming.put(command("pause", 1, expires_at=FAR))
    until(lambda: session.peek().level == "paused")
    loop = asyncio.new_event_loop()
    waiting = session.acheck()
    task = loop.create_task(waiting)
    while not session._wakers:
        loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    session._wake()
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    waiting.close()


@pytest.mark.parametrize("most", [2, 5])
def test_where_there_is_no_room_the_oldest_acks_are_left_out_and_the_log_says_so(
    most: int, caplog: pytest.LogCaptureFixture
) -> None:
    outgoing = Outgoing(most)
    for number in range(1, 4):
        outgoing.put({"id": number})
    outgoing.put_back([{"id": -1}, {"id": 0}])
    assert [ack["id"] for ack in outgoing.take(9)] == [-1, 0, 1, 2, 3][-most:]
    assert ("left out" in caplog.text) == (most < 5)


def test_a_check_with_nothing_to_do_allocates_nothing(session: GuardedSession) -> None:
    until(lambda: session.check() == () and session._quiet)
    check = session.check
    check()
    tracemalloc.start()
    try:
        before = tracemalloc.take_snapshot()
        for _ in range(1_000):
            check()
        after = tracemalloc.take_snapshot()
    finally:
        tracemalloc.stop()
    here = tracemalloc.Filter(inclusive=True, filename_pattern="*/guard/session.py")
    grown = after.filter_traces([here]).compare_to(before.filter_traces([here]), "lineno")
    assert sum(each.count_diff for each in grown) == 0


def test_operators_learn_that_a_session_has_ended(guard: Guard, channel: LocalChannel) -> None:
    with guard.session("s-2") as session:
        session.check()
    until(lambda: [ack["status"] for ack in channel.acks] == ["attached", "detached"])


def test_a_child_of_a_fork_has_a_guard_of_its_own(session: GuardedSession, guard: Guard) -> None:
    first = guard.guard_id
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            is_ours = guard.guard_id != first and guard._thread.is_alive() and session.check() == ()
            os.write(write, b"1" if is_ours else b"0")
        finally:
            os._exit(0)
    os.close(write)
    assert os.waitpid(pid, 0)[1] == 0
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == b"1"


def test_nothing_but_open_and_closed_is_possible() -> None:
    with pytest.raises(ValueError, match='"open" or "closed"'):
        Guard(LocalChannel, on_lost="maybe")


def test_an_agent_that_keeps_a_checkpoint_holds_without_waiting(
    session: GuardedSession, channel: LocalChannel
) -> None:
    channel.incoming.put(command("inject_message", 1, expires_at=FAR))
    channel.incoming.put(command("pause", 2, expires_at=FAR))
    until(lambda: session.peek().level == "paused")
    assert session.hold("checkpoint-7").level == "paused"
    until(lambda: channel.statuses("c-2") == ["received", "applied"])
    assert channel.acks[-1]["checkpoint"] == "checkpoint-7"
    channel.incoming.put(command("resume", 3, expires_at=FAR))
    assert [note.text for note in session.check()] == ["think of something else"]


def test_a_guard_that_comes_back_under_its_name_does_not_report_that_it_leaves(channel: LocalChannel) -> None:
    for _ in range(2):
        guard = Guard(lambda: channel, guard_id="hook", start_wait=SECONDS)
        guard.session("s-1").check()
        guard.close()
    assert {(ack["guard_id"], ack["status"]) for ack in channel.acks} == {("hook/s-1", "attached")}


class BreakingChannel(LocalChannel):
    """A channel that takes some acks and then breaks, before all is known, as consoles do that are killed."""

    def __init__(self, takes: int) -> None:
        super().__init__()
        self.is_current = False
        self.takes = takes

    def send(self, acks: Sequence[Mapping[str, Any]]) -> None:
        if not self.takes:
            raise OSError("the console was killed")
        self.takes -= 1
        super().send(acks)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return how long a guard was to wait after each failure; it does not."""
    found: list[float] = []

    class Impatient(Retry):
        def __init__(self) -> None:
            super().__init__(lambda: 1.0)

        def failed(self) -> float:
            found.append(super().failed())
            return 0.0

    monkeypatch.setattr(guard_module, "Retry", Impatient)
    return found


def cut_off_guard(sessions: int, *channels: LocalChannel) -> Guard:
    """Return a guard of so many sessions that gets through one channel after another, once all have begun."""
    waiting, all_begun = iter(channels), threading.Event()

    def opened() -> LocalChannel:
        all_begun.wait(SECONDS)
        return next(waiting)

    guard = Guard(opened, start_wait=SECONDS)
    for number in range(sessions):
        guard.session(f"s-{number}").hold()
    all_begun.set()
    return guard


def test_a_guard_whose_acks_are_taken_does_not_wait_longer_each_time_it_is_cut_off(
    waits: list[float],
) -> None:
    """A console that is killed again and again: commands must not come later and later."""
    last = LocalChannel()
    guard = cut_off_guard(6 * MOST_ACKS, *(BreakingChannel(takes=1) for _ in range(5)), last)
    until(lambda: len(last.acks) == MOST_ACKS)
    guard.close()
    assert waits == [0.5] * 5


def test_a_guard_that_gets_nowhere_waits_longer_each_time(waits: list[float]) -> None:
    last = LocalChannel()
    guard = cut_off_guard(1, *(BreakingChannel(takes=0) for _ in range(5)), last)
    until(lambda: last.acks != [])
    guard.close()
    assert waits == [0.5, 1.0, 2.0, 4.0, 5.0]


def test_acks_that_were_taken_are_not_sent_again_if_the_next_are_not(waits: list[float]) -> None:
    first, last = BreakingChannel(takes=1), LocalChannel()
    guard = cut_off_guard(MOST_ACKS + 1, first, last)
    until(lambda: last.acks != [])
    guard.close()
    assert len(waits) == 1
    attached = [ack["session_id"] for ack in (*first.acks, *last.acks) if ack["status"] == "attached"]
    assert attached == [f"s-{number}" for number in range(MOST_ACKS + 1)]


def test_a_guard_that_was_closed_does_not_begin_again_in_a_child(guard: Guard) -> None:
    guard.close()
    before = guard._thread
    guard._begin_in_child()
    assert guard._thread is before
    assert not before.is_alive()
