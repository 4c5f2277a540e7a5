"""What A3 keeps of a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from streams.detectors.patterns.action_kind import ActionKind, action_kind_of, failure_of, version_of
from streams.detectors.patterns.settings import PatternsSettings
from streams.domain.decision import Decision
from streams.domain.shared_window import NOTHING, append

_COMMAND, _FAILED_COMMAND = ActionKind.COMMAND, ActionKind.FAILED_COMMAND


class PatternsState(NamedTuple):
    """The newest records, oldest first, and how each pattern fared.

    Attributes:
        kinds: one letter (`ActionKind`) for each record.
        versions, places: the window (`streams.domain.shared_window`) of [tool, target, content hash], for
            the records that have a target; empty as long as none had.
        failure: how the last command failed (`failure_of`), None when it did not.
        failures: how many commands in a row failed that way.
        trends: one `Trend`, as a list, for each pattern in order; empty until a pattern is completed.
    """

    kinds: str = ""
    versions: Sequence[Sequence[str | None] | None] = ()
    places: Sequence[int] = ()
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
    version = version_of(decision)
    if version is not None or versions:
        places = places or [NOTHING] * len(kinds)
        versions, places = append(versions, places, version, size)
    return PatternsState((kinds + kind)[-size:], versions, places, failure, failures, trends)
