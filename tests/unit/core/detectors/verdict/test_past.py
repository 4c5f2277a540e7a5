"""The window of the verdict finds what it was shown, at its place, and nothing that only looks like it."""

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.verdict.past import Past
from streams.core.detectors.verdict.streak import Moments, moment_back, with_one_more
from streams.core.domain.decision import Decision

STATUSES = st.sampled_from(["success", "failure", "skipped", "pending"])
# Offsets go back when a topic is repartitioned, timestamps when a clock is set.
RECORDS = st.tuples(
    st.integers(0, 2**40), st.integers(0, 2**42), STATUSES, st.sampled_from("abc"), st.sampled_from("xyz")
)


def decision(offset: int, timestamp: int, status: str, call: str, result: str, **meta: str) -> Decision:
    action = {"status": status, "tool_call": "t", "tool_input": f'"{call}"', "tool_output_summary": result}
    known: dict[str, Any] = {"session_id": "s", "event_id": "e", "identity": {"agent_id": "a"}}
    return Decision.of(0, offset, {**known, "meta": {"timestamp": timestamp, **meta}, "action": action})


@given(st.lists(RECORDS, min_size=1, max_size=20), st.integers(1, 12))
def test_it_finds_the_newest_record_with_the_call_and_where_that_was(
    records: list[tuple[int, int, str, str, str]], size: int
) -> None:
    text, placed = "", None
    seen: list[tuple[int, int, str, str, str]] = []
    for record in records:
        newest = decision(*record)
        past = Past.of(text, newest, size)
        window = seen[: -size - 1 : -1]
        assert past.text.count(",") == len(window)
        # The text has only the newest of equal records.
        calls = [at for at, each in enumerate(window) if each[3] == record[3]]
        again = [at for at in calls if window[at][4] == record[4] and failed(window[at]) == failed(record)]
        same = [at for at in again if window[at][2] == record[2]]
        assert (past.called_at >= 0) == bool(calls)
        assert (past.repeated_at >= 0) == bool(again)
        if calls:
            assert past.number_back(past.called_at) == calls[0] + 1
            assert past.offset_of(past.called_at, seen[-1][0]) == window[calls[0]][0]
        if again:
            assert past.number_back(past.repeated_at) == again[0] + 1
            assert past.offset_of(past.repeated_at, seen[-1][0]) == window[again[0]][0]
            assert past.longest_pause(past.repeated_at, 0) == longest(seen[-again[0] - 1 :])
        assert past.distance(record[2]) == (same[0] + 1 if same else None)
        text, placed = past.with_the_record(newest, placed), record[:2]
        seen.append(record)


def longest(records: list[tuple[int, int, str, str, str]]) -> int:
    """The longest time between neighbours, 0 if all went back."""
    return max([0, *(later[1] - earlier[1] for earlier, later in pairwise(records))])


def failed(record: tuple[int, int, str, str, str]) -> bool:
    return record[2] == "failure"


def test_records_of_its_own_round_are_no_past_of_it() -> None:
    one, two, three = (decision(at, at * 1000, "success", call, "x") for at, call in enumerate("abc"))
    text = Past.of("", one, 9).with_the_record(one, None)
    text = Past.of(text, two, 9).with_the_record(two, (0, 0))
    text = Past.of(text, three, 9, 1).with_the_record(three, (1, 1000))
    again = decision(3, 3000, "success", "b", "x")
    assert Past.of(text, again, 9, 1).repeated_at >= 0
    assert Past.of(text, again, 9, 2).repeated_at < 0
    assert not Past.of(text, again, 9, 2).is_empty
    assert Past.of(text, again, 9, 3).is_empty


def test_a_record_of_a_round_finds_what_the_first_of_the_round_repeated() -> None:
    records = [decision(at, at * 1000, "success", "a", "x", round_id="m1") for at in range(3)]
    text = Past.of("", records[0], 9).with_the_record(records[0], None)
    text = Past.of(text, records[1], 9).with_the_record(records[1], (0, 0))
    past = Past.of(text, records[2], 9, 1)
    assert past.repeated_at >= 0
    assert past.offset_of(past.repeated_at, 1) == 0


def test_what_a_tool_told_is_found_whatever_was_asked() -> None:
    one, other = decision(5, 0, "success", "a", "x"), decision(6, 0, "success", "b", "x")
    text = Past.of("", one, 9).with_the_record(one, None)
    past = Past.of(text, other, 9)
    assert (past.called_at < 0, past.offset_of(past.heard_at(), 5)) == (True, 5)
    failed_so = decision(6, 0, "failure", "b", "x")
    assert Past.of(text, failed_so, 9).heard_at() < 0


def test_a_mark_that_stands_where_two_others_meet_is_no_record() -> None:
    newest = decision(9, 0, "success", "a", "x")
    call = Past.of("", newest, 9).call
    between = f",___{call[:3]}{call[3:]}___."
    assert Past.of(between, newest, 9).called_at < 0
    assert Past.of(f",,{call[:5]}_{call}.", newest, 9).called_at == 1
    assert Past.of(f"{between},{between},______{call}B.B", newest, 9).called_at == 2 * len(between) + 1


@given(st.lists(st.tuples(*[st.integers(0, 2**50)] * 3, st.none() | st.floats(0, 1e6)), max_size=12))
def test_the_newest_moments_are_read_back_as_they_were(
    told: list[tuple[int, int, int, float | None]],
) -> None:
    moments: Moments = ()
    for moment in told:
        moments = with_one_more(moments, moment, 5)
    kept = told[:-6:-1]
    assert [moment_back(moments, back) for back in range(len(kept))] == kept
