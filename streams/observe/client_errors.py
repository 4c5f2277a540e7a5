"""What Kafka's client library says of its errors, folded: an operator has to find the lines that matter.

aiokafka logs each attempt of each of its loops, thousands of lines a minute while a broker is down. If lines
say the same, the first one is written. The next follows after five minutes, with the number of lines between
them. That a broker cannot be reached is written only if it lasts: as a rule the next attempt succeeds.
"""

from __future__ import annotations

import logging
import math
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

_FOLDED_SECONDS = 300.0

#: That a broker cannot be reached lasts if it was said for so long, without a pause of so long.
_LASTS_SECONDS, _PAUSE_SECONDS = 10.0, 60.0

#: Kept in mind at most.
_KINDS = 256

_NUMBER = re.compile(r"\d+")

_LIBRARIES = ("aiokafka", "faust", "mode")

#: How the lines of aiokafka begin that say that a broker cannot be reached, in one loop or another.
_UNREACHABLE = (
    "Unable connect to ",
    "Unable to request metadata ",
    "Unable to update metadata ",
    "Error sending ",
    "Marking the coordinator dead ",
    "Group Coordinator Request failed",
    "Heartbeat session expired",
    "Heartbeat send request failed",
    "Heartbeat failed for group %s: coordinator ",
    "Failed fetch messages ",
    "Failed fetch offsets ",
    "FindCoordinator Request failed",
    "Cannot send ",
    "Could not send ",
    "Got error produce response",
    "OffsetCommit failed before join",
    "LeaveGroup request failed",
)

#: What happens at every rebalance of a group.
_ORDINARY = ("Heartbeat failed for group %s because it is rebalancing",)


@dataclass(slots=True)
class _Folded:
    """Lines that say the same: from when to when without a pause, and those since one was written."""

    since: float
    latest: float
    written_at: float = -math.inf
    left_out: int = 0


def fold_without_a_log() -> None:
    """Fold the lines of a command that sets up no log: Python writes warnings to standard error by itself.

    What ends the command it says in an error of ours.
    """
    if logging.lastResort is not None:
        logging.lastResort.addFilter(ClientErrors())


class ClientErrors(logging.Filter):
    """A filter of a handler that lets little of the client libraries through, and counts.

    Lines of other loggers pass.

    Args:
        fold: Off at DEBUG, for those who want to see each attempt.
        now: Seconds, by a monotonic clock.

    Attributes:
        seen: Lines so far that say that a broker cannot be reached, written or not.
        hushed: Set while a line of ours says that no broker answers: they are counted and not written.
    """

    def __init__(self, *, fold: bool = True, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.seen = 0
        self.hushed = False
        self._fold = fold
        self._now = now
        self._folded: dict[str, _Folded] = {}
        # The group's consumer has a thread of its own.
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is written; one that represents others says so."""
        if record.name.partition(".")[0] not in _LIBRARIES or record.levelno < logging.WARNING:
            return True
        with self._lock:
            template = str(record.msg)
            unreachable = template.startswith(_UNREACHABLE)
            self.seen += unreachable
            if not self._fold:
                return True
            if template.startswith(_ORDINARY) or (unreachable and self.hushed):
                return False
            if unreachable:
                return self._is_written("unreachable", record, lasts_s=_LASTS_SECONDS)
            return self._is_written(
                _NUMBER.sub("0", f"{record.name} {record.getMessage()}"), record, lasts_s=0
            )

    def _is_written(self, kind: str, record: logging.LogRecord, lasts_s: float) -> bool:
        now = self._now()
        if len(self._folded) >= _KINDS and kind not in self._folded:
            self._folded.clear()
        folded = self._folded.setdefault(kind, _Folded(now, now))
        if now - folded.latest > _PAUSE_SECONDS:
            folded.since = now
        folded.latest = now
        if now - folded.since < lasts_s or now - folded.written_at < _FOLDED_SECONDS:
            folded.left_out += 1
            return False
        if folded.left_out:
            record.msg = f"{record.getMessage()} ({folded.left_out:,} lines like it were left out)"
            record.args = ()
        folded.written_at, folded.left_out = now, 0
        return True
