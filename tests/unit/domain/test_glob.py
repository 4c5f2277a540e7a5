from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.domain.glob import any_of, matches

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
    assert matches(name, glob) is fits


@given(NAMES, st.lists(NAMES, max_size=4))
def test_any_of_does_what_fnmatch_does_one_by_one(name, globs):
    assert bool(any_of(tuple(globs)).match(name)) == any(fnmatchcase(name, glob) for glob in globs)


@given(st.text(), st.text())
def test_every_text_is_a_glob(name, glob):
    assert matches(name, glob) == fnmatchcase(name.lower(), glob)
