"""What commands lead to: the newest level wins, notes once, holds of three scopes, expiry, restarts."""

from eddy_client.guard.command import Budget, Command, Note
from eddy_client.guard.control import Control, Outcome
from eddy_client.protocol import standing
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.client.guard.commanded import HOUR_MS, command


def after(*commands: Command, now: int = 1_000) -> Outcome:
    control = Control()
    for each in commands:
        control.take(each, now)
    return control.check(now)


def statuses(outcome: Outcome) -> list[tuple[str, str]]:
    return [(answer.command.command_id, answer.status) for answer in outcome.answers]


def test_a_pause_stands_until_it_is_resumed() -> None:
    control = Control()
    control.take(command("pause", 1), 0)
    assert control.check(0).level == "paused"
    assert control.check(5).level == "paused"
    control.take(command("resume", 2), 6)
    found = control.check(6)
    assert found.level == "running"
    assert statuses(found) == [("c-2", "received"), ("c-1", "released"), ("c-2", "applied")]
    assert control.is_calm


def test_an_older_command_that_was_not_applied_is_superseded() -> None:
    found = after(command("resume", 2), command("pause", 1))
    assert found.level == "running"
    assert ("c-1", "superseded") in statuses(found)


def test_after_an_abort_nothing_is_applied() -> None:
    control = Control()
    control.take(command("abort", 1), 0)
    assert control.check(0).level == "aborted"
    control.take(command("resume", 2), 1)
    control.take(command("inject_message", 3), 1)
    found = control.check(1)
    assert (found.level, found.notes) == ("aborted", ())
    assert [status for _, status in statuses(found)][-2:] == ["superseded", "superseded"]


def test_a_command_that_came_twice_has_one_effect_and_the_first_answer() -> None:
    control = Control()
    note = command("inject_message", 1)
    control.take(note, 0)
    control.take(note, 0)
    assert len(control.check(0).notes) == 1
    control.take(note, 1)
    found = control.check(1)
    assert found.notes == ()
    assert statuses(found) == [("c-1", "applied")]


def test_a_note_that_another_guard_has_handed_over_is_not_given_again() -> None:
    control = Control()
    control.given("c-1")
    control.take(command("inject_message", 1), 0)
    control.take(command("inject_message", 2), 0)
    assert [note.command_id for note in control.check(0).notes] == ["c-2"]


def test_a_pause_that_another_guard_applied_pauses_again() -> None:
    control = Control()
    control.given("c-1")
    control.take(command("pause", 1), 0)
    assert control.check(0).level == "paused"


def test_a_pause_ends_by_itself_and_what_follows_is_what_the_command_says() -> None:
    for on_timeout, level in (("resume", "running"), ("abort", "aborted")):
        control = Control()
        control.take(command("pause", 1, on_timeout=on_timeout), 0)
        assert control.check(HOUR_MS - 1).until == HOUR_MS
        assert control.check(HOUR_MS).level == level


def test_a_command_that_comes_after_its_end_has_no_effect() -> None:
    found = after(command("abort", 1), now=HOUR_MS)
    assert (found.level, statuses(found)) == ("running", [("c-1", "expired")])


def test_a_session_runs_only_if_none_of_three_holds_pauses_it() -> None:
    control = Control()
    control.take(command("pause", 1, scope="agent", target="a-1"), 0)
    control.take(command("pause", 1, scope="all", target="", command_id="c-all", partition=3), 0)
    assert control.check(0).level == "paused"
    control.take(command("resume", 2), 1)
    assert control.check(1).level == "paused"
    control.take(command("resume", 3, scope="agent", target="a-1"), 2)
    assert control.check(2).level == "paused"
    control.take(command("resume", 2, scope="all", target="", command_id="c-go", partition=3), 3)
    assert control.check(3).level == "running"


def test_a_hold_can_only_pause_and_resume() -> None:
    found = after(command("abort", 1, scope="all", target=""))
    assert (found.level, statuses(found)) == ("running", [("c-1", "unsupported")])


def test_what_is_not_signed_rightly_is_rejected() -> None:
    found = after(command("abort", 1, refusal="it is not signed"))
    assert (found.level, statuses(found)) == ("running", [("c-1", "rejected")])


def test_the_newest_budget_counts() -> None:
    first = command("raise_budget", 1, steps_budget=10)
    assert after(command("raise_budget", 2, steps_budget=20), first).budget == Budget(20, None)


def test_a_clock_that_is_wrong_gives_way_to_the_brokers() -> None:
    """The guard's clock is a day ahead: by it, the command came too late."""
    control, now = Control(), 24 * HOUR_MS
    control.take(command("pause", 1, written_at=1_000, is_live=True), now)
    found = control.check(now)
    assert found.level == "paused"
    assert found.answers[0].detail == "the clocks differ by 86399 s"


@st.composite
def timed(draw: st.DrawFn) -> list[Command]:
    """Commands of all scopes and in any order, some of which end soon."""
    numbers = draw(st.permutations(range(draw(st.integers(0, 6)))))
    return [
        command(
            draw(st.sampled_from(["pause", "resume", "abort", "inject_message"])),
            number,
            scope=draw(st.sampled_from(["session", "agent", "all"])),
            expires_at=draw(st.integers(1, 12)),
            on_timeout=draw(st.sampled_from(["resume", "abort"])),
        )
        for number in numbers
    ]


