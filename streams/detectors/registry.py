"""Every detector, in the order they look at a record.

A detector sees the blocks of those above it (`streams.detectors.detector.Eddy`). Judges stand first, so that
the alerts of the scores can quote them; the scores follow in the order of specification 5.

Two names mean something to others. `uniqueness` gives the score that is written over the reported one, and
the severity that colours the node. A judge `verdict` colours the node as well, and is quoted in alerts: its
block has `visible` (whether it judged the record), `level` and `episode_id`, its state the `tokens` the
session has used, and what it finds are episodes (specification 7.1).
"""

from __future__ import annotations

from typing import Any

from streams.detectors.budget import Budget
from streams.detectors.detector import Detector
from streams.detectors.drift.detector import Drift
from streams.detectors.loop.detector import Loop
from streams.detectors.metrics.detector import Metrics
from streams.detectors.patterns.detector import Patterns
from streams.detectors.repeat import Repeat
from streams.detectors.uniqueness import Uniqueness
from streams.detectors.verdict.detector import Verdict

DETECTORS: tuple[Detector[Any], ...] = (
    Verdict(),
    Uniqueness(),
    Repeat(),
    Patterns(),
    Loop(),
    Budget(),
    Drift(),
    Metrics(),
)
