"""What A3 keeps of a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from streams.core.detectors.patterns.action_kind import ActionKind, action_kind_of, failure_of
from streams.core.detectors.patterns.settings import PatternsSettings
from streams.core.detectors.patterns.version_window import Versions, version, version_of_kept
from streams.core.domain.decision import Decision
from streams.core.domain.shared_window import NOTHING, append, as_letters

_COMMAND, _FAILED_COMMAND = ActionKind.COMMAND, ActionKind.FAILED_COMMAND


class PatternsState(NamedTuple):
    """The newest records, oldest first, and how each pattern fared.

    Attributes:
        kinds: one letter (`ActionKind`) for each record.
        versions, places: the window (`streams.core.domain.shared_window`) of what was done to which content
            of which target (`version_window`); ``places`` counts only while a record in it has a target.
        failure: how the last command failed (`failure_of`), None when it did not.
        failures: how many commands in a row failed that way.
        trends: one `Trend`, as a list, for each pattern in order; empty until a pattern is completed.
    """

    kinds: str = ""
    versions: Versions = ()
    places: str = ""
    failure: str | None = None
    failures: int = 0
    trends: Sequence[Sequence[Any]] = ()


def advance(state: PatternsState, decision: Decision, settings: PatternsSettings) -> PatternsState:
    """Return the state with one more record in its window, the trends as they were."""
    kinds, versions, places, failure, failures, trends = state
    kind = action_kind_of(decision, settings)
    if kind is _FAILED_COMMAND:
        failed = failure_of(decision)
        failures = failures + 1 if failed == failure else 1
        failure = failed
    elif kind is _COMMAND:
        failure, failures = None, 0
    size = settings.pattern_window
    target = decision.target
    if target is not None or versions:
        newest = None if target is None else version(decision.tool, target, decision.content_hash)
        # Places do not follow records while no record of the window has a target.
        versions, places = append(versions, places if versions else NOTHING * len(kinds), newest, size)
    return PatternsState((kinds + kind)[-size:], versions, places, failure, failures, trends)


def upgraded(stored: Sequence[Any]) -> PatternsState:
    """Return a state as it was stored, also by a version that kept the texts and numbered the places.

    >>> upgraded(["r.", [["cat", "a.py", None]], [0, -1]])
    PatternsState(kinds='r.', versions=['#=qs8YKs!P'], places='A.', failure=None, failures=0, trends=())
    """
    kinds, versions, places, *others = stored
    if type(places) is str:
        return PatternsState(*stored)
    marked = [None if each is None else version_of_kept(*each) for each in versions]
    return PatternsState(kinds, marked, as_letters(places), *others)
