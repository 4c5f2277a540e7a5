"""Which sessions need an operator, and how badly, in the words of the specification."""

import pytest

from streams.console.inbox import Query, page
from streams.core.conclusion import overspending_event
from streams.core.domain.aggregates.task_profile import Outlay, TaskNeeds, TaskProfile
from streams.core.domain.topic import Topic
from streams.core.pipeline import expire
from tests.unit.console.agents import HOUR_MS, Board
from tests.unit.console.told import MINUTE_MS, folded, published

#: Every episode is published, also one that only may become a loop.
WARNINGS = {"episode_min_level": "WARNING"}
#: A little drift leads to each level.
DRIFTS = {"nudge_threshold": 0.01, "replan_threshold": 0.02, "checkpoint_threshold": 0.03}
STUCK = {"tokens_consumed": 500, "progress_delta": 0}


def of(board: Board, session: str, seconds: float = 0) -> tuple[str, str] | None:
    row = board.row(session, seconds)
    return None if row is None else (row["class"], row["tab"])


def test_a_session_that_gets_on_has_no_row() -> None:
    board = Board()
    board.work("s", 30)
    assert board.row("s") is None


def test_a_loop_with_a_record_within_five_minutes_is_critical_and_one_that_is_silent_is_high() -> None:
    board = Board()
    board.loop("s")
    assert of(board, "s") == ("critical", "needs_you")
    assert of(board, "s", seconds=299) == ("critical", "needs_you")
    assert of(board, "s", seconds=1) == ("high", "needs_you")
    board.loop("s", steps=1)
    assert of(board, "s") == ("critical", "needs_you")


def test_a_session_that_goes_on_after_a_pause_is_critical_whatever_else() -> None:
    board = Board()
    board.work("s", 3)
    board.take(board.topics.ack("attached", None, "s", board.now))
    pause = board.take(board.topics.command("pause", "s", board.now))
    board.take(board.topics.ack("applied", pause, "s", board.now))
    assert of(board, "s") is None
    board.work("s", 3, seconds=3)
    row = board.row("s")
    assert row is not None
    assert (row["class"], row["tab"]) == ("critical", "needs_you")
    assert row["control"]["label"] == row["what"] == "goes on after pause: 2 records"


def test_a_session_that_should_ask_its_user_is_high() -> None:
    board = Board(**DRIFTS, stop_threshold=0.04, verdict_enabled=False)
    for _ in range(8):
        board.act("s", tool=None, state_delta=STUCK)
    row = board.row("s")
    assert row is not None
    assert (row["drift"], row["class"], row["tab"]) == ("ASK_USER", "high", "needs_you")
    assert "Ask the user for help" in row["what"]


def test_a_budget_that_is_used_up_and_was_not_extended_is_high() -> None:
    board = Board(initial_tokens=2_000)
    board.work("s", 5)
    row = board.row("s")
    assert row is not None
    assert (row["class"], row["budget"]["exhausted"]) == ("high", True)
    assert row["what"] == "the budget is used up, and was not extended"


def test_a_budget_that_nobody_set_is_no_limit() -> None:
    board = Board()
    board.work("s", 250)
    assert board.row("s") is None
    session = board.model.cases["s"].session
    assert session.tokens == 250 * 500
    assert set((session.budget or {}).values()) == {None, False}
    board.loop("s", 12)
    board.act("s", terminal=True)
    row = board.row("s")
    assert row is not None
    assert row["ending"] == "ended in the loop"


def test_a_session_that_ends_with_its_budget_used_up_needs_nobody() -> None:
    board = Board(initial_tokens=2_000)
    board.work("s", 5)
    assert board.row("s") is not None
    board.act("s", terminal=True, status="success")
    assert board.model.cases["s"].session.ended
    assert board.row("s") is None


def test_a_session_that_asks_for_a_person_is_high() -> None:
    board = Board()
    board.work("s", 3)
    board.act("s", status="success", control={"hitl_required": True})
    row = board.row("s")
    assert row is not None
    assert (row["class"], row["what"]) == ("high", "the agent asks for a person")


