"""Two steps side by side: what is equal, what differs, and what the detector does not compare."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from streams.console.step_diff.comparison import twin
from streams.console.view import RecordStep
from streams.core.domain.text.result_text import normalise_result, replaced_spans, with_placeholders
from streams.core.entry import Entry
from tests.stream import decision_log
from tests.unit.console.step_diff.recorded import steps_of


def steps(*results: str, arguments: str = '{"path": "a"}') -> list[RecordStep]:
    acts = []
    for number, result in enumerate(results):
        said = {"tool_input": arguments, "tool_output_summary": result}
        act = decision_log("look", "Read", "success", number=number, session="s-1", **said)
        acts.append(Entry("s-1", None, act, None))
    return steps_of(acts)


def test_results_that_differ_in_a_duration_are_equal_and_the_duration_is_marked() -> None:
    found = twin(steps("ok in 0.12s", "ok in 0.31s"), 2)
    assert found is not None
    call, result = found["parts"]
    assert (call["equal"], call["equal_as_came"]) == (True, True)
    assert (result["equal"], result["equal_as_came"]) == (True, False)
    marks = [each["mark"] for each in result["later"] if each["mark"]]
    assert set(marks) == {"a duration"}
    assert "".join(each["text"] for each in result["compared_later"]) == "ok in <dur>"


def test_results_that_differ_show_the_words_that_differ() -> None:
    found = twin(steps("two tests failed", "three tests failed"), 2)
    assert found is not None
    result = found["parts"][1]
    assert not result["equal"]
    assert [each["text"] for each in result["earlier"] if each["change"] == "delete"] == ["two"]
    assert [each["text"] for each in result["later"] if each["change"] == "insert"] == ["three"]


def test_the_first_step_has_no_twin() -> None:
    assert twin(steps("a", "b"), 1) is None


@given(st.text(alphabet="ab01 :.-/x\x1b[m" + "".join(chr(code) for code in range(0x30, 0x3A)), max_size=200))
def test_replaced_spans_are_in_order_and_do_not_overlap(text: str) -> None:
    end = 0
    for begin, stop, _ in replaced_spans(text):
        assert end <= begin < stop <= len(text)
        end = stop
    if not replaced_spans(text):
        assert with_placeholders(text) == text


@given(st.lists(st.sampled_from(["0.12s", "at", "0x7fFA10", "/tmp/ab", "2026-01-02T03:04:05Z", "\n", "12"])))
def test_the_segments_are_the_whole_text(words: list[str]) -> None:
    text = " ".join(words) or "-"
    found = twin(steps(text, text + " 9.99s"), 2)
    assert found is not None
    later = found["parts"][1]["later"]
    assert "".join(each["text"] for each in later) == text + " 9.99s"
    compared = "".join(each["text"] for each in found["parts"][1]["compared_later"])
    assert compared == normalise_result(text + " 9.99s")
    orjson.dumps(found)
