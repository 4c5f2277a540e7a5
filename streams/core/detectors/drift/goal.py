"""How much of a session's goal its newest records still speak of (specification 5.5, goal_dna_drift)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from streams.core.domain.decision import Decision
from streams.core.domain.shared_window import FIRST, NOTHING, append, as_letters, item_of, letter
from streams.core.domain.text.marks import WIDTH, Marks, mark, places_among, words

_MOST_WORDS = 256
#: No `goal_window` is longer.
_OLDEST = 1_000
_SHORTEST = 3
# As specification 5.5 lists them.
_STOP_LIST = (
    "the and for with from that this into then are was has have not but you your its all any can will should "
    "must please"
)
_STOP_WORDS = frozenset(_STOP_LIST.split())


class GoalState(NamedTuple):
    """What is kept of the goal, and of the records that may speak of it. Words are kept as marks.

    Until a goal is seen, the words of the newest records are kept: a goal that comes later asks for them.
    From then on each word of the goal has an age, how many records ago it was last spoken of.

    Attributes:
        goal: the words of the goal; empty until one is seen.
        ages: for each word of the goal a letter for its age, `FIRST` for the newest record, `NOTHING` once it
            left the window.
        newest: while there is no goal, the words of the newest record; None before the first.
        earlier, order: the window (`streams.core.domain.shared_window`) of the records before that, each with
            the words that the next one did not use again.
    """

    goal: str = ""
    ages: str = ""
    newest: str | None = None
    earlier: Sequence[str | None] = ()
    order: str = ""

    @classmethod
    def upgraded(cls, stored: Sequence[Any]) -> GoalState:
        """Return the state of an earlier version, which kept ages and places as numbers."""
        goal, ages, newest, earlier, order = stored
        return cls(goal, as_letters(ages), newest, earlier, as_letters(order))

    def stored(self) -> Sequence[Any]:
        """Return the state as it is kept; once the goal is known, it is all there is."""
        return self[:2] if self.goal else (*self,)

    @property
    def drift(self) -> float | None:
        """1 - the share of the goal that something in the window speaks of; None without a goal."""
        return _drift(self.ages)


def goal_words(text: str | None) -> list[str]:
    """Return the words of a text that can be words of a goal: not short, not common, the first 256.

    >>> goal_words("Fix the login bug in auth module")
    ['fix', 'login', 'bug', 'auth', 'module']
    """
    return _telling(words(text))


def _telling(found: Iterable[str]) -> list[str]:
    telling = [word for word in found if len(word) >= _SHORTEST and word not in _STOP_WORDS]
    return telling if len(telling) <= _MOST_WORDS else sorted(telling)[:_MOST_WORDS]


def follow(stored: Sequence[Any], decision: Decision, window: int) -> tuple[Sequence[Any], float | None]:
    """Return what is kept of the goal after one more record, and `GoalState.drift`.

    Args:
        stored: what was kept until now, see `GoalState.stored`.
        decision: the newest record of the session.
        window: setting `goal_window`, in records.
    """
    goal = stored[0]
    if goal:
        # As in most records, there is nothing else to follow.
        ages = _aged(goal, stored[1], decision, window)
        return (goal, ages), _drift(ages)
    state = advance(GoalState(*stored), decision, window)
    return state.stored(), state.drift


def advance(state: GoalState, decision: Decision, window: int) -> GoalState:
    """Return the state with one more record.

    Args:
        state: the state until now.
        decision: the newest record. It gives the goal if it is the first that names one.
        window: setting `goal_window`, in records.
    """
    if state.goal:
        return GoalState(state.goal, _aged(state.goal, state.ages, decision, window))
    newest, earlier, order = Marks.of(_telling(decision.spoken_words)), state.earlier, state.order
    if window == 1:
        earlier, order = (), ""
    elif state.newest is not None:
        earlier, order = append(earlier, order, str(Marks(state.newest).without(newest)), window - 1)
    goal = Marks.of(goal_words(decision.goal))
    if not goal:
        return GoalState(newest=str(newest), earlier=earlier, order=order)
    # From here on it is as if the goal had been known from the start.
    known, ages = str(goal), NOTHING * (len(goal) // WIDTH)
    for place in order:
        spoken = Marks(item_of(earlier, place) or "").set
        ages = _with_spoken(ages, places_among(known, spoken), window)
    return GoalState(known, _with_spoken(ages, places_among(known, newest.set), window))


def _aged(goal: str, ages: str, decision: Decision, window: int) -> str:
    """Return the ages of the words of a goal after one more record."""
    # No word of a goal is short or common, so only the limit of 256 needs the others left out.
    if decision.speaks_more_than(_MOST_WORDS):
        spoken = places_among(goal, set(map(mark, _telling(decision.spoken_words))))
    else:
        spoken = decision.spoken_among(goal)
    return _with_spoken(ages, spoken, window)


def _with_spoken(ages: str, spoken: Sequence[int], window: int) -> str:
    """Return the ages after one more record, in which the words at these places were spoken of."""
    ages = ages.translate(_older(window))
    if not spoken:
        return ages
    each = list(ages)
    for at in spoken:
        each[at] = FIRST
    return "".join(each)


def _drift(ages: str) -> float | None:
    words = len(ages)
    return 1 - (words - ages.count(NOTHING)) / words if words else None


@lru_cache(maxsize=64)
def _older(window: int) -> str:
    """Return the letter that each becomes with one more record; a word that is too old leaves the window.

    What left a window stays out of it, so a window that grows again finds only what it still held.
    """
    ages = [letter(age + 1) if age + 1 < window else NOTHING for age in range(_OLDEST)]
    # `str.translate` looks a letter up by its number, so the table is a text as well.
    return NOTHING * ord(FIRST) + "".join(ages)
