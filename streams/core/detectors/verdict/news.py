"""News: what an answer says that its own call did not, and what of it the session had not heard (6.3b)."""

from __future__ import annotations

from typing import Final, NamedTuple

from streams.core.domain.decision import Decision
from streams.core.domain.text.added import LONG, SHORT_MARK
from streams.core.domain.text.digest import digest

#: Words that are remembered, by their short marks.
MOST_TOLD: Final = 96
#: Characters of what a tool told, and how many of these are remembered.
HEARD_MARK: Final = 6
MOST_HEARD: Final = 24
#: The least news words of an answer that may hold nearly no new word.
_NEARLY_FROM: Final = 6
_NEARLY: Final = 6


class News(NamedTuple):
    """What an answer adds to its call.

    Attributes:
        text: the news words, with blanks in between.
        size: how many these are.
        numbers: the numbers beside them, which its call lacks too.
        sample: short marks of the words that are compared, in order.
        fresh: those of the sample that were not told before.
    """

    text: str
    size: int
    numbers: list[str]
    sample: list[str]
    fresh: list[str]

    @property
    def words(self) -> list[str]:
        """The news words."""
        return self.text.split()

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
        return self.size > LONG


def news_of(decision: Decision, known_words: str) -> News:
    """Return what a step tells: what it adds (`streams.core.domain.text.added`), and what of it is fresh.

    Args:
        decision: the record of the step.
        known_words: the words of earlier results, as `remembered` gives them.

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
    added = decision.added
    fresh = [
        each
        for each in added.sample
        if each not in known_words or not _stands_in(known_words, each, SHORT_MARK)
    ]
    return News(*added, fresh)


def remembered(known_words: str, news: News) -> str:
    """Return the words that were told, the newest last, with those of an answer added.

    >>> remembered("abc", News("word", 1, [], ["xyz"], ["xyz"]))
    'abcxyz'
    """
    if not news.fresh:
        return known_words
    return (known_words + "".join(news.fresh))[-SHORT_MARK * MOST_TOLD :]


def heard_mark(decision: Decision, news: News) -> str:
    """Return a mark of what a tool told: equal for the same news of the same tool, failed or not.

    The numbers of an error are the same error; those of an answer are another answer.
    """
    failing = decision.status == "failure"
    more = f"{news.size}" if news.is_long else ""
    if not failing:
        more += " ".join(["", *news.numbers])
    return (digest(f"{decision.tool}\0{failing}\0{''.join(news.sample)}{more}") or "")[:HEARD_MARK]


def was_heard(heard: str, mark: str) -> bool:
    """Tell whether one of the marks was remembered.

    >>> was_heard("123456abcdef", "abcdef"), was_heard("123456abcdef", "3456ab")
    (True, False)
    """
    return _stands_in(heard, mark, HEARD_MARK)


def _stands_in(marks: str, mark: str, width: int) -> bool:
    """Tell whether a mark is one of those in a text of marks of this width."""
    at = marks.find(mark)
    while at >= 0 and at % width:
        at = marks.find(mark, at + 1)
    return at >= 0


def hearing(heard: str, mark: str) -> str:
    """Return the marks of what was told, the newest last, with one more."""
    return heard if was_heard(heard, mark) else (heard + mark)[-HEARD_MARK * MOST_HEARD :]
