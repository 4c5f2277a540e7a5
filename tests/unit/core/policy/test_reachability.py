from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.number import r4
from streams.core.domain.reachability import Reachability
from streams.core.policy.reachability import reachability
from streams.core.settings_document.document import resolve
from tests.quoted_detectors import is_quoted

# specification 4.3 under the defaults: the shortest sequence, None where the level cannot be reached.
DEFAULT_ROWS = [
    ("A1", "LOOP", 5),
    ("A1", "WARNING", 3),
    ("A2:tool", "WARNING", 3),
    ("A2:llm", "WARNING", 5),
    ("A2:system", "WARNING", None),
    ("A2:default", "WARNING", None),
    ("A3:read_loop", "WARNING", 3),
    ("A3:edit_revert", "WARNING", 3),
    ("A3:test_fail_loop", "WARNING", 3),
    ("A3:escalation", "WARNING", 2),
    ("A4:exact_hash", "WARNING", 2),
    ("A4:semantic", "WARNING", 2),
    ("A4:oscillation", "WARNING", 6),
    ("A4:dead_end", "WARNING", 5),
    ("A5", "INJECT_REMINDER", 1),
    ("A5", "SUMMARIZE_REPLAN", 1),
    ("A5", "CHECKPOINT_RESET", 1),
    ("A5", "ASK_USER", 1),
    ("R1", "WARNING", 3),
    ("R1", "LOOP", 4),
    ("R1:failing", "WARNING", 3),
    ("R1:failing", "LOOP", 4),
    ("R2:period2", "WARNING", 4),
    ("R2:period2", "LOOP", 6),
    ("R2:period3", "WARNING", 6),
    ("R2:period3", "LOOP", 9),
    ("R2:period4", "WARNING", 8),
    ("R2:period4", "LOOP", 12),
    ("R2:period5", "WARNING", 10),
    ("R2:period5", "LOOP", 15),
    ("R2:longer", "WARNING", 12),
    ("R2:longer", "LOOP", 18),
    ("R7", "WARNING", 3),
    ("R7", "LOOP", 4),
    ("R9", "WARNING", 3),
    ("R9", "LOOP", 3),
]


def under(**changes: object) -> DetectionSettings:
    settings, warnings = resolve(changes, DEFAULTS, 1)
    assert not warnings
    return settings


def row(settings: DetectionSettings, rule: str, level: str = "WARNING") -> Reachability:
    (found,) = (each for each in reachability(settings) if (each.rule, each.level) == (rule, level))
    return found


def test_the_table_under_the_defaults():
    found = [(each.rule, each.level, each.shortest) for each in reachability(DEFAULTS)]
    assert [row for row in found if is_quoted(row[0])] == DEFAULT_ROWS


def test_under_the_defaults_nothing_needs_a_warning():
    assert all(each.reachable or each.disabled for each in reachability(DEFAULTS))


