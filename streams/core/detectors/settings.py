"""Every number and word that decides what is detected: one immutable value, in force for whole runs.

This is also where a detector is registered: by the class of its settings, one line among the bases of
`DetectionSettings`. `streams.core.detectors.registry` finds the detector in its module or its package.
"""

from __future__ import annotations

from dataclasses import dataclass

from streams.core.detectors.budget.settings import BudgetSettings
from streams.core.detectors.drift.settings import DriftSettings
from streams.core.detectors.loop.settings import LoopSettings
from streams.core.detectors.metrics.settings import MetricsSettings
from streams.core.detectors.patterns.settings import PatternsSettings
from streams.core.detectors.repeat.settings import RepeatSettings
from streams.core.detectors.uniqueness.settings import UniquenessSettings
from streams.core.detectors.verdict.settings import VerdictSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionSettings(
    UniquenessSettings,
    RepeatSettings,
    PatternsSettings,
    LoopSettings,
    DriftSettings,
    BudgetSettings,
    MetricsSettings,
    VerdictSettings,
):
    """The settings of specification 4.1 with their defaults: one attribute per row, units as there.

    A value built by `streams.core.settings_document.resolve` is always within the ranges; one built
    directly is not checked. Maps are read-only views. People read the settings in the order of the bases.
    """


DEFAULTS = DetectionSettings()
