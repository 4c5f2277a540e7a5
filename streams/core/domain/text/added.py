"""What an answer says that its own call did not (specification 6.3b)."""

from __future__ import annotations

from typing import Final, NamedTuple

from streams.core.domain.text.marks import mark, words

#: Characters of a result, or an intent, that are heard, and of the arguments that add nothing.
HEARD_CHARACTERS: Final = 600
OWN_CHARACTERS: Final = 1_000
#: Answers that add more words than this are compared by a sample of them.
LONG: Final = 32
#: Words of the sample: those with the lowest marks, so that equal texts give equal samples.
SAMPLE: Final = 12
#: Characters of the mark of a word that is compared.
SHORT_MARK: Final = 3

#: What a mark may begin with, in order.
_LEADING: Final = sorted(
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
)


class Added(NamedTuple):
    """What an answer adds to its call.

    Attributes:
        text: the words, with blanks in between.
        size: how many these are.
        numbers: the numbers beside them.
        sample: short marks of the words that are compared, in order.
    """

    text: str
    size: int
    numbers: list[str]
    sample: list[str]


def added(tool: str | None, arguments: str, intent: str | None, result: str | None) -> Added:
    """Return what a step adds.

    The words that a call adds are those of its normalised result that its arguments lack. Numbers are no
    words, unless more than two thirds of the words are numbers. A step without a tool adds all words of its
    intent and its result.

    >>> added("edit", "a.py", None, "a.py: 3 ok")
    Added(text='ok', size=1, numbers=['3'], sample=['c@z'])
    """
    answered = words((result or "")[:HEARD_CHARACTERS])
    numbers: list[str] = []
    if tool:
        own = words(arguments[:OWN_CHARACTERS])
        found = [word for word in answered if word not in own]
        digits = [word for word in found if word.isdecimal()]
        if digits and len(digits) * 3 <= len(found) * 2:
            found, numbers = [word for word in found if not word.isdecimal()], digits
    else:
        found = [*{**words((intent or "")[:HEARD_CHARACTERS]), **answered}]
    sample = [each[:SHORT_MARK] for each in _compared(list(map(mark, found)))]
    return Added(" ".join(found), len(found), numbers, sample)


def _compared(marks: list[str]) -> list[str]:
    """Return the marks of the words that are compared, in order."""
    if len(marks) <= LONG:
        return sorted(marks)
    # Most of many are not among the lowest, and need not be sorted.
    below = _LEADING[min(len(_LEADING) - 1, len(_LEADING) * 3 * SAMPLE // len(marks))]
    low = [each for each in marks if each < below]
    return sorted(low if len(low) >= SAMPLE else marks)[:SAMPLE]