@pytest.mark.parametrize(
    ("changes", "rule", "level", "shortest"),
    [
        ({"entropy_window_size": 3}, "A1", "LOOP", None),
        ({"entropy_window_size": 4}, "A1", "LOOP", None),
        ({"entropy_window_size": 3}, "A1", "WARNING", 3),
        ({"entropy_window_size": 2}, "A1", "WARNING", None),
        ({"entropy_loop_threshold": 0.0}, "A1", "LOOP", None),
        ({"entropy_loop_threshold": 0.0}, "A1", "WARNING", 3),
        ({"entropy_loop_threshold": 0.5}, "A1", "LOOP", 3),
        ({"entropy_loop_threshold": 0.5}, "A1", "WARNING", None),
        ({"entropy_loop_threshold": 1.0, "entropy_warning_threshold": 1.0}, "A1", "LOOP", 2),
        ({"entropy_loop_threshold": 0.41, "entropy_warning_threshold": 0.45}, "A1", "WARNING", None),
        ({"entropy_loop_threshold": 0.3333, "entropy_warning_threshold": 0.3334}, "A1", "WARNING", 3),
        ({"entropy_loop_threshold": 0.33331, "entropy_warning_threshold": 0.3334}, "A1", "WARNING", None),
        ({"repeat_ring_size": 2}, "A2:tool", "WARNING", None),
        ({"repeat_ring_size": 3}, "A2:tool", "WARNING", 3),
        ({"repeat_ring_size": 1000}, "A2:system", "WARNING", 999),
        ({"pattern_theta": 20}, "A3:read_loop", "WARNING", 20),
        ({"pattern_theta": 21}, "A3:read_loop", "WARNING", None),
        ({"pattern_theta": 21}, "A3:test_fail_loop", "WARNING", None),
        ({"pattern_theta": 21}, "A3:edit_revert", "WARNING", 3),
        ({"pattern_saturation": 1.0}, "A3:escalation", "WARNING", None),
        ({"pattern_saturation": 0.51}, "A3:escalation", "WARNING", 3),
        ({"pattern_saturation": 0.99999}, "A3:escalation", "WARNING", 28),
        ({"pattern_alpha": 1.0}, "A3:escalation", "WARNING", 1),
        ({"pattern_alpha": 1e-20}, "A3:escalation", "WARNING", None),
        ({"exact_hash_threshold": 10}, "A4:exact_hash", "WARNING", 10),
        ({"exact_hash_threshold": 11}, "A4:exact_hash", "WARNING", None),
        ({"oscillation_threshold": 5}, "A4:oscillation", "WARNING", 10),
        ({"oscillation_threshold": 6}, "A4:oscillation", "WARNING", None),
        ({"loop_window_size": 4}, "A4:dead_end", "WARNING", None),
        ({"loop_window_size": 2}, "A4:semantic", "WARNING", 2),
        ({"identical_warn": 4}, "R1", "WARNING", None),
        ({"identical_warn": 4}, "R1", "LOOP", 4),
        ({"identical_failing_loop": 3}, "R1:failing", "WARNING", None),
        ({"identical_failing_loop": 3}, "R1:failing", "LOOP", 3),
        ({"identical_failing_warn": 2}, "R1:failing", "WARNING", 2),
        ({"cycle_warn": 3}, "R2:period4", "WARNING", None),
        ({"cycle_warn": 3}, "R2:period4", "LOOP", 12),
        ({"cycle_max_period": 3}, "R2:period3", "LOOP", 9),
        ({"cycle_max_period": 3}, "R2:period4", "LOOP", None),
        ({"cycle_max_period": 5}, "R2:longer", "LOOP", None),
        ({"cycle_max_period": 6}, "R2:longer", "LOOP", 18),
        ({"cycle_warn": 3}, "R2:longer", "WARNING", None),
        ({"cycle_warn": 4, "cycle_loop": 5}, "R2:longer", "WARNING", 24),
        ({"verdict_rules": ["R1"]}, "R2:period2", "LOOP", None),
        ({"verdict_rules": ["R1"]}, "R1", "LOOP", 4),
        ({"stuck_warn": 0.5, "stuck_loop": 8}, "R7", "WARNING", 2),
        ({"stuck_warn": 0.5, "stuck_loop": 8}, "R7", "LOOP", 5),
        ({"stuck_warn": 5}, "R7", "WARNING", None),
        ({"stuck_warn": 3.1, "stuck_loop": 3.2}, "R7", "WARNING", None),
        ({"stuck_warn": 3.1, "stuck_loop": 3.25}, "R7", "WARNING", None),
        ({"stuck_warn": 3.1, "stuck_loop": 3.3}, "R7", "WARNING", 3),
        ({"stuck_warn": 3.1, "stuck_loop": 3.2}, "R7", "LOOP", 3),
        ({"waiting_warn_minutes": 60}, "R9", "WARNING", None),
        ({"waiting_warn_minutes": 60}, "R9", "LOOP", 3),
        ({"session_ttl_ms": 0}, "R9", "LOOP", 3),
        ({"session_ttl_ms": 600_000}, "R9", "WARNING", 3),
        ({"session_ttl_ms": 600_000}, "R9", "LOOP", 7),
        ({"session_ttl_ms": 299_999}, "R9", "WARNING", 4),
        ({"verdict_rules": ["R9"]}, "R7", "LOOP", None),
    ],
)
def test_shortest_sequence(changes, rule, level, shortest):
    found = row(under(**changes), rule, level)
    assert found.shortest == shortest
    assert found.reachable is (shortest is not None)


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        (
            {"verdict_enabled": False},
            {"R1", "R1:failing", "R2:period2", "R2:period5", "R2:longer", "R7", "R9"},
        ),
        ({"verdict_rules": ["R2"]}, {"R1", "R1:failing", "R7", "R9"}),
        ({"verdict_rules": ["R1"]}, {"R2:period2", "R2:period5", "R2:longer", "R7", "R9"}),
        ({"enable_all_strategies": False}, {"A4:semantic", "A4:oscillation", "A4:dead_end"}),
        ({}, {"A2:system", "A2:default"}),
    ],
)
def test_what_is_off_on_purpose_is_disabled(changes, rules):
    rows = [each for each in reachability(under(**changes)) if each.rule in rules]
    assert {each.rule for each in rows} == rules
    assert all(each.disabled and not each.reachable for each in rows)


