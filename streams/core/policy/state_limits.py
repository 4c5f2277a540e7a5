"""How large the state of a session can become, and when it may go (specification 2.5, 2.6).

How large the state of a session can become under given settings, whatever producers send. Every text that is
kept is bounded and every window has an end, so there is a bound. With the defaults it is less than a
megabyte; with every window at 1,000 it is thirty-three, and more than a changelog takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from streams.core.detectors.registry import DETECTORS
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.session import Session
from streams.core.domain.text.digest import MOST_JSON_BYTES

#: What no window decides: the texts of the newest records, what was told, what the session contributed.
_FIXED = 12 * MOST_JSON_BYTES + 192_000


def most_bytes(settings: DetectionSettings) -> int:
    """Return how many bytes a session takes at most that was judged under these settings from the start.

    A part of a state that no record has touched since the settings changed is as large as those let it be.

    >>> most_bytes(DetectionSettings()) < most_bytes(DetectionSettings(verdict_window=1_000))
    True
    """
    return _FIXED + sum(detector.most_bytes(settings) for detector in DETECTORS)


@dataclass(frozen=True, slots=True)
class StateLimit:
    """What the state of a session may take, so that it can always be stored.

    Attributes:
        most: bytes of a state, and of that of a shadow beside it. A quarter of what can be stored, since
            parts that no record touched for a while may still be as large as earlier settings let them be.
        stored: makes the bytes of a session.
        where: what does not take more, for people.
    """

    most: int
    stored: Callable[[Session], bytes]
    where: str

    @classmethod
    def of(cls, largest: int, stored: Callable[[Session], bytes], topic: str) -> StateLimit:
        """Return the limit where ``topic`` takes records of ``largest`` bytes."""
        return cls(largest // 4, stored, topic)

    @property
    def exceeded(self) -> str:
        """What is said of a record that would exceed it."""
        return (
            f"with it the state of its session would be larger than {self.most} bytes, a quarter of what "
            f"{self.where} takes"
        )

    def may_be_exceeded(self, settings: DetectionSettings) -> bool:
        """Tell whether a state can become too large at all: by default none can, and none is measured."""
        return most_bytes(settings) > self.most

    def is_exceeded(self, session: Session) -> bool:
        """Tell whether a session, without its shadow, is too large."""
        alone = session if session.shadow is None else session._replace(shadow=None)
        return len(self.stored(alone)) > self.most


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
