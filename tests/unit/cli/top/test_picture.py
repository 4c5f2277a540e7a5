"""What there is to show of what agents did."""

from typing import Any

from streams.cli.top.picture import (
    MOST_ROWS,
    MOST_SESSIONS,
    MOST_STEPS,
    NewestSteps,
    Picture,
    ReadingProgress,
    picture,
    row_of,
)
from streams.core.domain.level import Level
from tests.unit.console.agents import HOUR_MS, Board
from tests.unit.console.told import MINUTE_MS

READING = ReadingProgress("here", 0)
WARNINGS = {"episode_min_level": "WARNING"}


def of(board: Board, within_ms: int = HOUR_MS) -> Picture:
    return picture(board.model, READING, board.now, within_ms)


def test_a_loop_comes_up_and_goes_when_the_session_recovers() -> None:
    board = Board()
    board.work("s", 3)
    assert (of(board).rows, of(board).loop, of(board).live) == ((), 0, 1)
    board.loop("s", 4)
    assert (of(board).ids, of(board).loop) == (["s"], 1)
    board.work("s", 12)
    assert (of(board).ids, of(board).loop) == ([], 0)
    row = row_of(board.model, "s", board.now)
    assert row is not None
    assert row["level"] is None
    assert row_of(board.model, "another", board.now) is None


def test_the_worst_is_first_and_what_is_paused_last() -> None:
    board = Board(**WARNINGS)
    board.loop("small", 5)
    board.loop("large", 9)
    board.loop("early", 3)
    board.loop("paused", 20)
    pause = board.take(board.topics.command("pause", "paused", board.now))
    for status in ("received", "applied"):
        board.take(board.topics.ack(status, pause, "paused", board.now))
    board.now += 1_000
    found = of(board)
    assert found.ids == ["large", "small", "early", "paused"]
    assert (found.loop, found.may_loop, found.other, found.handled) == (2, 1, 0, 1)
    assert found.rows[-1]["control"]["label"] == "paused 0:01"
    # What is paused costs nothing any more.
    assert found.tokens == sum(row["tokens"] for row in found.rows[:2])


def test_records_and_tokens_count_up_to_the_newest_record_not_to_the_newest_alert() -> None:
    board = Board()
    board.loop("s", 6)
    (before,) = of(board).rows
    board.loop("s", 3)
    (after,) = of(board).rows
    assert after["records"] == before["records"] + 3
    assert after["tokens"] == before["tokens"] + 3 * 500
    assert after["newest"] == board.now


def test_a_session_that_is_silent_for_long_is_counted_and_left_out() -> None:
    board = Board()
    board.loop("s", 6)
    board.now += 15 * MINUTE_MS
    found = of(board, within_ms=15 * MINUTE_MS)
    assert (found.ids, found.silent, found.loop) == ([], 1, 0)
    assert of(board).ids == ["s"]


def test_all_are_counted_and_the_worst_are_listed() -> None:
    board = Board()
    for number in range(MOST_ROWS + 5):
        board.loop(f"s-{number}", 4)
    found = of(board)
    assert (len(found.rows), found.loop) == (MOST_ROWS, MOST_ROWS + 5)


def test_before_anything_is_read_no_number_of_sessions_is_given() -> None:
    board = Board()
    found = picture(board.model, ReadingProgress("here"), board.now, HOUR_MS)
    assert (found.live, found.empty) == (None, "Reading ...")


def test_machines_get_everything() -> None:
    board = Board()
    board.loop("s", 6)
    document = of(board).document()
    assert (document["source"], document["behind"], document["loop"]) == ("here", 0, 1)
    assert document["rows"][0]["level"] == Level.LOOP


def step(session: str, number: int = 0, **more: Any) -> dict[str, Any]:
    return {"session_id": session, "number": number, **more}


def test_of_a_session_the_newest_are_kept() -> None:
    steps = NewestSteps()
    for number in range(MOST_STEPS + 3):
        steps.add(step("s", number))
    assert [each["number"] for each in steps.of("s")] == list(range(3, MOST_STEPS + 3))


def test_of_many_sessions_those_with_the_newest_records_are_kept() -> None:
    steps = NewestSteps()
    for number in range(MOST_SESSIONS):
        steps.add(step(f"s-{number}"))
    steps.add(step("s-0", 1))
    steps.add(step("new"))
    assert [each["number"] for each in steps.of("s-0")] == [0, 1]
    assert steps.of("s-1") == []
    assert steps.of("s-2") != []


def test_half_a_surrogate_pair_and_a_long_integer_come_back() -> None:
    steps = NewestSteps()
    steps.add(step("s\ud83d", 2**70))
    (found,) = steps.of("s\ud83d")
    assert (found["session_id"], found["number"]) == ("s\ud83d", 2**70)
