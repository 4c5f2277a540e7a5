"""News: what an answer says that its own call did not, and what of it the session had not heard (6.3b)."""

from __future__ import annotations

from typing import Final, NamedTuple

from streams.domain.decision import Decision
from streams.domain.text.digest import digest
from streams.domain.text.marks import mark
from streams.domain.text.tokens import words

#: Characters of a result, or an intent, that can be news, and of the arguments that make them none.
HEARD_CHARACTERS: Final = 600
OWN_CHARACTERS: Final = 1_000
#: Answers of more news words than this are compared by a sample of them.
LONG: Final = 32
#: Words of the sample: those with the lowest marks, so that equal texts give equal samples.
SAMPLE: Final = 12
#: Characters of a word that is remembered, and how many words are.
SHORT_MARK: Final = 3
MOST_TOLD: Final = 96
#: Characters of what a tool told, and how many of these are remembered.
HEARD_MARK: Final = 6
MOST_HEARD: Final = 24
#: The least news words of an answer that may hold nearly no new word.
_NEARLY_FROM: Final = 6
_NEARLY: Final = 6


#: What a mark may begin with, in order.
_LEADING: Final = sorted(
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
)


class News(NamedTuple):
    """What an answer adds to its call.

    Attributes:
        words: the news words.
        numbers: the numbers beside them, which its call lacks too.
        sample: short marks of the words that are compared, in order.
        fresh: those of the sample that were not told before.
    """

    words: list[str]
    numbers: list[str]
    sample: list[str]
    fresh: list[str]

    @property
    def size(self) -> int:
        """The number of the news words."""
        return len(self.words)

    @property
    def is_known(self) -> bool:
        """Whether there are news words, and each was told before."""
        return bool(self.sample) and not self.fresh

    @property
    def is_nearly_known(self) -> bool:
        """Whether at most one in six of the news words is new, at least one."""
        return (
            bool(self.fresh)
            and self.size >= _NEARLY_FROM
            and len(self.fresh) <= max(1, len(self.sample) // _NEARLY)
        )

    @property
    def is_long(self) -> bool:
        """Whether only a sample of the words is compared."""
        return len(self.words) > LONG


def news_of(decision: Decision, told: str) -> News:
    """Return what a step tells.

    The news words of a call are those of its normalised result that its arguments lack. Numbers are no words,
    unless more than two thirds of the words are numbers. Those of a step without a tool are all words of its
    intent and its result.

    Args:
        decision: the step.
        told: the words that were told before, as `remembered` gives them.

    >>> action = {
    ...     "status": "success",
    ...     "tool_call": "edit",
    ...     "tool_input": "a.py",
    ...     "tool_output_summary": "a.py: 3 ok",
    ... }
    >>> known = {"session_id": "", "event_id": "", "meta": {"timestamp": 0}, "identity": {"agent_id": ""}}
    >>> news_of(Decision.of(0, 0, {**known, "action": action}), "").size
    1
    """
    told_words = words((decision.result or "")[:HEARD_CHARACTERS])
    numbers: list[str] = []
    if decision.tool_call:
        own = words(decision.canonical_input[:OWN_CHARACTERS])
        found = [word for word in told_words if word not in own]
        digits = [word for word in found if word.isdecimal()]
        if digits and len(digits) * 3 <= len(found) * 2:
            found, numbers = [word for word in found if not word.isdecimal()], digits
    else:
        found = [*{**words((decision.intent or "")[:HEARD_CHARACTERS]), **told_words}]
    sample = [each[:SHORT_MARK] for each in _compared(list(map(mark, found)))]
    return News(found, numbers, sample, [each for each in sample if not _stands_in(told, each, SHORT_MARK)])


def _compared(marks: list[str]) -> list[str]:
    """Return the marks of the words that are compared, in order."""
    if len(marks) <= LONG:
        return sorted(marks)
    # Most of many are not among the lowest, and need not be sorted.
    below = _LEADING[min(len(_LEADING) - 1, len(_LEADING) * 3 * SAMPLE // len(marks))]
    low = [each for each in marks if each < below]
    return sorted(low if len(low) >= SAMPLE else marks)[:SAMPLE]


def remembered(told: str, news: News) -> str:
    """Return the words that were told, the newest last, with those of an answer added.

    >>> remembered("abc", News(["xyz"], [], ["xyz"], ["xyz"]))
    'abcxyz'
    """
    if not news.fresh:
        return told
    return (told + "".join(news.fresh))[-SHORT_MARK * MOST_TOLD :]


def heard_mark(decision: Decision, news: News) -> str:
    """Return a mark of what a tool told: equal for the same news of the same tool, failed or not.

    The numbers of an error are the same error; those of an answer are another answer.
    """
    failing = decision.status == "failure"
    more = f"{news.size}" if news.is_long else ""
    if not failing:
        more += " ".join(["", *news.numbers])
    return (digest(f"{decision.tool}\0{failing}\0{''.join(news.sample)}{more}") or "")[:HEARD_MARK]


def was_heard(heard: str, told: str) -> bool:
    """Tell whether one of the marks was remembered.

    >>> was_heard("123456abcdef", "abcdef"), was_heard("123456abcdef", "3456ab")
    (True, False)
    """
    return _stands_in(heard, told, HEARD_MARK)


def _stands_in(marks: str, mark: str, width: int) -> bool:
    """Tell whether a mark is one of those in a text of marks of this width."""
    at = marks.find(mark)
    while at >= 0 and at % width:
        at = marks.find(mark, at + 1)
    return at >= 0


def hearing(heard: str, told: str) -> str:
    """Return the marks of what was told, the newest last, with one more."""
    return heard if was_heard(heard, told) else (heard + told)[-HEARD_MARK * MOST_HEARD :]
