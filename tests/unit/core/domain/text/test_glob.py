from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.text.glob import MOST_SEARCHED, Globs, are_affordable

NAMES = st.text("ab_[]!-*?.&~|^\\é", max_size=6)


@pytest.mark.parametrize(
    ("name", "glob", "fits"),
    [
        ("read_file", "read_*", True),
        ("Read_File", "read_*", True),
        ("bread_x", "read_*", False),
        ("cat", "cat", True),
        ("concat", "cat", False),
        ("v1", "v?", True),
        ("v10", "v?", False),
        ("v1", "v[0-9]", True),
        ("a.b", "a.b", True),
        ("axb", "a.b", False),
        ("", "", True),
    ],
)
def test_the_whole_lower_cased_name_must_fit(name, glob, fits):
    assert Globs((glob,)).match(name.lower()) is fits


@given(NAMES, st.lists(NAMES, max_size=6))
def test_the_first_that_fits_is_the_first_for_which_fnmatch_says_so(name, globs):
    fitting = (index for index, glob in enumerate(globs) if fnmatchcase(name, glob))
    assert Globs(globs).first(name) == next(fitting, None)


@given(st.text("ab", max_size=12), st.text("ab*", max_size=8))
def test_texts_between_stars_fit_as_with_fnmatch(name, glob):
    assert Globs((glob,)).match(name) == fnmatchcase(name, glob)


@given(st.text(), st.text())
def test_every_text_is_a_glob(name, glob):
    assert Globs((glob,)).match(name) == fnmatchcase(name, glob)


@pytest.mark.parametrize("glob", ["tool-{}", "tool-{}-*", "*-{}"])
def test_names_beginnings_and_ends_are_affordable_in_any_number(glob):
    assert are_affordable(glob.format(number) for number in range(100_000))


@pytest.mark.parametrize("glob", ["*{}*", "a*{}", "*{}*b", "{}?", "[a]{}", "{}**"])
def test_patterns_that_are_searched_for_are_not(glob):
    assert not are_affordable(glob.format(number) for number in range(1_000))


def test_the_others_are_affordable_up_to_a_sum_of_characters():
    assert are_affordable(["[ab]" * (MOST_SEARCHED // 8), "?" * (MOST_SEARCHED // 2)])
    assert not are_affordable(["[ab]" * (MOST_SEARCHED // 8), "?" * (MOST_SEARCHED // 2), "?"])