@given(timed(), st.data())
def test_a_peek_sees_what_a_check_would_find(commands: list[Command], data: st.DataObject) -> None:
    control, now = Control(), 0
    for each in commands:
        control.take(each, now)
        now += data.draw(st.integers(0, 3))
        level = control.peek(now)
        assert control.peek(now) == level
        if data.draw(st.booleans()):
            assert control.check(now).level == level
    level = control.peek(now)
    assert control.check(now).level == level


@st.composite
def sequences(draw: st.DrawFn) -> list[Command]:
    actions = draw(
        st.lists(st.sampled_from(["pause", "resume", "inject_message", "raise_budget"]), max_size=8)
    )
    return [command(action, number) for number, action in enumerate(actions, 1)]


@given(sequences(), st.data())
def test_repeats_and_restarts_change_nothing(commands: list[Command], data: st.DataObject) -> None:
    """The reference: the newest level; each note once and in order; the newest budget."""
    levels = [each for each in commands if each.action in ("pause", "resume")]
    level = "paused" if levels and levels[-1].action == "pause" else "running"
    notes = [each.command_id for each in commands if each.action == "inject_message"]
    control, given_notes = Control(), list[str]()
    for number, each in enumerate(commands):
        repeats = data.draw(st.integers(0, number))
        for sent in (*commands[repeats:number], each):
            control.take(sent, number)
        if data.draw(st.booleans()):
            given_notes += [note.command_id for note in control.check(number).notes]
        if data.draw(st.booleans()):
            given_notes += [note.command_id for note in control.check(number).notes]
            control = Control()  # the process began again, and reads what was commanded and answered
            for command_id in given_notes:
                control.given(command_id)
            for sent in commands[: number + 1]:
                control.take(sent, number)
    found = control.check(len(commands))
    given_notes += [note.command_id for note in found.notes]
    assert found.level == level
    if level == "paused":  # what came meanwhile is handed over when the agent runs again
        control.take(command("resume", 999), len(commands))
        given_notes += [note.command_id for note in control.check(len(commands)).notes]
    assert given_notes == notes


def test_a_message_to_a_paused_agent_is_handed_over_when_it_runs_and_only_then_acknowledged() -> None:
    """A process that ends during the pause has not lost it: the next guard gives it."""
    control = Control()
    for each in (command("pause", 1), command("inject_message", 2)):
        control.take(each, 0)
    paused = control.check(0)
    assert (paused.level, paused.notes) == ("paused", ())
    assert ("c-2", "applied") not in {(each.command.command_id, each.status) for each in paused.answers}
    assert control.notes == 1
    control.take(command("inject_message", 2), 1)
    assert [each.status for each in control.check(1).answers] == ["received"]
    control.take(command("resume", 3), 2)
    running = control.check(2)
    assert [note.command_id for note in running.notes] == ["c-2"]
    assert ("c-2", "applied") in {(each.command.command_id, each.status) for each in running.answers}
    assert control.notes == 0


def test_a_message_before_an_abort_is_not_said_to_be_handed_over() -> None:
    control = Control()
    for each in (command("inject_message", 1), command("abort", 2)):
        control.take(each, 0)
    found = control.check(0)
    assert (found.level, found.notes) == ("aborted", ())
    assert ("c-1", "superseded") in {(each.command.command_id, each.status) for each in found.answers}


def test_a_pause_does_not_come_back_when_the_time_of_what_superseded_it_is_over() -> None:
    """A resume counts for minutes, the pause before it perhaps for a day: agents begin after that, too."""
    for newer in ("resume", "pause"):
        commands = command("pause", 1, expires_at=24 * HOUR_MS), command(newer, 2)
        assert standing(commands, 0) == standing(commands, HOUR_MS) == list(commands)
        found = after(*commands, now=HOUR_MS)
        assert (found.level, ("c-1", "superseded") in statuses(found)) == ("running", True)


def test_a_resume_whose_time_is_over_does_not_end_a_pause_that_is_in_force() -> None:
    control = Control()
    control.take(command("pause", 1, expires_at=24 * HOUR_MS), 0)
    assert control.check(0).level == "paused"
    control.take(command("resume", 2), HOUR_MS)
    assert control.check(HOUR_MS).level == "paused"


def test_an_abort_whose_time_is_over_leaves_a_pause_in_force() -> None:
    commands = command("pause", 1, expires_at=24 * HOUR_MS), command("abort", 2)
    assert after(*commands, now=HOUR_MS).level == "paused"


def test_what_is_over_and_superseded_nothing_in_force_is_not_for_a_session_that_begins() -> None:
    earlier = command("resume", 1), command("pause", 2, scope="all", target=""), command("inject_message", 4)
    pause = command("pause", 3, expires_at=24 * HOUR_MS)
    assert standing([*earlier, pause], HOUR_MS) == [pause]


def test_a_clock_that_was_set_right_is_believed_again() -> None:
    control = Control()
    control.take(command("pause", 1, written_at=1_000, is_live=True), 24 * HOUR_MS)
    assert control.check(24 * HOUR_MS).level == "paused"
    control.take(command("inject_message", 2, written_at=2_000, is_live=True), 2_000)
    found = control.check(2_000)
    assert found.until == HOUR_MS


def test_messages_that_an_agent_cannot_take_now_wait_and_are_not_said_to_be_handed_over() -> None:
    control = Control()
    control.take(command("inject_message", 1), 0)
    control.keep((Note("of before", "ana", "c-0"),))
    found = control.check(0, hands_over=False)
    assert (found.notes, statuses(found), control.notes) == ((), [("c-1", "received")], 2)
    found = control.check(0)
    assert [note.command_id for note in found.notes] == ["c-0", "c-1"]
    assert statuses(found) == [("c-1", "applied")]
