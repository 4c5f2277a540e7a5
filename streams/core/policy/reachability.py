"""Can each rule fire at all under these settings, and after how few records?"""

from __future__ import annotations

from streams.core.detectors.registry import REGISTERED
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.reachability import Reachability


def reachability(settings: DetectionSettings) -> tuple[Reachability, ...]:
    """Return a row for each (rule, level), in the order of specification 4.3.

    Rules: A1, A2:<kind>, A3:<pattern>, A3:escalation, A4:<detector>, A5, R1, R1:failing, R2:period<p>,
    R2:longer, R7, R9. Levels are those of specification 1.5; for A5
    they are its response levels.

    >>> from streams.core.detectors.settings import DEFAULTS
    >>> loop, warning = reachability(DEFAULTS)[:2]
    >>> (loop.rule, loop.level, loop.shortest), (warning.level, warning.shortest)
    (('A1', <Level.LOOP: 'LOOP'>, 5), (<Level.WARNING: 'WARNING'>, 3))
    """
    of_all = (detector.rules for detector in REGISTERED if detector.rules is not None)
    return tuple(row for rules in of_all for row in rules.reachability(settings))
