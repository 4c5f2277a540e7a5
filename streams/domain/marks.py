"""Texts as sets of words that can be stored: each word a short digest, nothing of the text itself."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

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
        return cls("".join(sorted(set(map(mark, words)))))

    @property
    def set(self) -> frozenset[str]:
        """The marks one by one."""
        try:
            return self._set
        except AttributeError:
            self._set = frozenset([self[at : at + WIDTH] for at in range(0, len(self), WIDTH)])
            return self._set

    def jaccard(self, other: Marks) -> float:
        """Return |a and b| / |a or b|, unrounded; 0 when both are empty (SEMANTICS 3.3)."""
        if self == other:
            return 1.0 if self else 0.0
        shared = len(self.set & other.set)
        return shared / (len(self.set) + len(other.set) - shared)


@lru_cache(maxsize=1 << 16)
def mark(word: str) -> str:
    """Return the mark of a word. Words come back all the time, so marks are remembered."""
    return b64encode(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=6).digest())[:WIDTH].decode()
