"""Five signals of drift as one number, what is left of the goal, and what that calls for (5.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from streams.core.detectors.drift.settings import DriftSettings
from streams.core.domain.decision import Decision
from streams.core.domain.number import r4
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


#: The names of the signals, in the order in which they are added up.
SIGNALS = ("goal_dna_drift", "loop_risk", "budget_velocity", "quality_degradation", "stuck_time")

Signals = Mapping[str, float | None]


def drift_overall(signals: Signals, weights: Mapping[str, float]) -> float:
    """Return the overall drift, 0 to 1, 4 decimals: the weighted sum of the signals.

    Args:
        signals: a value for each of `SIGNALS`, None where nothing is known.
        weights: setting `signal_weights`. They are not scaled up for signals that are not known.

    >>> from streams.core.detectors.drift.settings import DriftSettings
    >>> signals = dict(zip(SIGNALS, (0.45, 0.20, -0.30, 0.15, 0.10)))
    >>> drift_overall(signals, DriftSettings().signal_weights)
    0.295
    """
    overall = 0.0
    for name in SIGNALS:
        # Most signals of most records are 0 or not known, and add nothing.
        signal = signals[name]
        if signal:
            overall += weights[name] * _entering(name, signal)
    return r4(overall)


def contributions(signals: Signals, weights: Mapping[str, float]) -> dict[str, float]:
    """Return what each signal adds to the overall drift, 4 decimals, 0 where nothing is known."""
    return {name: r4(weights[name] * _entering(name, signals[name])) for name in SIGNALS}


def _entering(name: str, signal: float | None) -> float:
    """Return a signal as it enters the sum: 0 to 1, the velocity by its amount whatever its direction."""
    if not signal:
        return 0.0
    if name == "budget_velocity":
        signal = abs(signal)
    return clamped(signal)


def clamped(value: float) -> float:
    """Return the value, or the nearer end of 0 to 1."""
    return 0.0 if value <= 0.0 else min(1.0, value)


#: What an agent runtime is advised to do at each level, mildest first.
SUGGESTIONS = {
    "CONTINUE": "Continue normally.",
    "INJECT_REMINDER": "Remind the agent of its goal in the next prompt.",
    "SUMMARIZE_REPLAN": "Summarise what was done and make a new plan.",
    "CHECKPOINT_RESET": "Go back to the last good checkpoint.",
    "ASK_USER": "Ask the user for help and explain the situation.",
}
LEVELS = (*SUGGESTIONS,)
CONTINUE = LEVELS[0]

#: The setting at which each level begins, mildest first.
THRESHOLDS = {
    "INJECT_REMINDER": "nudge_threshold",
    "SUMMARIZE_REPLAN": "replan_threshold",
    "CHECKPOINT_RESET": "checkpoint_threshold",
    "ASK_USER": "stop_threshold",
}


def drift_level(overall: float, settings: DriftSettings) -> str:
    """Return the level of an overall drift. A threshold belongs to the level it begins.

    >>> DEFAULTS = DriftSettings()
    >>> drift_level(0.2999, DEFAULTS), drift_level(0.3, DEFAULTS), drift_level(1.0, DEFAULTS)
    ('CONTINUE', 'INJECT_REMINDER', 'ASK_USER')
    """
    if overall < settings.nudge_threshold:
        return "CONTINUE"
    if overall < settings.replan_threshold:
        return "INJECT_REMINDER"
    if overall < settings.checkpoint_threshold:
        return "SUMMARIZE_REPLAN"
    return "CHECKPOINT_RESET" if overall < settings.stop_threshold else "ASK_USER"


def one_higher(level: str) -> str:
    """Return the next level; the highest stays.

    >>> one_higher("CONTINUE"), one_higher("ASK_USER")
    ('INJECT_REMINDER', 'ASK_USER')
    """
    return LEVELS[min(LEVELS.index(level) + 1, len(LEVELS) - 1)]
