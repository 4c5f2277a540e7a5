"""Named places in the epoch where a test can kill the worker.

The tests that claim "nothing lost, nothing counted twice" must be able to stop a worker between any two
effects. ``EDDY_CRASH_POINT=changelog_acked:3`` kills the process with SIGKILL the third time it gets there,
``aggregates.changelog_acked:3`` the third time an epoch of the aggregates does.
Without the variable `reach` is a function that does nothing.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from enum import StrEnum

VARIABLE = "EDDY_CRASH_POINT"


class CrashPoint(StrEnum):
    """The stages of an epoch, in order."""

    SETTINGS_ACKED = "settings_acked"
    FOLDED = "folded"
    OUTPUTS_SENT = "outputs_sent"
    OUTPUTS_ACKED = "outputs_acked"
    CHANGELOG_SENT = "changelog_sent"
    CHANGELOG_ACKED = "changelog_acked"
    STORED = "stored"
    ACKED = "acked"
    COMMITTED = "committed"


def _nowhere(point: CrashPoint) -> None:
    """Go on."""


def _at(wanted: CrashPoint, times: int) -> Callable[[CrashPoint], None]:
    left = times

    def reach(point: CrashPoint) -> None:
        nonlocal left
        if point is wanted:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return reach


def crash_point(specification: str | None = None, *, scope: str = "") -> Callable[[CrashPoint], None]:
    """Return the function an epoch calls at each stage.

    Args:
        specification: ``name`` or ``name:times``, behind ``scope.`` where there is one; default is the
            environment variable.
        scope: Whose stages they are; empty for the epochs of the sessions and for what all have in common.

    Raises:
        ValueError: the name is no crash point.
    """
    wanted = os.environ.get(VARIABLE, "") if specification is None else specification
    if not wanted:
        return _nowhere
    place, _, times = wanted.partition(":")
    whose, _, name = place.rpartition(".")
    point, count = CrashPoint(name), int(times or 1)
    return _at(point, count) if whose == scope else _nowhere
