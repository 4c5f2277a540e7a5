"""Acknowledging lasts until it gets worse; snoozing until its end."""

import pytest

from streams.console.read_model.place import NOWHERE
from streams.console.read_model.triage import EpisodeSeen, standing
from tests.stream import START_MS
from tests.unit.console.agents import MINUTE_MS, Board

#: The first record of a board is at 22:13 UTC.
CLOCK = "22:13"


def looping(**settings: object) -> Board:
    board = Board(**settings)
    board.loop("s", 6)
    assert board.now - START_MS < MINUTE_MS // 2
    return board


def decide(board: Board, do: str, session: str = "s", **more: float | str) -> None:
    row = board.row(session)
    assert row is not None
    episode = board.model.episode(row["episode_id"])
    board.take(board.topics.triage(do, row["subject"], board.now, EpisodeSeen.of(episode), **more))


def triage(board: Board, seconds: float = 0) -> dict[str, object]:
    row = board.row("s", seconds)
    assert row is not None
    return {**row["triage"], "tab": row["tab"]}


def test_an_acknowledged_loop_is_handled_and_says_by_whom() -> None:
    board = looping()
    decide(board, "ack")
    found = triage(board, 30)
    assert (found["tab"], found["state"], found["by"]) == ("handled", "acknowledged", "ana")
    assert found["at"] == board.now - 30_000


def test_it_returns_when_its_waste_has_doubled() -> None:
    board = looping()
    decide(board, "ack")
    spent = board.inbox(state="handled").rows[0]["tokens"]
    while (row := board.row("s")) is not None and row["tokens"] < 2 * spent:
        assert row["tab"] == "handled"
        board.loop("s", 1)
    assert triage(board)["tab"] == "needs_you"
    assert triage(board)["returned"] == f"acknowledged by ana at {CLOCK}, waste doubled"


def test_it_returns_when_the_episode_escalates() -> None:
    board = Board(episode_min_level="WARNING")
    board.loop("s", 3)
    decide(board, "ack")
    assert triage(board)["tab"] == "handled"
    board.loop("s", 1)
    assert triage(board)["returned"] == f"acknowledged by ana at {CLOCK}, escalated"


def test_it_returns_when_the_episode_is_reopened() -> None:
    board = looping(verdict_rules=["R1"])
    decide(board, "ack")
    board.work("s", 5)
    board.loop("s", 4)
    found = triage(board)
    assert (found["tab"], found["returned"]) == ("needs_you", f"acknowledged by ana at {CLOCK}, reopened")


def test_it_returns_when_the_session_goes_on_after_a_later_pause() -> None:
    board = looping()
    decide(board, "ack")
    board.take(board.topics.ack("attached", None, "s", board.now))
    pause = board.take(board.topics.command("pause", "s", board.now + 10))
    board.take(board.topics.ack("applied", pause, "s", board.now + 20))
    assert triage(board)["tab"] == "handled"
    board.loop("s", 1, seconds=6)
    assert triage(board)["returned"] == f"acknowledged by ana at {CLOCK}, goes on after pause"


def test_taking_the_acknowledgement_back_opens_it() -> None:
    board = looping()
    decide(board, "ack")
    decide(board, "unack")
    assert triage(board)["tab"] == "needs_you"


@pytest.mark.parametrize("minutes", [15, 60])
def test_a_snooze_ends_at_its_time(minutes: int) -> None:
    board = looping()
    decide(board, "snooze", until=board.now + minutes * MINUTE_MS)
    assert triage(board, minutes * 60 - 1)["state"] == "snoozed"
    found = triage(board, 1)
    assert found["tab"] == "needs_you"
    assert str(found["returned"]).startswith(f"snoozed by ana at {CLOCK}, until ")


def test_a_snooze_until_tokens_ends_with_them() -> None:
    board = looping()
    decide(board, "snooze", until_tokens=5_000)
    assert triage(board)["tab"] == "handled"
    board.loop("s", 12)
    assert triage(board)["returned"] == f"snoozed by ana at {CLOCK}, until 5,000 tokens"


def test_a_snooze_until_recovered_lasts_while_the_episode_is_open_and_ends_when_it_is_reopened() -> None:
    board = looping(verdict_rules=["R1"])
    decide(board, "snooze")
    board.loop("s", 60)
    assert triage(board, 10_000)["tab"] == "handled"
    board.work("s", 6)
    board.loop("s", 6)
    assert triage(board)["returned"] == f"snoozed by ana at {CLOCK} until recovered, reopened"


def test_assignee_and_note_are_kept_beside_the_state() -> None:
    board = looping()
    decide(board, "assign", assignee="ben")
    decide(board, "ack")
    decide(board, "note", note="asked the team")
    found = triage(board)
    assert (found["assignee"], found["note"], found["state"]) == ("ben", "asked the team", "acknowledged")
    decide(board, "assign", assignee="")
    assert triage(board)["assignee"] is None


def test_a_session_without_an_episode_is_acknowledged_by_its_own_name() -> None:
    board = Board(initial_tokens=2_000)
    board.work("s", 5)
    row = board.row("s")
    assert row is not None
    assert (row["episode_id"], row["subject"]) == (None, "session/s")
    decide(board, "ack")
    assert triage(board)["tab"] == "handled"


def test_an_action_that_was_refused_decides_nothing() -> None:
    board = looping()
    row = board.row("s")
    assert row is not None
    told = board.topics.triage("ack", row["subject"], board.now)
    assert told.fields is not None
    board.take(told._replace(fields={**told.fields, "result": "refused"}))
    assert triage(board)["tab"] == "needs_you"


def test_decisions_that_come_before_their_episode_hold_when_it_comes() -> None:
    early, late = looping(), Board()
    decide(early, "ack")
    row = early.row("s")
    assert row is not None
    episode = early.model.cases["s"].episodes[row["episode_id"]]
    late.take(late.topics.triage("ack", row["subject"], early.now, EpisodeSeen.of(episode)))
    late.loop("s", 6)
    assert triage(late)["tab"] == "handled"


def test_one_that_is_not_a_loop_is_handled_for_good() -> None:
    board = Board(episode_min_level="WARNING")
    board.loop("s", 3)
    decide(board, "not_a_loop")
    found = triage(board)
    assert (found["tab"], found["state"], found["by"]) == ("handled", "not a loop", "ana")
    board.loop("s", 30)  # escalates, and costs ten times as much
    assert (triage(board)["tab"], triage(board)["returned"]) == ("handled", None)
    assert [row["session_id"] for row in board.inbox(q="is:wrong", state="handled").rows] == ["s"]


def test_one_that_is_not_a_loop_returns_only_if_it_disobeys_a_pause() -> None:
    board = looping()
    decide(board, "not_a_loop")
    [said] = board.model.ledger.triage.values()
    assert said.at is not None
    found = standing(said, EpisodeSeen(), NOWHERE, board.now, None, said.at + 1)
    assert found.state == "not a loop"
    found = standing(said, EpisodeSeen(), NOWHERE, board.now, said.at + 1)
    assert found == ("open", f"not a loop by ana at {CLOCK}, goes on after pause")


def test_that_it_is_not_a_loop_can_be_taken_back() -> None:
    board = looping()
    decide(board, "not_a_loop")
    decide(board, "unack")
    assert triage(board)["tab"] == "needs_you"


def test_that_it_is_a_loop_changes_nothing_else() -> None:
    board = looping()
    decide(board, "ack")
    decide(board, "loop")
    assert triage(board)["state"] == "acknowledged"
