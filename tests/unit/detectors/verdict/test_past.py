"""The window of R7 finds the records it was shown, at their places, and none that only looks like one."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streams.detectors.verdict.moments import Moments, moment_back, with_one_more
from streams.detectors.verdict.past import Past
from streams.domain.decision import Decision

STATUSES = st.sampled_from(["success", "failure", "skipped", "pending"])
# Offsets go back when a topic is repartitioned, timestamps when a clock is set.
RECORDS = st.tuples(
    st.integers(0, 2**40), st.integers(0, 2**42), STATUSES, st.sampled_from("abc"), st.sampled_from("xyz")
)


def decision(offset: int, timestamp: int, status: str, call: str, result: str) -> Decision:
    action = {"status": status, "tool_call": "t", "tool_input": f'"{call}"', "tool_output_summary": result}
    known: dict[str, Any] = {"session_id": "s", "event_id": "e", "identity": {"agent_id": "a"}}
    return Decision.of(0, offset, {**known, "meta": {"timestamp": timestamp}, "action": action})


@given(st.lists(RECORDS, min_size=1, max_size=20), st.integers(1, 12))
def test_it_finds_the_newest_record_with_the_call_and_where_that_was(
    records: list[tuple[int, int, str, str, str]], size: int
) -> None:
    text, moments = "", ()
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
            assert past.place_of(past.called_at, moments) == window[calls[0]][:2]
        if again:
            assert past.number_back(past.repeated_at) == again[0] + 1
            assert past.place_of(past.repeated_at, moments) == window[again[0]][:2]
        assert past.distance(record[2]) == (same[0] + 1 if same else None)
        text = past.with_the_record(newest, moments)
        moments = with_one_more(moments, (*record[:2], 0, None), 5)
        seen.append(record)


def failed(record: tuple[int, int, str, str, str]) -> bool:
    return record[2] == "failure"


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
