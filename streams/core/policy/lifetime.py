"""When the state of a session may go (specification 2.5, 2.6). Pure: who asks says what time it is."""

from __future__ import annotations

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.session import Session


def keeps_ms(settings: DetectionSettings) -> int | None:
    """Return how long state that no record touches is kept at least; None for ever.

    >>> from streams.core.detectors.settings import DEFAULTS
    >>> keeps_ms(DEFAULTS)
    172800000
    """
    if settings.session_ttl_ms == 0:
        return None
    return settings.session_ttl_ms + settings.state_grace_ms


def kept_until(session: Session, touched_ms: int, settings: DetectionSettings) -> int | None:
    """Return up to when a session is kept, ms by the wall clock; None for ever. At that time it still is.

    A record that is not later than the grace, and belongs to the session, comes before that. It may belong to
    one whose newest timestamp was ahead of the clock when it was touched, as far as `max_future_ms` lets it.

    Args:
        session: one that has not ended.
        touched_ms: when its state was last written, by the wall clock.
        settings: the detection settings in force.
    """
    keeps = keeps_ms(settings)
    if keeps is None:
        return None
    ahead = min(max(0, session.latest - touched_ms), settings.max_future_ms)
    return touched_ms + ahead + keeps
