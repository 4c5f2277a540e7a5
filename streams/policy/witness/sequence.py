"""From a row of the reachability table to the sequence that shows it."""

from __future__ import annotations

from streams.detectors.settings import DetectionSettings
from streams.policy.reachability import Reach
from streams.policy.witness.patterns import edit_revert, escalation, fail_loop, read_loop
from streams.policy.witness.responses import response
from streams.policy.witness.scores import repeat, uniqueness
from streams.policy.witness.steps import step
from streams.policy.witness.verdict import rule
from streams.policy.witness.witness import Obstacle, Witness


def witness(reach: Reach, settings: DetectionSettings) -> Witness | Obstacle:
    """Return the shortest sequence that makes a rule reach its level under the settings of the table.

    It has as many records as the table says, but for two rows that specification 4.3 counts differently: an
    escalation (A3) counts matching records, and a pattern takes a few before the first one matches; and the
    level of a response (A5) may need signals that no first record has.

    Raises:
        ValueError: the row is not reachable.
    """
    if reach.shortest is None:
        raise ValueError(f"{reach.rule} cannot reach {reach.level}: {reach.why}")
    shortest = reach.shortest
    match reach.rule.partition(":"):
        case "A1", _, _:
            return uniqueness(reach.level, shortest, settings)
        case "A2", _, kind:
            return repeat(kind, shortest, settings)
        case "A3", _, "read_loop":
            return read_loop(shortest, settings)
        case "A3", _, "edit_revert":
            return edit_revert(shortest, settings)
        case "A3", _, "test_fail_loop":
            return fail_loop(shortest, settings)
        case "A3", _, _:
            return escalation(shortest, settings)
        case "A4", _, detector:
            return step(detector, shortest, settings)
        case "A5", _, _:
            return response(reach.level, settings)
        case _:
            return rule(reach.rule, shortest, settings)
