"""The counts about an agent: windows that slide with event time, nothing twice, bounded whatever comes."""

import itertools
import random

import orjson
import pytest

from schemas.encoder import check_fields
from streams.core.domain.aggregates.agent_health import MOST_CHAINS, MOST_SIGNATURES, AgentHealth
from streams.core.domain.aggregates.contribution import BUCKET_MS, Chains, Contribution, Counts

OFFSETS = itertools.count()


def contribution(bucket: int, counts: Counts | None = None, chains: Chains | None = None) -> Contribution:
    """Return what the next record contributes, in this bucket."""
    return Contribution("planner", 0, next(OFFSETS), bucket * BUCKET_MS, counts or {}, chains or {})


def after(*contributions: Contribution) -> AgentHealth:
    health = AgentHealth()
    for each in contributions:
        health = health.plus(each)
    return health


def session(bucket: int, n: int = 1) -> Contribution:
    return contribution(bucket, {"sessions": {bucket: n}})


def test_a_new_agent_has_nothing_to_report() -> None:
    told = AgentHealth().report("planner")
    assert (told["scope"], told["name"], told["as_of"], told["cross_chains"]) == ("agent", "planner", 0, [])
    assert {value for value in told.values() if isinstance(value, float)} == {0.0}


@pytest.mark.parametrize(("later", "hour", "day"), [(11, 1, 1), (12, 0, 1), (24 * 12 - 1, 0, 1)])
def test_the_hour_and_the_day_slide_with_event_time(later: int, hour: int, day: int) -> None:
    first = 24 * 12 * 1000  # the beginning of an hour
    told = after(session(first), contribution(first + later)).report("planner")
    assert (told["sessions_hour"], told["sessions_day"]) == (hour, day)


def test_the_day_ends_with_the_hour_that_began_a_day_before() -> None:
    first = 24 * 12 * 1000
    assert after(session(first), contribution(first + 24 * 12)).day == {}


def test_what_comes_late_counts_where_it_belongs_or_not_at_all() -> None:
    told = after(session(1000), session(995), session(980), session(10)).report("planner")
    assert (told["sessions_hour"], told["sessions_day"]) == (2, 3)
    assert told["as_of"] == 1000 * BUCKET_MS


def test_a_session_that_moves_on_counts_once() -> None:
    moved = contribution(13, {"sessions": {5: -1, 13: 1}})
    told = after(session(5), moved).report("planner")
    assert (told["sessions_hour"], told["sessions_day"]) == (1, 1)


def test_a_session_that_left_another_partition_first_is_never_less_than_none() -> None:
    taken_out = contribution(5, {"sessions": {5: -1}})
    assert after(taken_out).report("planner")["sessions_hour"] == 0
    assert after(taken_out, session(5)).hour == {}


def test_what_was_counted_does_not_count_again_whichever_partition_is_further() -> None:
    sent = [Contribution("a", partition, 9, 0, {"sessions": {0: 1}}, {}) for partition in (0, 1)]
    health = after(*sent)
    assert after(*sent, *reversed(sent)) == health
    assert health.plus(sent[0]._replace(offset=8)) is health
    assert health.report("a")["sessions_hour"] == 2


def test_cost_is_exact_to_the_ten_thousandth() -> None:
    told = after(*(contribution(3, {"cost": {3: 1}}) for _ in range(30_001))).report("planner")
    assert (told["wasted_cost_hour"], told["wasted_cost_day"]) == (3.0001, 3.0001)


def test_however_much_is_wasted_the_sums_can_be_written() -> None:
    wasting = [
        contribution(bucket, {"tokens": {bucket: 2**53}, "cost": {bucket: 2**53}})
        for bucket in range(11, 300)
        for _ in range(10)
    ]
    health = after(*wasting)
    check_fields("agent-health-value", health.report("planner"))
    assert AgentHealth.restore(orjson.loads(orjson.dumps(health.snapshot()))) == health
    random.Random(3).shuffle(wasting)
    again = after(*[each._replace(offset=offset) for offset, each in enumerate(wasting)])
    assert again.report("planner") == health.report("planner")


def test_a_signature_that_loops_in_several_sessions_is_a_cross_chain() -> None:
    chains: list[Chains] = [
        {3: {"one": 1}},
        {3: {"two": 1}},
        {4: {"one": 1}},
        {4: {"two": 1}},
        {5: {"one": 1}},
    ]
    health = after(*(contribution(5, chains=each) for each in chains))
    assert health.report("planner")["cross_chains"] == [
        {"signature": "one", "sessions": 3},
        {"signature": "two", "sessions": 2},
    ]
    left = health.plus(contribution(5, chains={3: {"two": -1}}))
    assert [each["signature"] for each in left.report("planner")["cross_chains"]] == ["one"]
    silent = left.plus(contribution(17))
    assert silent.chains == {}


def test_only_so_many_chains_are_reported() -> None:
    signatures = {f"{number:02}": 2 for number in range(MOST_CHAINS + 5)}
    told = after(contribution(0, chains={0: signatures})).report("planner")["cross_chains"]
    assert [each["signature"] for each in told] == sorted(signatures)[:MOST_CHAINS]


def test_of_too_many_signatures_the_same_are_kept_whatever_the_order() -> None:
    entering = [contribution(5, chains={5: {f"{number:03}": 1}}) for number in range(3 * MOST_SIGNATURES)]
    leaving = [contribution(5, chains={5: {f"{number:03}": -1}}) for number in range(0, 150, 2)]
    wanted = None
    for seed in range(20):
        sent = [*entering, *leaving]
        random.Random(seed).shuffle(sent)
        # Each from a partition of its own: nothing but their order is at stake.
        numbered = [each._replace(partition=each.offset, offset=0) for each in sent]
        health = after(*numbered)
        assert len(health.chains[5]) == MOST_SIGNATURES
        wanted = wanted or health.chains
        assert health.chains == wanted


def test_a_year_of_an_agent_is_no_larger_than_two_days_of_it() -> None:
    def size(days: int) -> int:
        buckets = range(1000 * 288, (1000 + days) * 288)
        counts = {"sessions": 7, "looping": 3, "episodes": 2, "tokens": 10_000, "cost": 150}
        sent = (
            contribution(b, {name: {b: n} for name, n in counts.items()}, {b: {f"{b:016}": 1}})
            for b in buckets
        )
        return len(orjson.dumps(after(*sent).snapshot()))

    assert size(30) <= size(2) + 20
    assert size(2) < 4_000


def test_the_counts_are_read_back_as_they_were() -> None:
    health = after(session(5), contribution(5, {"looping": {5: 1}}, {5: {"x": 1}}), session(6))
    stored = orjson.dumps(health.snapshot())
    assert AgentHealth.restore(orjson.loads(stored)) == health
    assert orjson.dumps(AgentHealth.restore(orjson.loads(stored)).snapshot()) == stored


@pytest.mark.parametrize(
    ("snapshot", "problem"),
    [
        ([2, 0, [], [], [], []], "version 2"),
        ([], "not the snapshot"),
        ([1, "x"], "version 1|not the snapshot"),
    ],
)
def test_what_cannot_be_read_is_refused(snapshot: list[object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        AgentHealth.restore(snapshot)
