"""What a session spends: kept only where a limit asks for it, and told to its kind now and then."""

import json
from math import isfinite
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.decision import Decision
from streams.core.domain.outcome import Scored
from streams.core.policy.spending import (
    MINUTES,
    OUTLAYS,
    SPENDING,
    Spending,
    follow_spending,
    spending_of,
)
from tests.stream import START_MS, Stream, decision_log

MINUTE_MS = 60_000
LIMITS = DetectionSettings(spend_tokens_per_minute=1_000, spend_cost=5.0)


def spends(tokens: float, number: int = 0, at: int = START_MS, **given: Any) -> dict[str, Any]:
    delta = {"tokens_consumed": tokens, "cumulative_session_cost": 9.0}
    return decision_log(number=number, at_ms=at - START_MS) | {
        "state_delta": delta,
        "task_type": "api",
        **given,
    }


def record(offset: int, tokens: float, at: int = START_MS, **given: Any) -> Decision:
    return Decision.of(0, offset, spends(tokens, offset, at, **given))


def outlays(*tokens: float, settings: DetectionSettings = DEFAULTS, **given: Any) -> list[float]:
    """Return what a session that uses so many tokens a record tells its kind."""
    used, found = 0.0, []
    for offset, each in enumerate(tokens):
        used += each
        _, _, outlay = follow_spending(Spending(), record(offset, each, **given), offset, used, settings)
        if outlay is not None:
            found.append(outlay.tokens)
    return found


def test_without_limits_nothing_is_kept() -> None:
    stream = Stream()
    for number in range(20):
        stream.send(spends(10_000, number))
    assert SPENDING not in stream.sessions["s1"].states


def test_what_is_over_when_the_limits_are_taken_away_ends_and_nothing_is_kept() -> None:
    stream = Stream(spend_tokens_per_minute=1_000, spend_cost=5.0)
    stream.send(spends(10_000))
    assert SPENDING in stream.sessions["s1"].states
    stream.set(spend_tokens_per_minute=0, spend_cost=0.0)
    outcome = stream.send(spends(10_000, 1))
    assert isinstance(outcome, Scored)
    told = [each.fields for each in outcome.events if each.fields["event_type"] == "overspending"]
    assert [(each["rule"], each["phase"]) for each in told] == [
        ("tokens_per_minute", "under"),
        ("cost", "under"),
    ]
    assert SPENDING not in stream.sessions["s1"].states


@given(st.lists(st.tuples(st.integers(-8, 8), st.integers(0, 10**6)), min_size=1, max_size=30))
def test_the_rate_is_that_of_the_newest_five_minutes_whatever_the_order(steps: list[tuple[int, int]]) -> None:
    state, minute, newest, kept = Spending(), START_MS // MINUTE_MS, None, dict[int, int]()
    for offset, (ahead, tokens) in enumerate(steps):
        minute += ahead
        kept_state, _, _ = follow_spending(
            state, record(offset, tokens, minute * MINUTE_MS), offset, 0, LIMITS
        )
        state = spending_of({SPENDING: [*(kept_state or Spending())]})  # as it is stored
        if newest is None or minute <= newest - MINUTES:
            newest, kept = minute, {}
        newest = max(newest, minute)
        kept[minute] = kept.get(minute, 0) + tokens
        recent = [used for each, used in kept.items() if each > newest - MINUTES]
        assert abs(state.tokens_per_minute - sum(recent) / MINUTES) < 1e-4
        assert len(state.used) <= MINUTES


def test_a_session_tells_its_kind_each_time_it_has_grown_by_half() -> None:
    assert outlays(*[1_000] * 100) == [20_000, 30_000, 45_000, 68_000]
    assert outlays(1_000_000) == [1_000_000]
    assert outlays(19_999) == []


def test_who_has_no_kind_or_ends_or_is_not_compared_tells_it_nothing() -> None:
    ends = {"control": {"is_terminal": True}}
    off = DetectionSettings(spend_times_kind=0)
    assert outlays(50_000, **ends) == outlays(50_000, settings=off) == []
    assert outlays(50_000, task_type=None) == []


def test_the_comparisons_reach_as_far_as_budgets_do() -> None:
    assert OUTLAYS[-1] >= 10**15


def test_no_record_makes_a_state_that_cannot_be_kept() -> None:
    state = Spending()
    for offset, tokens in enumerate((1e308, 1e308, -1e308, 1e308)):
        kept, found, _ = follow_spending(state, record(offset, tokens), offset, 0, LIMITS)
        assert kept is not None
        state = Spending(*json.loads(json.dumps(kept, allow_nan=False)))
        assert all(isfinite(each.fields["spent"]) for each in found)


def test_a_clock_that_was_ahead_hides_nothing() -> None:
    stream = Stream(spend_tokens_per_minute=100_000)
    stream.send(spends(6, 0, START_MS + 50 * MINUTE_MS))
    phases = []
    for number in range(1, 4):
        outcome = stream.send(spends(500_000, number, START_MS + number * MINUTE_MS))
        assert isinstance(outcome, Scored)
        phases += [
            each.fields["phase"] for each in outcome.events if each.fields["event_type"] == "overspending"
        ]
    assert phases == ["over"]


def test_a_session_that_ends_while_it_overspends_says_so() -> None:
    stream = Stream(spend_tokens_per_minute=1_000, spend_cost=5.0)
    stream.send(spends(10_000))
    outcome = stream.send(spends(10_000, 1, control={"is_terminal": True}))
    assert isinstance(outcome, Scored)
    told = [each.fields for each in outcome.events if each.fields["event_type"] == "overspending"]
    assert [(each["rule"], each["phase"], each["records"]) for each in told] == [
        ("tokens_per_minute", "ended", 1),
        ("cost", "ended", 1),
    ]
