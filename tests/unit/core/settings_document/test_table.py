import dataclasses
import re

import pytest

from streams.core.detectors.settings import DEFAULTS
from streams.core.settings_document.table import RANGES

# specification 4.1: the ranges of the numbers; then those of the settings beyond it.
NUMBERS = """
session_ttl_ms                      int     0..31536000000
state_grace_ms                      int     0..31536000000
max_future_ms                       int     0..31536000000
alert_heartbeat_records             int     0..100000
entropy_window_size                 int     1..1000
entropy_loop_threshold              number  0..1
entropy_warning_threshold           number  0..1
repeat_ring_size                    int     2..1000
pattern_window                      int     3..1000
pattern_theta                       int     2..1000
pattern_alpha                       number  (0..1
pattern_cooldown                    int     0..100000
pattern_saturation                  number  0..1
pattern_clear                       number  0..1
loop_window_size                    int     2..1000
exact_hash_threshold                int     2..1000
semantic_threshold                  number  (0..1
oscillation_threshold               int     2..1000
dead_end_threshold                  int     2..1000
nudge_threshold                     number  0..1
replan_threshold                    number  0..1
checkpoint_threshold                number  0..1
stop_threshold                      number  0..1
goal_window                         int     1..1000
stuck_horizon                       int     1..100000
trend_window                        int     2..1000
trend_velocity                      number  0..1
initial_steps                       int     1..10000000
initial_tokens                      int     1..1000000000000
min_velocity                        number  (0..1
velocity_window                     int     1..1000
expansion_factor                    number  1..10
contraction_factor                  number  (0..1
stuck_contraction_factor            number  (0..1
stuck_steps                         int     1..1000
budget_cap_factor                   number  1..1000
emergency_progress                  number  0..1
emergency_steps                     int     0..1000000
emergency_tokens                    int     0..1000000000000
profile_buffer                      number  0..10
metrics_window                      int     2..1000
metrics_ngram                       int     2..10
verdict_window                      int     6..1000
identical_warn                      int     2..1000
identical_loop                      int     2..1000
identical_failing_warn              int     2..1000
identical_failing_loop              int     2..1000
cycle_max_period                    int     2..60
cycle_warn                          int     2..1000
cycle_loop                          int     2..1000
stuck_warn                          number  (0..8
stuck_loop                          number  (0..8
handover_warn                       int     2..16
handover_loop                       int     2..16
waiting_warn_minutes                int     1..100000
waiting_loop_minutes                int     1..100000
poll_gap_ms                         int     0..86400000
failure_gap_ms                      int     0..86400000
recover_records                     int     1..1000
"""
ROWS = re.findall(r"^(\w+) +(int|number) +(\(?)(\d+)\.\.(\d+)$", NUMBERS, re.MULTILINE)

FLAGS = (
    "alert_every_record",
    "topology_every_record",
    "pattern_adaptive_cooldown",
    "enable_all_strategies",
    "enable_emergency_extensions",
    "enable_historical_profiling",
    "verdict_enabled",
)
WORDS = {
    "score_statuses": ["success", "failure", "pending", "skipped"],
    "verdict_statuses": ["success", "failure", "pending", "skipped"],
    "alert_families": [
        "entropy_alert",
        "loop_episode",
        "divergence_suspected",
        "drift_pattern",
        "handover_loop",
    ],
    "verdict_rules": ["R1", "R2", "R7", "R9"],
}
CHOICES = {
    "node_state_source": ["uniqueness", "verdict", "max"],
    "episode_min_level": ["WARNING", "LOOP"],
    "repeat_dedup": ["once_per_session", "rearm"],
}
OTHERS = {
    *("repeat_thresholds", "signal_weights", "tool_groups", "tool_policies"),
    *("read_tools", "write_tools", "command_tools", "refusal_phrases"),
}


@pytest.mark.parametrize(("name", "kind", "above", "low", "high"), ROWS, ids=[row[0] for row in ROWS])
def test_range_of_a_number(name, kind, above, low, high):
    read = RANGES[name].read
    step = 1 if kind == "int" else 1e-9
    low, high = int(low), int(high)
    assert read(high) == high
    assert read(high + step) is None
    assert read(low - step) is None
    assert read(low) == (None if above else low)
    assert read(low + step) == low + step
    assert (read(low + 0.5) is None) == (kind == "int")


@pytest.mark.parametrize("name", FLAGS)
def test_flag(name):
    assert (RANGES[name].read(True), RANGES[name].read(False), RANGES[name].read(1)) == (True, False, None)


@pytest.mark.parametrize("name", WORDS)
def test_subset(name):
    assert RANGES[name].read(WORDS[name]) == tuple(WORDS[name])
    assert RANGES[name].read([]) == ()
    assert RANGES[name].read([*WORDS[name], "other"]) is None


@pytest.mark.parametrize("name", CHOICES)
def test_choice(name):
    assert [RANGES[name].read(choice) for choice in CHOICES[name]] == CHOICES[name]
    assert RANGES[name].read("other") is None


@pytest.mark.parametrize(
    "missing", [None, "tool", "llm", "system", "default"], ids=lambda kind: f"without_{kind}"
)
def test_repeat_thresholds_need_four_kinds(missing):
    kinds = {"tool": 2, "llm": 999, "system": 2, "default": 2, "memory_read": 2}
    fits = missing is None
    assert (
        RANGES["repeat_thresholds"].read({k: v for k, v in kinds.items() if k != missing}) == kinds
    ) is fits


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ([], ()),
        (["See the Handbook", "no rule"], ("see the handbook", "no rule")),
        (["abc", "x" * 200], ("abc", "x" * 200)),
        (["Not Today", "not today"], ("not today",)),
        ([f"phrase {number}" for number in range(100)], tuple(f"phrase {number}" for number in range(100))),
        ([f"phrase {number}" for number in range(101)], None),
        (["no"], None),
        (["x" * 201], None),
        (["not today", "not today"], None),
        (["not today", 3], None),
        (["\ud800\ud800\ud800"], None),
        ("not today", None),
        (None, None),
    ],
)
def test_refusal_phrases_are_texts_of_some_length_and_become_lower_case(written, read):
    assert RANGES["refusal_phrases"].read(written) == read


def test_refusal_phrases_that_are_longer_in_lower_case_are_measured_so():
    """Else what is in force could not be written and read back."""
    assert RANGES["refusal_phrases"].read(["\u0130" * 101]) is None
    read = RANGES["refusal_phrases"].read(["\u0130" * 100])
    assert read == ("i\u0307" * 100,)
    assert RANGES["refusal_phrases"].read(RANGES["refusal_phrases"].write(read)) == read


def test_every_setting_has_a_range_and_a_default_within_it():
    assert RANGES.keys() == {field.name for field in dataclasses.fields(DEFAULTS)} - {"version"}
    for name in RANGES:
        in_force = getattr(DEFAULTS, name)
        assert RANGES[name].read(RANGES[name].write(in_force)) == in_force


def test_the_tables_above_name_settings():
    assert {row[0] for row in ROWS} | set(FLAGS) | WORDS.keys() | CHOICES.keys() | OTHERS <= set(RANGES)


def test_the_settings_come_in_the_order_of_the_specification():
    first_of_each_section = [
        *("score_statuses", "entropy_window_size", "repeat_ring_size", "pattern_window", "read_tools"),
        *("loop_window_size", "nudge_threshold", "initial_steps", "metrics_window", "verdict_enabled"),
    ]
    assert [name for name in RANGES if name in first_of_each_section] == first_of_each_section
    assert next(iter(RANGES)) == "score_statuses"
