"""Texts as sets of words that can be stored: each word a short digest, nothing of the text itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from hashlib import blake2b

from streams.core.domain.number import r4

#: Characters of a text that count.
USED = 4_000
_RUN = re.compile(r"[^\W_]+")
# Lower case where there is one, a blank for everything in ASCII that is neither letter nor digit.
_WORDS = bytes(ord(chr(byte).lower() if chr(byte).isalnum() else " ") for byte in range(128)) + bytes(128)
# The same, and what is not in ASCII stays as it is.
_PIECES = _WORDS[:128] + bytes(range(128, 256))


def words(text: str | None) -> dict[str, None]:
    """Return the words of a text in the order in which they first occur (specification 3.3).

    Words are runs of Unicode letters and digits, lower-cased; underscore and punctuation separate. Only the
    first 4,000 characters count. None has no words.

    >>> [*words("Alpha-BETA, gamma_1 beta!")]
    ['alpha', 'beta', 'gamma', '1']
    """
    if not text:
        return {}
    used = text[:USED]
    if used.isascii():
        return dict.fromkeys(used.encode("ascii").translate(_WORDS).decode("ascii").split())
    # The pattern is slow, so it sees only pieces that are no word yet. In lower case first: that of a letter
    # may depend on its neighbours.
    lower = used.lower().encode("utf-8", "surrogatepass").translate(_PIECES)
    pieces = dict.fromkeys(lower.decode("utf-8", "surrogatepass").split())
    if all(map(str.isalnum, pieces)):
        return pieces
    found: dict[str, None] = {}
    for piece in pieces:
        if piece.isalnum():
            found[piece] = None
        else:
            found.update(dict.fromkeys(_RUN.findall(piece)))
    return found


def tokens(text: str | None) -> frozenset[str]:
    """Return the words of a text as a set.

    >>> sorted(tokens("Alpha-BETA, gamma_1!"))
    ['1', 'alpha', 'beta', 'gamma']
    """
    return frozenset(words(text))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """Return |a and b| / |a or b|, unrounded, from 0 to 1; 0 when both are empty (specification 3.3).

    >>> jaccard(frozenset({"x", "y"}), frozenset({"y"}))
    0.5
    """
    shared = len(a & b)
    either = len(a) + len(b) - shared
    return shared / either if either else 0.0


#: Characters of a mark: 32 bits. Of 400,000 comparisons of 100 words with 100, one meets a chance equal.
WIDTH = 5

_MOST_REMEMBERED = 1 << 16
_LONGEST_REMEMBERED = 64
# This many words nearly always show that two texts are not alike.
_LOOKED_AT = 32
# Rounding to 4 decimals adds less than this.
_ROUNDED = 1e-4
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
# Two digits of base 85 at a time: a third of the time that `base64.b85encode` takes.
_PAIRS = [f"{first}{second}" for first in _DIGITS for second in _DIGITS]


class Marks(str):
    """A set of words as one text: a mark of `WIDTH` characters for each, without separators.

    As text it is JSON-able and read back by ``Marks(text)``; the set is made once per object, if at all. The
    marks stand in the order of the words, so that nothing has to be sorted: of two sets that are equal the
    texts may differ.

    >>> one, other = Marks.of(["alpha", "beta"]), Marks.of(["beta"])
    >>> len(one), one.jaccard(other), Marks(str(one)) == one
    (10, 0.5, True)
    """

    __slots__ = ("_set",)

    _set: frozenset[str]

    @classmethod
    def of(cls, words: Iterable[str]) -> Marks:
        """Return the marks of words that are all different, in their order."""
        return cls("".join(map(mark, words)))

    @property
    def set(self) -> frozenset[str]:
        """The marks one by one."""
        try:
            return self._set
        except AttributeError:
            self._set = frozenset(one_by_one(self))
            return self._set

    def without(self, other: Marks) -> Marks:
        """Return the marks that are not in another set.

        >>> Marks.of(["alpha", "beta"]).without(Marks.of(["beta"])) == Marks.of(["alpha"])
        True
        """
        others = other.set
        return Marks("".join([each for each in one_by_one(self) if each not in others]))

    def jaccard(self, other: Marks) -> float:
        """Return |a and b| / |a or b|, unrounded; 0 when both are empty (specification 3.3)."""
        if self == other:
            return 1.0 if self else 0.0
        # The other is often what a state kept, and would be made a set for this alone.
        shared = len(self.set.intersection(one_by_one(other)))
        return shared / ((len(self) + len(other)) // WIDTH - shared)

    def similarity(self, other: Marks, least: float) -> float | None:
        """Return the rounded `jaccard` of two sets that are alike, None when it is below ``least``.

        >>> words = "one two three four five six seven eight".split()
        >>> Marks.of(words).similarity(Marks.of([*words, "nine"]), least=0.85)
        0.8889
        >>> Marks.of(words).similarity(Marks.of(words[:4]), least=0.85) is None
        True
        """
        if self != other and self._differs(other, least):
            return None
        similarity = r4(self.jaccard(other))
        return similarity if similarity >= least else None

    def _differs(self, other: Marks, least: float) -> bool:
        """Tell, at little cost, that a similarity is below ``least``; False says nothing."""
        own, others = len(self), len(other)
        least -= _ROUNDED
        # With m marks missing in the other, (own - m) / (others + m) is the most they can be alike.
        spare = (own - least * others) / (1 + least)
        if spare < max(0, own - others):
            return True
        # A mark that is found may be parts of two others; one that is not found is missing for certain. The
        # last words of a text are read: what agents say first they say in every step.
        for at in range(own - WIDTH, max(own - _LOOKED_AT * WIDTH, 0) - 1, -WIDTH):
            if self[at : at + WIDTH] not in other:
                spare -= WIDTH
                if spare < 0:
                    return True
        return False


#: Takes the text of some marks apart.
one_by_one: Callable[[str], list[str]] = re.compile("." * WIDTH).findall


def places_among(marks: str, some: AbstractSet[str]) -> Sequence[int]:
    """Return which marks of a text, counted from 0, are in a set.

    >>> places_among(Marks.of(["alpha", "beta", "gamma"]), Marks.of(["gamma", "delta"]).set)
    [2]
    """
    each = one_by_one(marks)
    # Nearly always these are few, and often none.
    if some.isdisjoint(each):
        return ()
    return [at for at, mark in enumerate(each) if mark in some]


class _Remembered(dict[str, str]):
    """Words and their marks. Words come back all the time; when there are too many all are forgotten."""

    def __missing__(self, word: str) -> str:
        digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4).digest()
        number = int.from_bytes(digest, "big")
        made = f"{_PAIRS[number // 614_125]}{_PAIRS[number // 85 % 7_225]}{_DIGITS[number % 85]}"
        if len(word) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[word] = made
        return made


#: Returns the mark of a word.
mark: Callable[[str], str] = _Remembered().__getitem__
