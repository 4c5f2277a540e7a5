"""The page about the inbox names every word that there is."""

from pathlib import Path

import pytest

from streams.console.inbox.terms import WORDS
from streams.console.read_model.attention import Class

PAGE = (Path(__file__).parents[3] / "docs" / "inbox.md").read_text()


@pytest.mark.parametrize("word", WORDS)
def test_every_word_of_the_filter_is_explained(word: str) -> None:
    assert f"`{word}" in PAGE


@pytest.mark.parametrize("each", [each for each in Class if each is not Class.RECOVERED])
def test_every_class_is_explained(each: Class) -> None:
    assert f"\n| {each} |" in PAGE
