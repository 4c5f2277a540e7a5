"""From a row of the reachability table to the sequence that shows it."""

from __future__ import annotations

from streams.core.detectors.registry import rules_of
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.reachability import Reachability
from streams.core.domain.witness import Obstacle, Witness
from streams.core.policy.witness.record_maker import WitnessRecordMaker


def witness(row: Reachability, settings: DetectionSettings) -> Witness | Obstacle:
    """Return the shortest sequence that makes a rule reach its level under the settings of the table.

    It has as many records as the table says, but for three rows that specification 4.3 counts differently: an
    escalation (A3) counts matching records, and a pattern takes a few before the first one matches; the
    level of a response (A5) may need signals that no first record has; and if no multiple of 2 lies between
    the limits of R7, its WARNING takes other steps too.

    Raises:
        ValueError: the row is not reachable.
    """
    if row.shortest is None:
        raise ValueError(f"{row.rule} cannot reach {row.level}: {row.why}")
    _, rules = rules_of(row.rule)
    return rules.witness(row, row.shortest, settings, WitnessRecordMaker(settings))
