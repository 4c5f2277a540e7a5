"""Every detector, in the order they look at a record.

A detector is registered by its settings: one line in `streams.core.detectors.settings`. Detectors look in the
order of these lines, but each after those whose blocks it reads (`Detector.reads`).

Two names mean something to others. `uniqueness` gives the score that is written over the reported one, and
the severity that colours the node. A judge `verdict` colours the node as well, and is quoted in alerts: its
block has `visible` (whether it judged the record), `level` and `episode_id`, its state the `tokens` the
session has used, and what it finds are episodes (specification 7.1).
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from streams.core.detectors.detector import Detector, Rules
from streams.core.detectors.settings import DetectionSettings


def in_order(detectors: Iterable[Detector[Any, Any]]) -> tuple[Detector[Any, Any], ...]:
    """Return detectors in their order, but each after those that it reads.

    Raises:
        KeyError: a detector reads one that is not there.
    """
    by_name = {detector.name: detector for detector in detectors}
    placed: dict[str, Detector[Any, Any]] = {}

    def place(detector: Detector[Any, Any]) -> None:
        for name in detector.reads:
            place(by_name[name])
        placed.setdefault(detector.name, detector)

    for detector in by_name.values():
        place(detector)
    return tuple(placed.values())


def _beside(settings: type[object]) -> Detector[Any, Any]:
    """Return the ``DETECTOR`` of a settings class: of its own module, else of ``detector`` in its package."""
    module = import_module(settings.__module__)
    if not hasattr(module, "DETECTOR"):
        module = import_module(f"{settings.__module__.rpartition('.')[0]}.detector")
    detector: Detector[Any, Any] = module.DETECTOR
    return detector


REGISTERED = tuple(map(_beside, DetectionSettings.__bases__))
"""In the order of their registration, in which people read of them."""

DETECTORS = in_order(REGISTERED)
"""In the order in which they look."""

_BY_FAMILY = {
    family: (detector.name, detector.rules)
    for detector in REGISTERED
    if detector.rules is not None
    for family in detector.rules.families
}


def rules_of(rule: str) -> tuple[str, Rules[Any]]:
    """Return the name of the detector that has a rule, named as in the reachability table, and its rules.

    >>> rules_of("A2:tool")[0], rules_of("R1:failing")[0]
    ('repeat', 'verdict')

    Raises:
        KeyError: no detector has it.
    """
    return _BY_FAMILY[rule.partition(":")[0]]
