"""An epoch of removals: what housekeeping removes at once, and the events of that."""

from __future__ import annotations

import logging
from enum import StrEnum

from streams.core.domain.session import DamagedSessionError, Session
from streams.worker.batch import Job
from streams.worker.lifetime.due import Due
from streams.worker.run_result import RunResult
from streams.worker.state.view import View

log = logging.getLogger(__name__)


class Reason(StrEnum):
    """Why a session was removed."""

    EXPIRED = "expired"
    ENDED = "ended"


class Removal:
    """An epoch of removals in the making."""

    __slots__ = ("folded", "reason", "view")

    def __init__(self, reason: Reason) -> None:
        self.reason = reason
        self.view: View[Session] = View({})
        self.folded = RunResult()

    def expire(self, name: str, due: Due, job: Job) -> None:
        """Remove a session that is due, and tell what follows from that.

        One whose state holds what cannot be told stays.
        """
        try:
            job.expired(name, due.expired, due.until_ms, self.folded)
        except DamagedSessionError as error:
            log.warning("The state of session %r stays, however old it is: %s", name, error)
            return
        self.view.remove(due.session, name)
