"""What tasks of a type needed: each completion once, the same whatever the order."""

import itertools

import orjson
import pytest

from streams.core.domain.aggregates.task_needs import Completion, TaskNeeds

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
