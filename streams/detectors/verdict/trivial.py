"""Results that say no more than that it worked (specification 6.6)."""

from __future__ import annotations

from streams.domain.text.marks import WIDTH, Marks, mark

_FEWEST_WORDS = 3
_LONG = 20
_CONFIRMING = frozenset(
    mark(word)
    for word in (
        *("ok", "done", "success", "successful", "successfully", "completed", "created", "updated"),
        *("modified", "written", "saved", "sent", "added", "deleted", "removed", "moved", "copied"),
        *("edited", "applied"),
    )
)


def is_trivial(words: Marks) -> bool:
    """Tell whether a result has too few words to mean anything, or is a short confirmation.

    >>> is_trivial(Marks.of({"file", "saved", "as", "draft"}))
    True
    >>> is_trivial(Marks.of({"three", "rows", "found"})), is_trivial(Marks.of({"rows", "found"}))
    (False, True)
    """
    count = len(words) // WIDTH
    if count < _FEWEST_WORDS:
        return True
    return count < _LONG and not _CONFIRMING.isdisjoint(words.set)
