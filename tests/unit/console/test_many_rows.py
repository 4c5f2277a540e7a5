"""Acting on several rows of the inbox at once: those of one cause, and those that were chosen."""

from streams.console.inbox import Query, many, page
from streams.console.inbox.row import MOST_BESIDES, besides, others
from tests.unit.console.agents import Board
from tests.unit.console.told import everything, folded


def board() -> Board:
    made = Board()
    for number in range(3):
        made.loop(f"s-{number}", 6 + number, agent=f"agent-{number % 2}")
    made.work("quiet", 3)
    return made


def test_sessions_that_do_the_same_are_one_cause_with_the_sum_of_what_they_burnt() -> None:
    made = board()
    rows = page(made.model, Query.parse({}), made.now).rows
    groups = page(made.model, Query.parse({"group": "cause"}), made.now).groups
    assert groups is not None
    [group] = groups
    assert sorted(group["session_ids"]) == ["s-0", "s-1", "s-2"]
    assert (group["sessions"], group["agents"]) == (3, 2)
    assert group["tokens"] == sum(row["tokens"] for row in rows)
    assert group["worst"] == rows[0]["session_id"]


def test_an_action_on_a_cause_leaves_out_what_is_handled() -> None:
    made = board()
    known = made.model.attention(made.now)
    episode = known["s-0"].episode
    assert episode is not None
    made.take(made.topics.triage("ack", known["s-2"].subject, made.now))
    found = many(made.model.attention(made.now).values(), episode.cause_key)
    assert found is not None
    assert sorted(found["session_ids"]) == ["s-0", "s-1"]
    assert set(found["subjects"]) == {known["s-0"].subject, known["s-1"].subject}


def test_an_action_on_chosen_rows_is_about_all_of_them_whatever_their_cause() -> None:
    made = board()
    made.act("asks", status="success", control={"hitl_required": True})
    known = made.model.attention(made.now)
    found = many([known["s-1"], known["asks"]], "")
    assert found is not None
    assert set(found["session_ids"]) == {"s-1", "asks"}
    assert many([], "") is None


def test_a_row_says_once_what_was_found_again_and_again() -> None:
    told = list(everything())
    now = max(each.stored.timestamp for each in told)
    known = folded(told).attention(now)
    looping = [about for about in known.values() if others(about) > 3]
    assert looping
    for about in looping:
        found = besides(about)
        said = [each["what"] for each in found]
        assert len(said) == len(set(said)) <= others(about)
        times = [each["at"] for each in found]
        assert times == sorted(times, reverse=True)
    assert any(len(besides(about)) < min(others(about), MOST_BESIDES) for about in looping)
