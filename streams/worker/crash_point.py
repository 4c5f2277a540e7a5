"""Named places in the epoch where a test can kill the worker.

The tests that claim "nothing lost, nothing counted twice" must be able to stop a worker between any two
effects. ``EDDY_CRASH_POINT=changelog_acked:3`` kills the process with SIGKILL the third time it gets there,
``aggregates.changelog_acked:3`` the third time an epoch of the aggregates does. ``changelog_acked:3:stop``
suspends it there (SIGSTOP), as a machine that hangs would.
Without the variable `on_crash_point` is a function that does nothing.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from enum import StrEnum

VARIABLE = "EDDY_CRASH_POINT"


class CrashPoint(StrEnum):
    """The stages of an epoch; which it has, and in which order, is the processing guarantee's business."""

    FOLDED = "folded"
    SETTINGS_ACKED = "settings_acked"
    OUTPUTS_SENT = "outputs_sent"
    OUTPUTS_ACKED = "outputs_acked"
    CHANGELOG_SENT = "changelog_sent"
    CHANGELOG_ACKED = "changelog_acked"
    TRANSACTION_SENT = "transaction_sent"
    TRANSACTION_ACKED = "transaction_acked"
    STORED = "stored"
    ACKED = "acked"
    COMMITTED = "committed"


#: The stages without transactions, in order.
AT_LEAST_ONCE = (
    CrashPoint.FOLDED,
    CrashPoint.SETTINGS_ACKED,
    CrashPoint.OUTPUTS_SENT,
    CrashPoint.OUTPUTS_ACKED,
    CrashPoint.CHANGELOG_SENT,
    CrashPoint.CHANGELOG_ACKED,
    CrashPoint.STORED,
    CrashPoint.ACKED,
    CrashPoint.COMMITTED,
)

#: The stages with them, in order.
EXACTLY_ONCE = (
    CrashPoint.FOLDED,
    CrashPoint.TRANSACTION_SENT,
    CrashPoint.TRANSACTION_ACKED,
    CrashPoint.COMMITTED,
    CrashPoint.STORED,
    CrashPoint.ACKED,
)


def _nowhere(point: CrashPoint) -> None:
    """Go on."""


def _at(wanted: CrashPoint, times: int, number: signal.Signals) -> Callable[[CrashPoint], None]:
    left = times

    def on_crash_point(point: CrashPoint) -> None:
        nonlocal left
        if point is wanted:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), number)

    return on_crash_point


def crash_point(specification: str | None = None, *, scope: str = "") -> Callable[[CrashPoint], None]:
    """Return the function an epoch calls at each stage.

    Args:
        specification: ``name``, ``name:times`` or ``name:times:stop``, behind ``scope.`` where there is one;
            default is the environment variable.
        scope: The epochs whose stages they are; empty for those of the sessions and for what all share.

    Raises:
        ValueError: the name is no crash point, or what follows it is nothing that can be done there.
    """
    wanted = os.environ.get(VARIABLE, "") if specification is None else specification
    if not wanted:
        return _nowhere
    place, _, rest = wanted.partition(":")
    times, _, instead = rest.partition(":")
    whose, _, name = place.rpartition(".")
    point, count = CrashPoint(name), int(times or 1)
    number = {"": signal.SIGKILL, "stop": signal.SIGSTOP}.get(instead)
    if number is None:
        raise ValueError(f"{instead!r} cannot be done at a crash point")
    return _at(point, count, number) if whose == scope else _nowhere
