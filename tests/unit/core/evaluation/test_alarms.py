"""Questions that need no detector."""

from streams.core.domain.decision import Decision
from streams.core.domain.validation import known_fields
from streams.core.evaluation.alarms import Baselines
from tests.stream import decision_log


def decision(arguments: str = "a", result: str = "one row") -> Decision:
    known = known_fields(
        decision_log(tool="search", status="success", tool_input=arguments, tool_output_summary=result)
    )
    assert known is not None
    return Decision.of(0, 0, known)


def test_the_third_same_call_with_the_same_result_is_the_first_that_counts() -> None:
    baselines = Baselines()
    calls = [decision(), decision(), decision(), decision(), decision("b"), decision(), decision()]
    holds = ["same-result-3" in baselines.next(each) for each in calls]
    assert holds == [False, False, True, True, False, False, False]


def test_another_result_is_another_call_to_one_and_the_same_to_the_other() -> None:
    baselines = Baselines()
    said = [baselines.next(decision(result=result)) for result in ("one row", "two rows", "three rows")]
    assert said == [(), ("baseline",), ("baseline",)]


def test_a_session_is_long_from_the_named_record_on_refused_ones_included() -> None:
    baselines = Baselines()
    baselines.skip()
    said = [baselines.next(decision(str(number))) for number in range(2, 37)]
    assert [number for number, names in enumerate(said, 2) if "long-25" in names] == [*range(25, 37)]
    assert [number for number, names in enumerate(said, 2) if "long-35" in names] == [35, 36]
