"""Two sessions that hand each other the same task are alerted once per level and session."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import orjson
import pytest

from streams.core.domain.aggregates.exchange import (
    LONGEST_GAP_MS,
    MOST_IN_SLOT,
    MOST_SIDES,
    MOST_TURNS,
    Exchange,
    Exchanges,
    Handed,
    HandoverAlert,
    Joined,
    exchange_key,
)

TRACE, ROOT, PAIR = (exchange_key(each, "x") for each in Joined)


def turn(
    session: str,
    number: int,
    *,
    key: str = TRACE,
    at: int | None = None,
    trace: str = "t",
    root: str = "r",
    worked: bool = False,
    known: bool = True,
    partition: int | None = None,
) -> Handed:
    """The ``number``-th hand-over of a session; those of b come half a second after those of a."""
    when = 1_000 * number + (500 if session.startswith("b") else 0) if at is None else at
    agent, peer = ("a", "b") if session.startswith("a") else ("b", "a")
    source = partition if partition is not None else int(session.startswith("b"))
    place = source, 10 * number, when, session, f"{session}-e{number}"
    return Handed(key, *place, agent, peer, f"tell_{agent}", trace, root, known, worked, 100 * number, 3, 6)


def ping_pong(rounds: int, key: str = TRACE, **changes: Any) -> list[Handed]:
    return [turn(session, n, key=key, **changes) for n in range(rounds) for session in ("a1", "b1")]


def alerts_of(handed: Iterable[Handed]) -> list[HandoverAlert]:
    exchange, found = Exchange(), []
    for each in handed:
        exchange, alerts = exchange.plus(each)
        found += alerts
    return found


def briefly(alerts: Sequence[HandoverAlert]) -> list[tuple[str, str, str, int]]:
    return [(each.session_id, each.other_id, each.level.value, each.rounds) for each in alerts]


def test_each_session_is_alerted_once_per_level() -> None:
    found = alerts_of(ping_pong(12))
    assert briefly(found) == [
        ("b1", "a1", "WARNING", 3),
        ("a1", "b1", "WARNING", 3),
        ("b1", "a1", "LOOP", 6),
        ("a1", "b1", "LOOP", 6),
    ]
    loop = found[3]
    assert (loop.partition, loop.agent, loop.other_agent, loop.tools) == (0, "a", "b", ("tell_b", "tell_a"))
    assert (loop.first.offset, loop.last.offset, loop.last.event_id) == (0, 50, "a1-e5")
    assert loop.last.tokens - loop.first.tokens == 500


def test_a_hand_over_that_comes_again_is_counted_once() -> None:
    exchange = Exchange()
    for each in ping_pong(2):
        exchange, _ = exchange.plus(each)
    for each in ping_pong(2) * 5:
        again, alerts = exchange.plus(each)
        assert again is exchange
        assert alerts == []


def test_work_of_either_begins_anew() -> None:
    worked = [turn("a1", n, worked=n % 2 == 1) for n in range(12)]
    assert alerts_of(each for pair in zip(worked, ping_pong(12)[1::2], strict=True) for each in pair) == []


def test_new_texts_are_no_rounds() -> None:
    assert alerts_of(ping_pong(12, known=False)) == []


def test_an_hour_of_silence_begins_anew() -> None:
    spread = [turn(each, n, at=n * (LONGEST_GAP_MS + 1)) for n in range(12) for each in ("a1", "b1")]
    assert alerts_of(spread) == []
    near = [turn(each, n, at=n * LONGEST_GAP_MS) for n in range(12) for each in ("a1", "b1")]
    assert [each.level.value for each in alerts_of(near)] == ["WARNING", "WARNING", "LOOP", "LOOP"]


def test_a_parent_that_hands_out_and_is_never_answered_twice_is_silent() -> None:
    parent = [turn("a1", n) for n in range(12)]
    answers = [turn(f"b{n}", n, partition=1) for n in range(12)]
    assert alerts_of(each for pair in zip(parent, answers, strict=True) for each in pair) == []


def test_whatever_the_order_between_the_sessions_the_same_sessions_are_alerted() -> None:
    one, two = ping_pong(8)[::2], ping_pong(8)[1::2]
    for seed in range(30):
        random, left, mixed = Random(seed), [list(one), list(two)], []
        while any(left):
            mixed.append(random.choice([each for each in left if each]).pop(0))
        found = {(each.session_id, each.level.value) for each in alerts_of(mixed)}
        assert found >= {("a1", "LOOP"), ("b1", "LOOP")}


def test_the_session_above_joins_where_traces_differ() -> None:
    assert alerts_of(ping_pong(8, ROOT)) == []
    apart = [turn(each, n, key=ROOT, trace=each) for n in range(8) for each in ("a1", "b1")]
    assert len(alerts_of(apart)) == 4
    without = [turn(each, n, key=ROOT, trace="") for n in range(8) for each in ("a1", "b1")]
    assert len(alerts_of(without)) == 4


def test_names_join_where_traces_and_roots_differ() -> None:
    assert alerts_of(ping_pong(8, PAIR)) == []
    assert alerts_of(turn(each, n, key=PAIR, trace=each) for n in range(8) for each in ("a1", "b1")) == []
    apart = [turn(each, n, key=PAIR, trace=each, root=each) for n in range(8) for each in ("a1", "b1")]
    assert len(alerts_of(apart)) == 4


def test_two_pairs_at_the_same_time_are_not_mixed_by_their_names() -> None:
    pairs = [
        turn(f"{each}{team}", n, key=PAIR, trace=team, root=each + team, partition=int(team))
        for n in range(8)
        for team in "12"
        for each in "ab"
    ]
    assert alerts_of(pairs) == []


def test_two_sessions_of_one_agent_are_no_exchange_by_names() -> None:
    same = [turn(each, n, key=PAIR, trace=each, root=each) for n in range(8) for each in ("a1", "a2")]
    assert alerts_of(same) == []


def test_what_is_kept_has_a_bound() -> None:
    exchange = Exchange()
    for n, session in itertools.product(range(30), range(30)):
        exchange, _ = exchange.plus(turn(f"a{session}", 100 * n + session))
    assert len(exchange.sides) == MOST_SIDES
    assert {len(side.turns) for side in exchange.sides.values()} <= set(range(1, MOST_TURNS + 1))
    assert min(side.newest for side in exchange.sides.values()) == 1_000 * (2_900 + 14)


def test_a_late_session_does_not_push_out_the_newer_ones() -> None:
    exchange = Exchange()
    for session in range(MOST_SIDES):
        exchange, _ = exchange.plus(turn(f"a{session}", 100 + session))
    after, alerts = exchange.plus(turn("late", 0, partition=7))
    assert (after.sides, alerts) == (exchange.sides, [])
    assert after.plus(turn("late", 0, partition=7))[0] is after


def test_a_slot_keeps_its_newest_exchanges() -> None:
    exchanges = Exchanges()
    for n in range(10):
        exchanges, _ = exchanges.plus(turn("a1", n, key=exchange_key(Joined.TRACE, f"t{n}")))
    assert sorted(exchanges.by_key) == [f"handover/trace/t{n}" for n in range(10 - MOST_IN_SLOT, 10)]
    assert exchanges.positions == {0: 90}


def test_exchanges_of_one_record_are_counted_apart() -> None:
    exchanges = Exchanges()
    for key in (TRACE, ROOT, PAIR):
        exchanges, _ = exchanges.plus(turn("a1", 1, key=key))
    assert len(exchanges.by_key) == 3


def test_exchanges_are_read_back_as_they_were_stored() -> None:
    exchanges = Exchanges()
    for each in (*ping_pong(4), *ping_pong(2, ROOT)):
        exchanges, _ = exchanges.plus(each)
    stored = orjson.dumps(exchanges.snapshot())
    again = Exchanges.restore(orjson.loads(stored))
    assert again == exchanges
    assert orjson.dumps(again.snapshot()) == stored
    one, two = exchanges.plus(turn("a1", 9)), again.plus(turn("a1", 9))
    assert one == two


@pytest.mark.parametrize(
    "snapshot", [[2, [], []], [1, []], [], [1, [], [["k", [], [["s", 0, "", "", "", "", "", 0, []]]]]]]
)
def test_what_is_no_snapshot_is_refused(snapshot: list[Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        Exchanges.restore(snapshot)


def test_a_hand_over_is_read_back_from_its_record() -> None:
    sent = turn("a1", 3)
    assert Handed.restore(sent.key, orjson.loads(orjson.dumps(sent.snapshot()))) == sent


@pytest.mark.parametrize(
    ("key", "place", "value"),
    [
        ("handover/else/x", 0, 1),
        ("agent", 0, 1),
        (TRACE, 0, -1),
        (TRACE, 1, "1"),
        (TRACE, 9, 1),
        (TRACE, 12, 2**63),
    ],
)
def test_what_is_no_hand_over_is_refused(key: str, place: int, value: Any) -> None:
    snapshot = turn("a1", 3).snapshot()
    snapshot[place] = value
    with pytest.raises(ValueError, match="hand-over"):
        Handed.restore(key, snapshot)
