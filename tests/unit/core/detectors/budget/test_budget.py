"""A6: budgets that follow progress, exhaustion, the one extension."""

from typing import Any

import orjson
import pytest

from streams.core.domain.topic import Topic
from tests.stream import Stream, block, decision_log, told


def working(deltas: list[float | None], tokens: list[float] | None = None) -> list[dict[str, Any]]:
    """Records with these progress deltas, and with these tokens."""
    values = []
    for number, delta in enumerate(deltas):
        value = decision_log("work", f"t_{number}", "success", number=number)
        value["state_delta"] = {
            "progress_delta": delta,
            "tokens_consumed": tokens[number] if tokens else None,
        }
        values.append(value)
    return values


def seen(stream: Stream, *path: str, deltas: list[float | None], tokens: list[float] | None = None) -> Any:
    """One field of the block of every record, or the fields named of each."""
    blocks = [block(outcome, "budget") for outcome in stream.run(working(deltas, tokens))]
    if len(path) == 1:
        return [each[path[0]] for each in blocks]
    return [tuple(each[name] for name in path) for each in blocks]


WALK: list[float | None] = [*[0.08] * 10, *[0.005] * 10, *[0.0] * 5]


class TestTheTableOfTheSpecification:
    def test_two_steps_leave_48_and_nothing_is_adjusted_yet(self) -> None:
        fields = ("steps_remaining", "tokens_remaining", "velocity", "adjustment_factor", "adjusted_by")
        assert seen(Stream(), *fields, deltas=[0.05, 0.04], tokens=[1500, 2000]) == [
            (49, 98500, 0.05, 1.5, None),
            (48, 96500, 0.045, 1.5, None),
        ]

    def test_ten_deltas_that_sum_to_a_half_make_75_of_50(self) -> None:
        deltas: list[float | None] = [0.05, 0.04, 0.06, 0.03, 0.05, 0.04, 0.07, 0.05, 0.06, 0.05]
        last = block(Stream().run(working(deltas))[-1], "budget")
        assert (last["velocity"], last["steps_budget"], last["total_progress"]) == (0.05, 75, 0.5)

    def test_the_walk_from_50_over_75_and_52_to_26(self) -> None:
        assert seen(Stream(), "steps_budget", deltas=WALK) == [50] * 9 + [75] * 10 + [52] * 5 + [26]
        tokens = seen(Stream(), "tokens_budget", deltas=WALK)
        assert [tokens[at] for at in (9, 19, 24)] == [150_000, 105_000, 52_500]
        adjusted = seen(Stream(), "adjusted_by", deltas=WALK)
        assert {at + 1: by for at, by in enumerate(adjusted) if by is not None} == {10: 1.5, 20: 0.7, 25: 0.5}

    def test_an_extension_is_granted_once_and_only_near_the_goal(self) -> None:
        fields = ("emergency", "exhausted", "steps_remaining")
        deltas: list[float | None] = [0.5, 0.45, *[0.001] * 6]
        assert seen(Stream(initial_steps=2), *fields, deltas=deltas) == [
            (None, False, 1),
            ("approved", False, 5),
            (None, False, 4),
            (None, False, 3),
            (None, False, 2),
            (None, False, 1),
            ("denied", True, 0),
            (None, True, 0),
        ]

    def test_nine_tenths_are_not_above_nine_tenths(self) -> None:
        assert seen(Stream(initial_steps=2), "emergency", "total_progress", deltas=[0.5, 0.4]) == [
            (None, 0.5),
            ("denied", 0.9),
        ]


