"""The profile of a task type: means with a buffer, whatever the order."""

import itertools
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.aggregates.task_profile import Completion, TaskNeeds, TaskProfile, recommend

COMPLETIONS = st.lists(
    st.fixed_dictionaries(
        {
            "steps_used": st.integers(0, 2**53),
            "tokens_used": st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False),
        }
    ),
    max_size=8,
)


def profile_of(completions: list[dict[str, Any]]) -> TaskProfile:
    profile = TaskProfile()
    for completion in completions:
        profile = profile.plus(completion)
    return profile


@pytest.mark.parametrize(
    ("completions", "expected"),
    [
        ([(15, 25000), (18, 30000)], {"steps": 20, "tokens": 33000, "samples": 2}),
        ([(15, 25000)], {"steps": 18, "tokens": 30000, "samples": 1}),
        ([(10, 100)], {"steps": 12, "tokens": 120, "samples": 1}),
        ([(1, 0.5)], {"steps": 2, "tokens": 1, "samples": 1}),
        ([(1, 0)], {"steps": 2, "tokens": 0, "samples": 1}),
        ([], None),
    ],
)
def test_the_mean_and_a_fifth_rounded_up(
    completions: list[tuple[int, float]], expected: dict[str, int] | None
) -> None:
    assert (
        recommend(
            [{"steps_used": steps, "tokens_used": tokens} for steps, tokens in completions],
            DEFAULTS.profile_buffer,
        )
        == expected
    )


@pytest.mark.parametrize(("buffer", "steps"), [(0, 10), (0.1, 11), (0.15, 12), (0.1500001, 12), (10, 110)])
def test_the_buffer_is_a_setting(buffer: float, steps: int) -> None:
    assert recommend([{"steps_used": 10, "tokens_used": 0}], buffer) == {
        "steps": steps,
        "tokens": 0,
        "samples": 1,
    }


@given(COMPLETIONS, st.randoms(use_true_random=False))
def test_the_order_does_not_matter(completions: list[dict[str, Any]], random: Any) -> None:
    shuffled = list(completions)
    random.shuffle(shuffled)
    assert profile_of(shuffled) == profile_of(completions)


@given(COMPLETIONS, COMPLETIONS)
def test_two_profiles_merge_to_that_of_all(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> None:
    assert profile_of(one).merged(profile_of(other)) == profile_of(one + other)


@given(COMPLETIONS)
def test_it_is_stored_and_read_back(completions: list[dict[str, Any]]) -> None:
    profile = profile_of(completions)
    assert TaskProfile.restore(orjson.loads(orjson.dumps(profile.snapshot()))) == profile


@given(COMPLETIONS)
def test_a_recommendation_can_always_be_written(completions: list[dict[str, Any]]) -> None:
    recommendation = profile_of(completions).recommendation(buffer=10)
    if recommendation is not None:
        assert all(-(2**63) <= number < 2**63 for number in recommendation.values())


def test_parts_of_tokens_are_summed_exactly() -> None:
    assert profile_of([{"steps_used": 1, "tokens_used": 0.1}] * 10).tokens == 10_000


@pytest.mark.parametrize("tokens", [10**15 + 1, 1e300])
def test_no_task_counts_for_more_than_the_largest_budget(tokens: float) -> None:
    assert profile_of([{"steps_used": 1, "tokens_used": tokens}]).tokens == 10**19


SENT = [
    Completion("api", 0, 4, {"steps_used": 15, "tokens_used": 25_000}, 1, 0.5),
    Completion("api", 1, 2, {"steps_used": 18, "tokens_used": 30_000.5}, 3, 0.2),
    Completion("api", 2, 9, {"steps_used": 3, "tokens_used": 0}, 2, 0.9),
]


def after(*completions: Completion) -> TaskNeeds:
    needs = TaskNeeds()
    for each in completions:
        needs = needs.plus(each)
    return needs


def test_the_recommendation_is_under_the_newest_settings() -> None:
    assert after(*SENT[:2]).report("api") == {
        "task_type": "api",
        "recommendation": {"steps": 20, "tokens": 33_001, "samples": 2},
    }


def test_the_order_does_not_matter_and_nothing_counts_twice() -> None:
    stored = {orjson.dumps(after(*order, *order[::-1]).snapshot()) for order in itertools.permutations(SENT)}
    assert len(stored) == 1
    assert TaskNeeds.restore(orjson.loads(*stored)) == after(*SENT)


@pytest.mark.parametrize("snapshot", [[2, [], [], 0, 0], [], ["x"]])
def test_what_cannot_be_read_is_refused(snapshot: list[object]) -> None:
    with pytest.raises(ValueError):
        TaskNeeds.restore(snapshot)
