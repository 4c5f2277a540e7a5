"""What may stand on the topic of enriched records: either a screen shows it, or it is passed over."""

import copy
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streams.console.session_facts import LoopCourse, explanation, session_facts
from streams.console.step_diff.comparison import evidence, twin
from streams.console.step_diff.step_list import lens, scores
from streams.console.timeline import misfit
from streams.console.view import RecordStep
from streams.console.views.session_content import saved, toned
from streams.console.whatif import judge_again
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.topic import Topic
from tests.unit.console.told import everything

Path = tuple[Any, ...]
GONE = object()
VALUES = st.sampled_from(
    [None, 5, -1, 2**70, 1.5, float("nan"), "x", "", [], {}, ["x"], {"a": 1}, True, "a/b", GONE]
)


def sessions() -> list[list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for told in everything():
        if told.topic is Topic.ENRICHED and told.fields is not None:
            found[told.fields["session_id"]].append(dict(told.fields))
    return [records for records in found.values() if len(records) > 8]


SESSIONS = sessions()


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    items: Any = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def changed(record: dict[str, Any], path: Path, value: object) -> dict[str, Any]:
    record = copy.deepcopy(record)
    inner: Any = record
    for key in path[:-1]:
        inner = inner[key]
    if value is GONE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return record


@st.composite
def with_an_odd_record(draw: st.DrawFn) -> tuple[list[RecordStep], int]:
    records = list(draw(st.sampled_from(SESSIONS)))
    at = draw(st.integers(0, len(records) - 1))
    path = draw(st.sampled_from(list(places(records[at]))))
    records[at] = changed(records[at], path, draw(VALUES))
    return [RecordStep(0, number, number, record, number + 1) for number, record in enumerate(records)], at


@given(with_an_odd_record())
def test_what_is_not_passed_over_is_shown_on_every_tab(given_steps: tuple[list[RecordStep], int]) -> None:
    steps, at = given_steps
    if misfit(steps[at]) is not None:
        return
    course = LoopCourse()
    for step in steps:
        course.add(step.record)
    session_facts("s", steps[-1], course)
    for folded in (True, False):
        lens(steps, folded=folded).content()
    scores(steps, DEFAULTS)
    toned(evidence(explanation("s", steps)))
    saved(course, "EUR")
    twin(steps, at + 1)
    judge_again(steps, DEFAULTS)


def test_whatever_the_job_writes_is_shown() -> None:
    wrong = [
        misfit(RecordStep(0, number, number, record))
        for records in SESSIONS
        for number, record in enumerate(records)
    ]
    assert set(wrong) == {None}
