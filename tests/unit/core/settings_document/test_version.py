"""Versions go round: no document is the last one."""

from hypothesis import given
from hypothesis import strategies as st

from streams.core.settings_document.version import FARTHEST, LARGEST_VERSION, follows, next_version

VERSIONS = st.integers(1, LARGEST_VERSION) | st.sampled_from([1, 2, FARTHEST, LARGEST_VERSION])


@given(VERSIONS | st.just(0))
def test_every_version_has_one_that_follows_it(version: int) -> None:
    after = next_version(version)
    assert 1 <= after <= LARGEST_VERSION
    assert follows(after, version)
    assert not follows(version, after)


@given(VERSIONS)
def test_every_version_follows_no_document_and_none_follows_itself(version: int) -> None:
    assert follows(version, 0)
    assert not follows(0, version)
    assert not follows(version, version)


@given(VERSIONS, VERSIONS)
def test_of_two_versions_at_most_one_follows_the_other(one: int, other: int) -> None:
    assert not (follows(one, other) and follows(other, one))


@given(st.integers(1, FARTHEST - 1), st.integers(1, FARTHEST - 1))
def test_in_the_first_half_the_higher_one_follows(one: int, other: int) -> None:
    assert follows(one, other) == (one > other)
