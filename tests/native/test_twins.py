"""The native core returns what Python returns: any text, any record, any bytes."""

import random
from copy import deepcopy

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schemas.bundled import latest
from schemas.numbers import SUBJECT_NUMBERS
from tests.native.texts import Texts
from tests.stream import decision_log
from tests.unit.core.domain.test_validation import FULL
from tests.unit.schemas.samples import fullest, records, smallest

pytest.importorskip("eddy_native", reason="eddy-native is not installed: `make native` builds it, with cargo")

from schemas.avro_writer import compile_writer
from tests.native import agreement

ANY_TEXT = st.text(st.characters(), max_size=40)
SEEDS = st.integers(0, 2**64)


def known(text, **action):
    return decision_log(text, "read_file", "success", tool_output_summary=text, **action)


@given(SEEDS)
def test_hostile_texts_are_read_alike(seed):
    agreement.on_decision(Texts(random.Random(seed)).known())


@given(ANY_TEXT, ANY_TEXT, ANY_TEXT)
@example("Ὀδυσσεύς ΟΔΥΣΣΕΥΣ", "İI ıi ǅ", "ﬀ ß ẞ")
@example("a\ud800b", '{"\ud800":1}', '"\\ud800"')
def test_any_texts_are_read_alike(intent, tool_input, result):
    agreement.on_decision(
        decision_log(intent, "t", "failure", tool_input=tool_input, error=result, target=tool_input)
    )


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers())
def test_numbers_are_written_alike(number, integer):
    agreement.on_decision(known("x", tool_input=f'{{"a":{number!r},"b":[{integer}],"c":{integer}e-7}}'))


@pytest.mark.parametrize("length", [3999, 4000, 4001, 8000])
@pytest.mark.parametrize("letter", ["a", "é", "😀", "\0", " "])
def test_texts_are_cut_at_the_same_character(length, letter):
    text = letter * (length - 9) + " 0.12s ab"
    assert agreement.on_decision(known(text)) == 0
    assert agreement.on_decision(decision_log(text, "t", tool_input="{}", error="b c", target="d e")) == 0


def test_numbers_of_any_length_are_written_alike():
    assert agreement.on_decision(known("x", tool_input=f"[{'9' * 5000},-{'1' * 5000}.5]")) == 0


def test_every_letter_is_the_same_letter():
    """Python's version of Unicode counts, so each letter is asked for in a text of its own."""
    left = []
    for start in range(0, 0x110000, 64):
        letters = [chr(code) for code in range(start, start + 64) if not 0xD800 <= code < 0xE000]
        if letters and agreement.on_decision(known(f"x{'x '.join(letters)}x")):
            left += letters
    assert "Σ" in left
    assert len(left) == 64


def test_every_digit_is_the_same_digit():
    for start in range(0, 0x110000, 64):
        letters = [chr(code) for code in range(start, start + 64) if not 0xD800 <= code < 0xE000]
        agreement.on_decision(known(f"{' '.join(letters)} {'a b c ' * 9}", tool_input="{}"))


def test_few_texts_are_left_to_python():
    assert agreement.on_decision(known("é 读 İ 😀 \x1c")) == 0
    assert agreement.on_decision(known("\ud800")) == 1
    assert agreement.on_decision(known("Σ")) == 1


@given(SEEDS, SEEDS)
def test_sets_are_compared_alike(one, other):
    sets = [
        agreement.Decision.of(0, 0, Texts(random.Random(seed)).known()).step_marks for seed in (one, other)
    ]
    assert agreement.on_sets(*sets) == 0
    assert agreement.on_sets(sets[0], sets[0][:50] + sets[1]) == 0


@pytest.mark.parametrize("text", ["abcd", "abcdefghi", "ab\nde", "äbcde", "abcdeabcde", "\ud800bcde"])
def test_what_is_no_set_of_marks_is_compared_alike(text):
    agreement.on_sets(text, "abcdefghij")
    agreement.on_sets("abcdefghij", text)


PATHS = [(group, name) for group, part in FULL.items() if isinstance(part, dict) for name in part]
PATHS += [(None, name) for name in FULL]
MISFITS = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), ANY_TEXT, st.lists(ANY_TEXT, max_size=2)),
    *(
        st.just({}),
        st.just([None]),
        st.just(["\ud800"]),
        st.just(b"x"),
        st.just(2**63),
        st.just(-(2**63) - 1),
    ),
)


@given(st.lists(st.tuples(st.sampled_from(PATHS), st.booleans(), MISFITS), max_size=3))
def test_records_are_valid_alike(changes):
    value = deepcopy(FULL)
    for (group, name), removed, misfit in changes:
        part = value if group is None else value.get(group)
        if isinstance(part, dict):
            part[name] = misfit
            if removed:
                del part[name]
    agreement.on_validity(value)


def test_an_ordinary_record_is_judged_valid_by_the_native_core():
    assert agreement.on_validity(deepcopy(FULL)) == 0
    assert agreement.on_validity(decision_log(None, None)) == 0
    assert agreement.on_validity({**decision_log(), "unknown": [1]}) == 0


@pytest.mark.parametrize("subject", SUBJECT_NUMBERS)
@given(data=st.data())
def test_records_are_written_alike(subject, data):
    assert agreement.on_output(subject, data.draw(records(latest(subject).definition))) == 0


@pytest.mark.parametrize("make", [smallest, fullest])
@pytest.mark.parametrize("subject", SUBJECT_NUMBERS)
def test_the_smallest_and_the_fullest_record_are_written_alike(subject, make):
    assert agreement.on_output(subject, make(latest(subject).definition)) == 0


@pytest.mark.parametrize(
    "misfit", [None, True, 1, 2**63, 1.5, "x", "\ud800", [], [1], (), {}, {"a": "\ud800"}, b""]
)
@pytest.mark.parametrize("subject", SUBJECT_NUMBERS)
def test_misfits_are_written_alike_or_left_to_python(subject, misfit):
    whole = fullest(latest(subject).definition)
    for name, part in whole.items():
        agreement.on_output(subject, {**whole, name: misfit})
        for inner in part if isinstance(part, dict) else ():
            agreement.on_output(subject, {**whole, name: {**part, inner: misfit}})


DECISION_LOG = latest("decision-logs-value").definition
WRITE = compile_writer(DECISION_LOG)


@given(records(DECISION_LOG), st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=2)), max_size=2))
def test_data_are_read_alike_though_they_are_hurt(record, changes):
    data = bytearray(WRITE(record))
    assert agreement.on_data(bytes(data)) == 0
    for at, put in changes:
        data[at : at + len(put)] = put
    agreement.on_data(bytes(data))
    agreement.on_data(bytes(data[: len(data) // 2]))


@given(st.binary(max_size=200))
def test_any_data_are_read_alike(data):
    agreement.on_data(data)


def test_a_list_that_claims_many_items_is_left_to_python():
    record = WRITE({**FULL, "cognition": {"intent": "", "reasoning_chain": [""] * 20_000}})
    assert agreement.on_data(record) == 1
