"""What a pause came to: asked, received, in effect; and whether the agent's own records agree."""

import pytest
from eddy_client.protocol import standing

from tests.unit.console.agents import Board
from tests.unit.console.told import MINUTE_MS, Told


def guarded(*guards: str) -> Board:
    """Return a board with a looping session under these guards."""
    board = Board()
    board.loop("s", 5)
    for guard in guards:
        board.take(board.topics.ack("attached", None, "s", board.now, guard))
    return board


def pause(board: Board, **more: object) -> Told:
    return board.take(board.topics.command("pause", "s", board.now, **more))


def label(board: Board, seconds: float = 0) -> str:
    board.now += int(seconds * 1000)
    return board.model.control("s", board.now).label(board.now)


def say(board: Board, status: str, command: Told, guard: str = "g-1") -> None:
    board.take(board.topics.ack(status, command, "s", board.now, guard))


def test_without_a_guard_of_the_last_ten_minutes_a_pause_cannot_reach_it() -> None:
    assert label(guarded()) == "no guard"
    board = guarded("g-1")
    assert label(board, 599) == ""
    assert label(board, 1) == "no guard"


def test_a_guard_that_left_is_none() -> None:
    board = guarded("g-1")
    board.now += 1
    board.take(board.topics.ack("detached", None, "s", board.now))
    assert label(board) == "no guard"


def test_a_pause_is_asked_received_in_effect_and_released() -> None:
    board = guarded("g-1")
    command = pause(board)
    assert label(board, 3) == "pause asked 3 s"
    say(board, "received", command)
    assert label(board, 2) == "pause received 2 s"
    say(board, "applied", command)
    assert label(board, 131) == "paused 2:11"
    resume = board.take(board.topics.command("resume", "s", board.now))
    assert label(board, 3) == "resume asked 3 s"
    say(board, "released", command)
    say(board, "applied", resume)
    assert label(board) == "resumed"
    assert label(board, 601) == "no guard", (
        "what is over is shown for ten minutes; so long the guard is silent"
    )


def test_nobody_answers() -> None:
    board = guarded("g-1")
    pause(board)
    assert label(board, 9) == "pause asked 9 s"
    assert label(board, 1) == "no guard answered"


def test_of_several_guards_each_counts() -> None:
    board = guarded("g-1", "g-2", "g-3")
    command = pause(board)
    say(board, "applied", command, "g-1")
    say(board, "applied", command, "g-2")
    assert label(board) == "3 guards: 2 paused, 1 silent"
    say(board, "applied", command, "g-3")
    assert label(board, 5) == "paused 0:05"


def test_records_later_than_five_seconds_after_it_took_effect_show_that_the_agent_continues() -> None:
    board = guarded("g-1")
    say(board, "applied", pause(board))
    board.loop("s", 1, seconds=5)
    assert label(board) == "paused 0:05"
    board.loop("s", 4, seconds=1)
    assert label(board) == "goes on after pause: 4 records"


def test_a_record_that_is_read_late_but_dated_before_the_pause_does_not_count() -> None:
    board = guarded("g-1")
    late = list(board.done("s", 1, tool="search"))
    board.now += 30_000
    say(board, "applied", pause(board))
    for told in late:
        stored = told.stored._replace(timestamp=board.now + 60_000)
        board.take(told._replace(stored=stored))
    assert label(board, 60) == "paused 1:00"


def test_a_pause_ends_by_itself_when_it_expires() -> None:
    board = guarded("g-1")
    say(board, "applied", pause(board))
    assert label(board, 15 * 60 - 1) == "paused 14:59"
    assert label(board, 1) == "pause expired"


def test_a_pause_that_shall_end_in_an_abort_does() -> None:
    board = guarded("g-1")
    say(board, "applied", pause(board, on_timeout="abort"))
    assert label(board, 15 * 60) == "aborted"


def test_after_an_abort_nothing_else_counts() -> None:
    board = guarded("g-1")
    abort = board.take(board.topics.command("abort", "s", board.now))
    say(board, "applied", abort)
    board.take(board.topics.command("resume", "s", board.now + 5))
    assert label(board) == "aborted"
    board.loop("s", 2, seconds=4)
    assert label(board) == "goes on after abort: 1 record"


def test_the_newest_level_counts_however_commands_come() -> None:
    board = guarded("g-1")
    first, resume, second = (
        board.topics.command(action, "s", board.now + number)
        for number, action in enumerate(("pause", "resume", "pause"))
    )
    for command in (second, first, resume):
        board.take(command)
    assert board.model.control("s", board.now).command_id == (second.fields or {})["command_id"]


@pytest.mark.parametrize("status", ["rejected", "unsupported", "failed"])
def test_a_guard_may_refuse(status: str) -> None:
    board = guarded("g-1")
    say(board, status, pause(board))
    assert label(board) == "pause refused"


def test_a_hold_of_everything_pauses_sessions_that_have_no_command_of_their_own() -> None:
    board = guarded("g-1")
    board.work("other", 3)
    hold = board.take(board.topics.command("pause", None, board.now))
    assert label(board, 1) == "pause asked 1 s"
    say(board, "applied", hold)
    assert label(board, 2) == "paused 0:02"
    assert board.row("s") is not None
    [found] = board.model.holds_in_force(board.now)
    assert (found.scope, found.by, found.holding, found.guards) == ("all", "ana", 1, 1)
    assert found.why == "the same search five times"
    board.take(board.topics.command("resume", None, board.now))
    assert board.model.holds_in_force(board.now) == []


def test_a_hold_of_an_agent_reaches_its_sessions_only_and_ends_when_it_expires() -> None:
    board = guarded("g-1")
    board.work("other", 3)
    board.act("elsewhere", agent="agent-2")
    board.take(board.topics.ack("attached", None, "other", board.now))
    board.take(board.topics.command("pause", None, board.now, scope="agent", agent_id="agent-1"))
    states = {
        session: board.model.control(session, board.now).state for session in ("s", "other", "elsewhere")
    }
    assert states == {"s": "asked", "other": "asked", "elsewhere": "none"}
    [found] = board.model.holds_in_force(board.now)
    assert (found.agent_id, found.holding, found.guards) == ("agent-1", 0, 2)
    assert board.model.holds_in_force(board.now + 15 * 60_000) == []


def test_a_pause_that_was_resumed_is_not_handed_to_guards_without_what_resumed_it() -> None:
    """A resume counts for minutes, the pause before it perhaps for a day: guards begin after that, too."""
    board = guarded("g-1")
    for action, hours in (("resume", 0), ("pause", 0), ("pause", 24), ("inject_message", 0), ("resume", 0)):
        board.now += 1_000
        ends = board.now + hours * 60 * MINUTE_MS + MINUTE_MS
        board.take(board.topics.command(action, "s", board.now, expires_at=ends))
    rows = board.model.cases["s"].commands.values()
    assert len(standing(rows, board.now)) == 5
    handed = standing(rows, board.now + MINUTE_MS)
    assert [row.action for row in handed] == ["pause", "resume"]
    assert handed[0].expires_at - handed[0].issued_at > 60 * MINUTE_MS
    assert standing(rows, board.now + 25 * 60 * MINUTE_MS) == []