def test_a_rule_that_was_not_asked_for_has_rows_all_the_same():
    asked = under(verdict_rules=["R9"])
    found = [(each.rule, each.level) for each in reachability(asked) if is_quoted(each.rule)]
    assert found == [row[:2] for row in DEFAULT_ROWS]
    assert [row(asked, "R9", level).shortest for level in ("WARNING", "LOOP")] == [3, 3]


def test_a_rule_that_can_fire_is_never_disabled():
    assert not row(under(repeat_ring_size=999), "A2:system").disabled
    assert row(under(enable_all_strategies=False), "A4:exact_hash").reachable


@pytest.mark.parametrize(
    ("changes", "rule", "level", "why"),
    [
        ({"entropy_window_size": 4}, "A1", "LOOP", "entropy_window_size"),
        ({"repeat_ring_size": 2}, "A2:tool", "WARNING", "repeat_thresholds.tool > repeat_ring_size"),
        ({"pattern_theta": 21}, "A3:read_loop", "WARNING", "pattern_theta > pattern_window"),
        (
            {"oscillation_threshold": 6},
            "A4:oscillation",
            "WARNING",
            "2 x oscillation_threshold > loop_window_size",
        ),
        ({"identical_warn": 4}, "R1", "WARNING", "identical_warn = identical_loop"),
        ({"cycle_max_period": 3}, "R2:period4", "LOOP", "cycle_max_period < 4"),
        ({"stuck_warn": 5}, "R7", "WARNING", "stuck_warn = stuck_loop"),
        ({"stuck_warn": 3.1, "stuck_loop": 3.2}, "R7", "WARNING", "no multiple of 0.25"),
        ({"cycle_max_period": 5}, "R2:longer", "LOOP", "cycle_max_period < 6"),
        (
            {"waiting_warn_minutes": 60},
            "R9",
            "WARNING",
            "waiting_warn_minutes = waiting_loop_minutes",
        ),
    ],
)
def test_what_cannot_fire_by_accident_names_the_settings_in_the_way(changes, rule, level, why):
    found = row(under(**changes), rule, level)
    assert not found.disabled
    assert why in found.why


def test_every_kind_with_a_threshold_has_a_row():
    thresholds = {"tool": 3, "llm": 5, "system": 999, "default": 999, "memory_read": 2}
    assert row(under(repeat_thresholds=thresholds), "A2:memory_read").shortest == 2


THRESHOLDS = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted)
NARROW = st.tuples(st.integers(1, 80), st.integers(80, 160)).map(
    lambda r: (r4(r[0] / r[1]), r4(r[0] / r[1]) + 1e-4)
)


@given(st.integers(1, 160), THRESHOLDS | NARROW)
def test_uniqueness_against_every_ratio(window, thresholds):
    loop, warning = thresholds
    settings = replace(
        DEFAULTS, entropy_window_size=window, entropy_loop_threshold=loop, entropy_warning_threshold=warning
    )
    ratios = [(n, r4(u / n)) for n in range(1, window + 1) for u in range(1, n + 1)]
    assert row(settings, "A1", "LOOP").shortest == next((n for n, ratio in ratios if ratio < loop), None)
    in_band = (n for n, ratio in ratios if loop <= ratio < warning)
    assert row(settings, "A1", "WARNING").shortest == next(in_band, None)


@given(st.floats(0.01, 1), st.floats(0, 0.99999))
def test_escalation_against_the_average_itself(alpha, saturation):
    settings = replace(DEFAULTS, pattern_alpha=alpha, pattern_saturation=saturation)
    shortest = row(settings, "A3:escalation").shortest
    averages = [0.0]
    for _ in range(shortest):
        averages.append(alpha * 1 + (1 - alpha) * averages[-1])
    assert all(r4(average) <= saturation for average in averages[:-1])
    assert r4(averages[-1]) > saturation


def test_a_slow_average_is_estimated_and_grows_with_slowness():
    needed = [
        row(under(pattern_alpha=alpha), "A3:escalation").shortest for alpha in (1e-5, 1e-6, 1e-9, 1e-12)
    ]
    assert all(slow > 9 * fast for fast, slow in pairwise(needed))


def test_the_longest_windows_take_no_time_worth_noticing():
    settings = under(entropy_window_size=1000, entropy_loop_threshold=0.5, entropy_warning_threshold=0.5)
    assert row(settings, "A1").shortest is None
