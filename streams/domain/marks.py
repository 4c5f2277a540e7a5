"""Texts as sets of words that can be stored: each word a short digest, nothing of the text itself."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

from streams.domain.number import r4

#: Characters of a mark: 36 bits. Of a million comparisons of 300 words with 300, one meets a chance equal.
WIDTH = 6


class Marks(str):
    """A set of words as one text: a mark of `WIDTH` characters for each, sorted, without separators.

    As text it is JSON-able and read back by ``Marks(text)``; the set is made once per object.

    >>> one, other = Marks.of({"alpha", "beta"}), Marks.of({"beta"})
    >>> len(one), one.jaccard(other), Marks(str(one)) == one
    (12, 0.5, True)
    """

    __slots__ = ("_set",)

    _set: frozenset[str]

    @classmethod
    def of(cls, words: Iterable[str]) -> Marks:
        """Return the marks of some words."""
        marks = frozenset(map(mark, words))
        made = cls("".join(sorted(marks)))
        made._set = marks
        return made

    @property
    def set(self) -> frozenset[str]:
        """The marks one by one."""
        try:
            return self._set
        except AttributeError:
            self._set = frozenset(_one_by_one(self))
            return self._set

    def without(self, other: Marks) -> Marks:
        """Return the marks that are not in another set.

        >>> Marks.of({"alpha", "beta"}).without(Marks.of({"beta"})) == Marks.of({"alpha"})
        True
        """
        return Marks("".join([each for each in _one_by_one(self) if each not in other.set]))

    def jaccard(self, other: Marks) -> float:
        """Return |a and b| / |a or b|, unrounded; 0 when both are empty (SEMANTICS 3.3)."""
        if self == other:
            return 1.0 if self else 0.0
        # The other is often what a state kept, and would be made a set for this alone.
        shared = len(self.set.intersection(_one_by_one(other)))
        return shared / ((len(self) + len(other)) // WIDTH - shared)

    def similarity(self, other: Marks, least: float) -> float | None:
        """Return the rounded `jaccard` of two sets that are alike, None when it is below ``least``.

        >>> words = "one two three four five six seven eight".split()
        >>> Marks.of(words).similarity(Marks.of([*words, "nine"]), least=0.85)
        0.8889
        >>> Marks.of(words).similarity(Marks.of(words[:4]), least=0.85) is None
        True
        """
        # The smaller set is at most all that they share, and their sizes are known without taking them apart.
        smaller, larger = sorted((len(self), len(other)))
        if larger and r4(smaller / larger) < least:
            return None
        similarity = r4(self.jaccard(other))
        return similarity if similarity >= least else None


_one_by_one = re.compile("." * WIDTH).findall


@lru_cache(maxsize=1 << 16)
def mark(word: str) -> str:
    """Return the mark of a word. Words come back all the time, so marks are remembered."""
    return b64encode(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=6).digest())[:WIDTH].decode()
