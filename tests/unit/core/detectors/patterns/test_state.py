"""The window of versions keeps marks and letters, and says what one of texts and numbers would say."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.patterns.state import PatternsState, Versions, contents, upgraded, version
from streams.core.domain.shared_window import FIRST, NOTHING, append
from streams.core.domain.text.digest import bounded, bounded_hash

TARGETS = st.sampled_from(["a.py", "b.py", "x" * 3_000, "x" * 3_000 + "y", "é"])
TOOLS = st.sampled_from([None, "cat", "edit", "t" * 2_000])
HASHES = st.sampled_from([None, "h0", "h1", "h1" * 40])
ACTS = st.none() | st.tuples(TOOLS, TARGETS, HASHES)


@given(st.lists(ACTS, max_size=30), st.integers(1, 12))
def test_an_earlier_window_of_texts_becomes_the_window_that_marks_would_have_made(
    acts: list[tuple[str | None, str, str | None] | None], size: int
) -> None:
    texts: Sequence[list[str | None] | None] = ()
    versions: Versions = ()
    order = places = ""
    for act in acts:
        kept = None if act is None else _as_text(*act)
        texts, order = append(texts, order, kept, size)
        versions, places = append(versions, places, None if act is None else version(*act), size)
        numbers = [-1 if each == NOTHING else ord(each) - ord(FIRST) for each in order]
        upgrade = upgraded(["." * len(numbers), [*texts], numbers, None, 0, []])
        assert upgrade == PatternsState("." * len(places), [*versions], places, None, 0, [])


def _as_text(tool: str | None, target: str, content_hash: str | None) -> list[str | None]:
    """Return what an earlier version kept of a record."""
    return [
        None if tool is None else bounded(tool),
        bounded(target),
        None if content_hash is None else bounded_hash(content_hash),
    ]


@given(st.lists(st.tuples(TOOLS, TARGETS, HASHES), min_size=1, max_size=12))
def test_the_contents_of_a_target_are_those_of_its_records_alone(
    acts: list[tuple[str | None, str, str | None]],
) -> None:
    versions: Versions = ()
    places = ""
    for act in acts:
        versions, places = append(versions, places, version(*act), 100)
    found = contents(versions, places)
    _, target, _ = acts[-1]
    for letter, (_, other, content_hash) in zip(places, acts, strict=True):
        assert (letter in found) is (other == target)
        if letter in found:
            assert bool(found[letter]) is (content_hash is not None)