class TestVelocity:
    def test_it_is_unknown_before_the_first_delta(self) -> None:
        fields = ("velocity", "adjustment_factor", "adjusted_by", "total_progress")
        assert seen(Stream(), *fields, deltas=[None, None]) == [(None, None, None, 0.0)] * 2

    def test_a_record_without_progress_leaves_it_as_it_was(self) -> None:
        assert seen(Stream(), "velocity", deltas=[0.2, None, 0.4]) == [0.2, 0.2, 0.3]

    def test_only_the_newest_deltas_count(self) -> None:
        assert seen(Stream(velocity_window=2), "velocity", deltas=[0.9, 0.1, 0.2]) == [0.9, 0.5, 0.15]

    def test_a_window_that_shrinks_keeps_the_newest_and_one_that_grows_restores_nothing(self) -> None:
        stream = Stream()
        assert seen(stream, "velocity", deltas=[0.4, 0.3, 0.2]) == [0.4, 0.35, 0.3]
        stream.set(velocity_window=2)
        assert seen(stream, "velocity", deltas=[None, 0.4]) == [0.3, 0.3]
        stream.set(velocity_window=10)
        assert seen(stream, "velocity", deltas=[0.0]) == [0.2]

    @pytest.mark.parametrize(("delta", "factor"), [(0.01, 1.5), (0.00996, 1.5), (0.00994, 0.7)])
    def test_what_is_compared_is_what_is_reported(self, delta: float, factor: float) -> None:
        assert seen(Stream(), "adjustment_factor", deltas=[delta]) == [factor]


class TestAdjustment:
    def test_being_stuck_outweighs_velocity_and_comes_again(self) -> None:
        deltas: list[float | None] = [1.0, *[0.0] * 10]
        assert seen(Stream(velocity_window=6), "adjusted_by", deltas=deltas) == [
            *[None] * 5,
            0.5,
            *[None] * 4,
            0.5,
        ]

    def test_the_factor_of_the_moment_stays_that_of_being_stuck_until_progress(self) -> None:
        factors = seen(Stream(), "adjustment_factor", deltas=[*[0.0] * 6, 0.5])
        assert factors == [0.7, 0.7, 0.7, 0.7, 0.5, 0.5, 1.5]

    def test_records_without_progress_neither_break_a_streak_nor_adjust(self) -> None:
        deltas = [0.0, None, 0.0, None, -0.1, None, 0.0, 0.0, None]
        assert seen(Stream(), "adjusted_by", deltas=deltas) == [*[None] * 7, 0.5, None]

    def test_a_budget_never_falls_below_one(self) -> None:
        stream = Stream(initial_steps=2, initial_tokens=1, stuck_steps=1)
        fields = ("steps_budget", "tokens_budget")
        assert seen(stream, *fields, deltas=[0.0, 0.0, 0.0]) == [(1, 1)] * 3

    def test_growth_ends_at_the_cap(self) -> None:
        budgets = seen(Stream(velocity_window=1), "steps_budget", deltas=[0.1] * 4)
        assert budgets == [75, 112, 150, 150]

    def test_the_cap_is_that_of_the_settings_in_force(self) -> None:
        stream = Stream(velocity_window=1)
        assert seen(stream, "steps_budget", deltas=[0.1]) == [75]
        stream.set(initial_steps=10)
        assert seen(stream, "steps_budget", "tokens_budget", deltas=[0.1]) == [(30, 225_000)]

    @pytest.mark.parametrize(("factor", "steps"), [(1.15, 115), (1.1, 110), (1.016, 101)])
    def test_a_product_just_below_a_whole_number_is_that_number(self, factor: float, steps: int) -> None:
        stream = Stream(velocity_window=1, initial_steps=100, expansion_factor=factor)
        assert seen(stream, "steps_budget", deltas=[0.1]) == [steps]


class TestBeginning:
    def test_initial_budgets_are_those_of_the_beginning(self) -> None:
        stream = Stream(initial_steps=7)
        assert seen(stream, "steps_budget", deltas=[None]) == [7]
        stream.set(initial_steps=9)
        assert seen(stream, "steps_budget", deltas=[None]) == [7]
        stream.scored(decision_log(terminal=True))
        assert seen(stream, "steps_budget", deltas=[None]) == [9]

    def test_a_session_begins_with_its_first_record_scored_or_not(self) -> None:
        stream = Stream(initial_steps=7, score_statuses=["success"])
        assert block(stream.scored(decision_log(status="failure")), "budget") is None
        stream.set(initial_steps=9)
        assert seen(stream, "steps_budget", "steps_remaining", deltas=[None]) == [(7, 6)]