def test_an_episode_at_warning_is_medium() -> None:
    board = Board(**WARNINGS)
    board.loop("s", 3)
    row = board.row("s")
    assert row is not None
    assert (row["level"], row["class"], row["tab"]) == ("WARNING", "medium", "watching")


def test_an_entropy_alert_is_medium_while_the_verdict_is_normal_and_ends_with_the_repetition() -> None:
    board = Board()
    board.work("s", 2)
    for number in range(8):
        board.act("s", status="success", tool="search", tool_input=f'{{"q": "{number * 97}"}}')
    row = board.row("s")
    assert row is not None
    assert (row["class"], row["rule"], row["level"]) == ("medium", "A1", None)
    assert "of the last 5 steps are the same" in row["what"]
    board.work("s", 6)
    row = board.row("s")
    assert row is None or row["rule"] != "A1"


def test_a_session_that_should_return_to_a_checkpoint_is_medium() -> None:
    board = Board(**DRIFTS, stop_threshold=1.0)
    for number in range(8):
        board.act("s", intent=f"step {number}", tool=f"tool_{number}", status="success", state_delta=STUCK)
    row = board.row("s")
    assert row is not None
    assert (row["drift"], row["class"], row["tab"]) == ("CHECKPOINT_RESET", "medium", "watching")


@pytest.mark.parametrize("kind", ["divergence_suspected", "drift_pattern"])
def test_a_suspicion_alone_is_low_and_stands_for_an_hour(kind: str) -> None:
    board = Board(alert_families=[kind])
    if kind == "divergence_suspected":
        for number in range(3):
            board.act("s", status="success", tool="read", intent=f"read {number}", target=f"{number}.py")
    else:
        for number in range(4):
            board.act("s", tool="read_file", status="success", intent=f"look {number}", target="same.py")
            board.work("s", 1)
    assert of(board, "s") == ("low", "watching")
    for _ in range(6):
        board.work("s", 1, seconds=600)
    assert of(board, "s") is None


def test_what_needs_nobody_any_more_leaves_the_inbox_when_the_session_is_silent() -> None:
    board = Board()
    for number in range(3):
        board.act("s", status="success", tool="read", intent=f"read {number}", target=f"{number}.py")
    assert of(board, "s", seconds=15 * 60 - 1) == ("low", "watching")
    assert of(board, "s", seconds=1) is None


def test_an_episode_that_is_over_is_recovered_for_a_day() -> None:
    board = Board()
    board.work("s", 5)
    board.loop("s", 5)
    board.work("s", 12)
    board.work("s", 12, seconds=600)
    row = board.row("s")
    assert row is not None
    assert (row["class"], row["tab"], row["phase"]) == ("recovered", "recovered", "recovered")
    assert of(board, "s", seconds=21 * 3600) is not None
    assert of(board, "s", seconds=2 * 3600) is None


def test_a_session_has_one_row_however_many_alerts_it_has() -> None:
    board = Board()
    board.loop("s", 30)
    rows = board.inbox().rows
    assert [row["session_id"] for row in rows] == ["s"]
    assert rows[0]["others"] == 2, "the entropy alerts, which are one, and the repeats"
    assert rows[0]["tokens"] > 10_000


def test_the_row_of_a_stuck_session_says_why() -> None:
    told = [each for each in published() if each.stored.key == b"explain-billing-config-d4c2"]
    [escalated] = [each for each in told if (each.fields or {}).get("phase") == "escalated"]
    model = folded(told[: told.index(escalated) + 1])
    [row] = page(model, Query(), escalated.stored.timestamp).rows
    assert row["rule"] == "R7"
    why = "2 times the same step again, once back to an earlier step, no new result in 3 steps"
    assert row["what"] == f"stuck: {why} (R7)"
    assert f": {why} (R7)" in row["sentence"]
    again = folded([])
    again.restore(list(model.rows()))
    assert page(again, Query(), escalated.stored.timestamp).rows[0]["what"] == row["what"]


