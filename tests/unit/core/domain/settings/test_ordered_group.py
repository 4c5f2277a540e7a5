from dataclasses import replace

import pytest

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.settings.ordered_group import OrderedGroup
from streams.core.settings_document.table import ORDERED_GROUPS

# specification 4.2: loop <= warning, clear <= saturation, the four drift thresholds, each warn <= loop.
PAIRS = [
    ("handover_warn", "handover_loop"),
    ("entropy_loop_threshold", "entropy_warning_threshold"),
    ("pattern_clear", "pattern_saturation"),
    ("identical_warn", "identical_loop"),
    ("identical_failing_warn", "identical_failing_loop"),
    ("cycle_warn", "cycle_loop"),
    ("stuck_warn", "stuck_loop"),
    ("waiting_warn_minutes", "waiting_loop_minutes"),
]
DRIFT = ("nudge_threshold", "replan_threshold", "checkpoint_threshold", "stop_threshold")


def group_of(*names: str) -> OrderedGroup:
    return next(group for group in ORDERED_GROUPS if group.names == names)


def test_the_defaults_hold():
    assert all(group.holds(DEFAULTS) for group in ORDERED_GROUPS)


@pytest.mark.parametrize(("low", "high"), PAIRS)
def test_a_pair_must_not_fall(low, high):
    group = group_of(low, high)
    assert group.holds(replace(DEFAULTS, **{low: 7, high: 8}))
    assert group.holds(replace(DEFAULTS, **{low: 8, high: 8}))
    assert not group.holds(replace(DEFAULTS, **{low: 9, high: 8}))
    assert group.wanted == f"in the order {low} <= {high}"


@pytest.mark.parametrize("second", DRIFT[1:])
def test_the_drift_thresholds_must_rise(second):
    group = group_of(*DRIFT)
    first = DRIFT[DRIFT.index(second) - 1]
    assert not group.holds(replace(DEFAULTS, **{second: getattr(DEFAULTS, first)}))
    assert group.holds(replace(DEFAULTS, **{second: getattr(DEFAULTS, first) + 0.01}))
    assert group.wanted == "in the order " + " < ".join(DRIFT)