class TestExhaustion:
    def test_tokens_exhaust_as_steps_do(self) -> None:
        stream = Stream(initial_tokens=100)
        fields = ("exhausted", "tokens_remaining", "emergency")
        assert seen(stream, *fields, deltas=[None, None], tokens=[60, 60]) == [
            (False, 40, None),
            (True, 0, "denied"),
        ]

    def test_an_extension_starts_from_what_was_used(self) -> None:
        stream = Stream(initial_tokens=100)
        fields = ("emergency", "steps_budget", "tokens_budget", "tokens_remaining")
        assert seen(stream, *fields, deltas=[0.95], tokens=[250]) == [("approved", 55, 10_250, 10_000)]

    def test_extensions_can_be_turned_off(self) -> None:
        stream = Stream(initial_steps=1, enable_emergency_extensions=False)
        assert seen(stream, "emergency", deltas=[1.0]) == ["denied"]

    def test_an_extension_by_nothing_is_used_up_at_once(self) -> None:
        stream = Stream(initial_steps=1, emergency_steps=0)
        assert seen(stream, "emergency", "exhausted", deltas=[1.0, 0.1]) == [("approved", True), (None, True)]

    def test_a_budget_that_grows_ends_exhaustion(self) -> None:
        stream = Stream(initial_steps=3, velocity_window=4, expansion_factor=2.0)
        assert seen(stream, "exhausted", deltas=[0.1] * 5) == [False, False, True, False, False]


class TestNumbers:
    def test_parts_of_tokens_are_reported_and_compared_to_four_decimals(self) -> None:
        stream = Stream(initial_tokens=1)
        fields = ("tokens_remaining", "exhausted")
        deltas: list[float | None] = [None, None]
        assert seen(stream, *fields, deltas=deltas, tokens=[0.99994, 0.00002]) == [(0.0001, False), (0, True)]

    def test_whole_tokens_stay_whole(self) -> None:
        remaining = seen(Stream(), "tokens_remaining", deltas=[None], tokens=[7])
        assert type(remaining[0]) is int

    def test_numbers_too_large_to_add_up_stay_finite(self) -> None:
        stream = Stream(velocity_window=3, stuck_steps=3)
        deltas: list[float | None] = [1.7e308] * 3 + [-1.7e308] * 6
        outcomes = stream.run(working(deltas, [1.7e308, 2**62, -1.7e308] * 3))
        blocks = [block(outcome, "budget") for outcome in outcomes]
        assert blocks[2]["velocity"] == pytest.approx(1.7976931348623157e308 / 3)
        assert all(orjson.loads(orjson.dumps(each)) == each for each in blocks)
        assert all(each["steps_budget"] >= 1 for each in blocks)


class TestTold:
    def events(self, stream: Stream, deltas: list[float | None]) -> list[tuple[int, dict[str, Any]]]:
        outcomes = stream.run(working(deltas))
        return [(at, event) for at, outcome in enumerate(outcomes, 1) for event in told(outcome, "budget")]

    def test_a_change_is_told_with_the_fields_of_the_block(self) -> None:
        stream = Stream()
        outcome = stream.run(working([0.05] * 10))[-1]
        (event,) = told(outcome, "budget")
        fields = block(outcome, "budget")
        assert {name: event[name] for name in fields} == fields
        assert event["id"] == "s1/0/9/budget"
        assert [each.topic for each in outcome.events if each.fields is event] == [Topic.SESSION_BUDGETS]

    def test_nothing_is_told_without_a_change(self) -> None:
        assert self.events(Stream(), [0.05] * 9 + [None] * 20) == []

    def test_adjustments_exhaustion_and_its_end_are_told(self) -> None:
        stream = Stream(initial_steps=3, velocity_window=4, expansion_factor=2.0)
        told_at = [
            (at, event["adjusted_by"], event["emergency"], event["exhausted"])
            for at, event in self.events(stream, [0.1] * 6)
        ]
        assert told_at == [(3, None, "denied", True), (4, 2.0, None, False), (6, None, "denied", True)]
