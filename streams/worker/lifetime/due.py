"""Which sessions housekeeping may remove: those that are kept for no longer, and can be read."""

from __future__ import annotations

import logging
from typing import NamedTuple

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.session import DamagedSessionError, Session
from streams.core.pipeline import Expired, expire
from streams.core.policy.lifetime import kept_until
from streams.worker.lifetime.search_pass import NEVER
from streams.worker.lifetime.stubs import readable

log = logging.getLogger(__name__)


class Due(NamedTuple):
    """A session that may be removed, up to when it was kept (ms), and what its removal reports."""

    session: Session
    until_ms: int
    expired: Expired


def due_of(
    name: str, entry: tuple[int, bytes], settings: DetectionSettings, now_ms: int
) -> Due | tuple[int, int] | None:
    """Return a session that may go; of one that stays till when, and its offset; of a broken one None."""
    touched_ms, value = entry
    session = readable(name, value)
    if session is None:
        return None
    until = kept_until(session, touched_ms, settings)
    if until is None or until >= now_ms:
        return NEVER if until is None else until, session.offset
    try:
        return Due(session, until, expire(name, session, settings))
    except DamagedSessionError as error:
        log.warning("The state of session %r stays, however old it is: %s", name, error)
        return None