def test_the_row_is_about_the_newest_open_episode() -> None:
    board = Board()
    board.loop("s", 5)
    board.work("s", 12)
    for _ in range(6):
        board.act("s", tool="browse", tool_input="{}", error="forbidden")
    row = board.row("s")
    assert row is not None
    assert (row["class"], row["tools"]) == ("critical", ["browse"])
    assert row["others"] >= 1


def test_a_session_whose_pause_is_in_effect_is_handled() -> None:
    board = Board()
    board.loop("s")
    board.take(board.topics.ack("attached", None, "s", board.now))
    pause = board.take(board.topics.command("pause", "s", board.now))
    assert of(board, "s") == ("critical", "needs_you")
    board.take(board.topics.ack("applied", pause, "s", board.now))
    assert of(board, "s", seconds=60) == ("critical", "handled")
    row = board.row("s")
    assert row is not None
    assert (row["node"], row["control"]["label"]) == ("paused", "paused 1:00")
    assert of(board, "s", seconds=HOUR_MS // 1000) == ("high", "needs_you"), "the pause has expired"
    assert pause.stored.timestamp < board.now - 15 * MINUTE_MS


def test_a_session_that_ended_in_its_loop_needs_somebody_until_it_is_acknowledged() -> None:
    board = Board()
    board.loop("s")
    board.act("s", terminal=True)
    row = board.row("s", seconds=3 * 24 * 3600)
    assert row is not None
    assert (row["class"], row["tab"], row["ending"]) == ("high", "needs_you", "ended in the loop")
    assert row["ended"] is True
    assert row["what"].startswith("ended in the loop: ")
    board.triage("ack", row["subject"])
    assert of(board, "s") is None, "it was acknowledged, and is over since more than a day"


def test_one_that_is_acknowledged_stands_among_what_is_handled_for_a_day() -> None:
    board = Board()
    board.loop("s")
    board.act("s", terminal=True)
    row = board.row("s")
    assert row is not None
    board.triage("ack", row["subject"])
    assert of(board, "s") == ("ended", "handled")
    board.triage("unack", row["subject"])
    assert of(board, "s") == ("high", "needs_you")


def test_a_pause_that_was_over_does_not_hide_that_the_session_ended_in_its_loop() -> None:
    board = Board()
    board.loop("s")
    board.take(board.topics.ack("attached", None, "s", board.now))
    pause = board.take(board.topics.command("pause", "s", board.now))
    board.take(board.topics.ack("applied", pause, "s", board.now))
    assert of(board, "s", seconds=HOUR_MS // 1000) == ("high", "needs_you")
    board.loop("s", 3)
    board.act("s", terminal=True)
    row = board.row("s", seconds=60)
    assert row is not None
    assert (row["tab"], row["ending"]) == ("needs_you", "ended in the loop")


def test_a_session_that_a_person_aborted_needs_nobody() -> None:
    board = Board()
    board.loop("s")
    board.take(board.topics.ack("attached", None, "s", board.now))
    abort = board.take(board.topics.command("abort", "s", board.now))
    board.take(board.topics.ack("applied", abort, "s", board.now))
    board.act("s", terminal=True)
    row = board.row("s")
    assert row is not None
    assert (row["ending"], row["class"]) == ("aborted", "ended")
    assert row["tab"] != "recovered"


def test_a_session_that_ended_when_its_budget_was_used_up_says_so() -> None:
    board = Board(initial_tokens=2_000)
    board.loop("s", 12)
    board.act("s", terminal=True)
    row = board.row("s")
    assert row is not None
    assert (row["ending"], row["class"], row["tab"]) == ("budget used up", "ended", "ended")


def test_a_session_that_fell_silent_in_its_loop_has_not_recovered() -> None:
    board = Board()
    board.loop("s")
    board.expire("s")
    row = board.row("s")
    assert row is not None
    assert (row["ending"], row["class"], row["tab"]) == ("fell silent", "ended", "ended")


def test_a_session_that_begins_again_under_its_id_does_not_wait_for_somebody() -> None:
    board = Board()
    board.loop("s")
    board.act("s", terminal=True)
    board.work("s", 3)
    row = board.row("s")
    assert row is not None
    assert (row["tab"] == "needs_you", row["ended"]) == (False, False)


def test_a_session_that_has_ended_is_not_live_and_a_group_does_not_pause_it() -> None:
    board = Board()
    for session in ("s", "t"):
        board.loop(session)
    assert board.model.live(board.now) == 2
    board.act("s", terminal=True)
    board.now += 6_000
    assert board.model.live(board.now) == 1
    [group] = board.inbox(group="cause").groups or ()
    assert group["session_ids"] == ["t"]
    assert len(group["subjects"]) == 2


def paused(board: Board, minutes: int, **more: object) -> None:
    board.loop("s")
    board.take(board.topics.ack("attached", None, "s", board.now))
    ends = board.now + minutes * MINUTE_MS
    pause = board.take(board.topics.command("pause", "s", board.now, expires_at=ends, **more))
    board.take(board.topics.ack("applied", pause, "s", board.now))


def test_a_pause_that_ends_in_five_minutes_needs_somebody_and_the_row_says_when_it_ends() -> None:
    board = Board()
    paused(board, 30, on_timeout="resume")
    row = board.row("s", seconds=60)
    assert row is not None
    assert (row["tab"], row["control"]["ends_soon"]) == ("handled", False)
    assert (row["control"]["expires_at"], row["control"]["on_timeout"]) == (
        board.now + 29 * MINUTE_MS,
        "resume",
    )
    row = board.row("s", seconds=24 * 60)
    assert row is not None
    assert (row["tab"], row["control"]["ends_soon"]) == ("needs_you", True)


def test_a_pause_that_was_extended_needs_nobody() -> None:
    board = Board()
    paused(board, 30)
    assert of(board, "s", seconds=26 * 60) == ("high", "needs_you")
    longer = board.take(board.topics.command("pause", "s", board.now, expires_at=board.now + HOUR_MS))
    board.take(board.topics.ack("applied", longer, "s", board.now))
    assert of(board, "s", seconds=1) == ("high", "handled")


@pytest.mark.parametrize("by", ["its end", "an operator"])
def test_a_session_that_was_acknowledged_paused_and_loops_on_is_a_new_need(by: str) -> None:
    board = Board()
    paused(board, 30)
    row = board.row("s")
    assert row is not None
    board.triage("ack", row["subject"])
    if by == "an operator":
        resume = board.take(board.topics.command("resume", "s", board.now + 1_000))
        board.take(board.topics.ack("applied", resume, "s", board.now + 1_000))
        board.now += 20_000
    else:
        board.now += 31 * MINUTE_MS
    assert of(board, "s") is not None
    board.loop("s", 1)
    row = board.row("s")
    assert row is not None
    assert (row["class"], row["tab"]) == ("critical", "needs_you")
    assert row["triage"]["returned"].endswith("and loops on")


def test_a_session_that_is_silent_in_its_work_is_high_until_it_speaks_again() -> None:
    board = Board()
    board.work("s", 30)
    board.fall_silent("s")
    row = board.row("s")
    assert row is not None
    assert (row["class"], row["tab"]) == ("high", "needs_you")
    assert row["what"] == (
        "silent in the middle of its work: no step for 20 min 0 s, 95 of 100 come within 2 s"
    )
    assert of(board, "s", seconds=23 * 3600) == ("high", "needs_you")
    board.work("s", 1)
    assert board.row("s") is None


def test_a_session_that_is_paused_is_silent_for_that_reason() -> None:
    board = Board()
    board.work("s", 30)
    board.take(board.topics.ack("attached", None, "s", board.now))
    pause = board.take(board.topics.command("pause", "s", board.now))
    board.take(board.topics.ack("applied", pause, "s", board.now))
    board.fall_silent("s", minutes=1)
    row = board.row("s")
    assert row is None or "silent" not in row["what"]


def test_a_silent_session_that_was_acknowledged_is_handled() -> None:
    board = Board()
    board.work("s", 30)
    board.fall_silent("s")
    row = board.row("s")
    assert row is not None
    board.triage("ack", row["subject"])
    assert of(board, "s") == ("high", "handled")


def test_a_silent_session_that_expired_needs_nobody() -> None:
    board = Board()
    board.work("s", 30)
    board.fall_silent("s")
    for event in expire("s", board.stream.sessions["s"], board.stream.settings).events:
        if event.topic is not None:
            board.take(board.topics.told(event.topic, "s", dict(event.fields), board.now))
    assert board.row("s") is None


def test_that_a_looping_session_is_silent_makes_it_no_fresher() -> None:
    board = Board()
    board.loop("s", steps=30)
    assert of(board, "s", seconds=400) == ("high", "needs_you")
    board.fall_silent("s")
    row = board.row("s")
    assert row is not None
    assert (row["class"], row["last"]["at"]) == ("high", board.stream.sessions["s"].timestamp)


def spends(board: Board, tokens: int, cost: float) -> None:
    delta = {"tokens_consumed": tokens, "cumulative_session_cost": cost}
    board.work("s", 1, state_delta=delta)


def test_a_session_that_overspends_is_high_until_it_does_not() -> None:
    board = Board()
    board.stream.set(spend_tokens_per_minute=1_000, spend_cost=5.0)
    spends(board, 6_000, 1.0)
    row = board.row("s")
    assert row is not None
    assert (row["class"], row["tab"], row["what"]) == (
        "high",
        "needs_you",
        "uses 1,200 tokens a minute, its limit is 1,000",
    )
    spends(board, 0, 6.0)
    row = board.row("s")
    assert row is not None
    assert row["what"] == "has cost 6.00, its limit is 5.00"
    board.now += 5 * MINUTE_MS
    spends(board, 0, 6.1)
    row = board.row("s")  # the rate is within its limit again, and the cost is not
    assert row is not None
    assert row["what"] == "has cost 6.00, its limit is 5.00"
    spends(board, 0, 0.1)
    assert board.row("s") is None


def test_a_session_that_overspends_and_is_acknowledged_paused_or_over_is_not_asked_about() -> None:
    board = Board()
    board.stream.set(spend_cost=5.0)
    spends(board, 0, 6.0)
    row = board.row("s")
    assert row is not None
    board.triage("ack", row["subject"])
    assert of(board, "s") == ("high", "handled")
    board.work("s", 1, control={"is_terminal": True})
    assert board.row("s") is None


def test_what_a_session_spent_before_it_began_again_is_not_held_against_it() -> None:
    board = Board()
    board.stream.set(spend_cost=5.0)
    spends(board, 0, 6.0)
    board.work("s", 1, control={"is_terminal": True})
    spends(board, 0, 0.1)
    assert board.row("s") is None


def test_an_acknowledgement_of_one_excess_hides_no_other() -> None:
    board = Board()
    board.stream.set(spend_tokens_per_minute=1_000, spend_cost=5.0)
    spends(board, 6_000, 1.0)
    row = board.row("s")
    assert row is not None
    board.triage("ack", row["subject"])
    assert of(board, "s") == ("high", "handled")
    for _ in range(12):  # heartbeats of the same excess change nothing
        spends(board, 500, 1.0)
    assert of(board, "s") == ("high", "handled")
    spends(board, 0, 50.0)
    assert of(board, "s") == ("high", "needs_you")


def test_what_a_kind_said_of_a_session_that_ended_is_not_held_against_the_next_one() -> None:
    board = Board()
    board.work("s", 2)
    last = board.stream.sessions["s"]
    outlay = Outlay("api", last.partition, last.offset, last.timestamp, "s", "a", "e", 9e5, None, 10, 2)
    needs = TaskNeeds(profile=TaskProfile(20, 300, 20 * 5_000 * 10_000))
    _, excess = needs.compared(outlay)
    assert excess is not None
    told = dict(overspending_event(excess).fields)
    board.take(board.topics.told(Topic.SESSION_ALERTS, "s", told, board.now))
    assert of(board, "s") == ("high", "needs_you")
    board.work("s", 1, control={"is_terminal": True})
    board.work("s", 2)
    assert board.row("s") is None
