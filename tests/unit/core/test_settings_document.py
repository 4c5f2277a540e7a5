import dataclasses
import json
import re
from dataclasses import replace

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.settings_document import (
    FARTHEST,
    LARGEST_VERSION,
    RANGES,
    SettingWarning,
    follows,
    next_version,
    resolve,
    to_document,
)

GARBAGE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(
        [10**4000, -1, 0, 1, 2, 0.5, "LOOP", "max", "R3", "\ud800", [[]], ["R1", "R8"], {"mode": "exempt"}]
    ),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=3), values, max_size=3),
    max_leaves=6,
)
FITTING = {
    **dict.fromkeys(RANGES, st.nothing()),
    "entropy_window_size": st.integers(1, 1000),
    "entropy_loop_threshold": st.floats(0, 1),
    "entropy_warning_threshold": st.floats(0, 1),
    "pattern_clear": st.floats(0, 1),
    "nudge_threshold": st.floats(0, 1),
    "stop_threshold": st.floats(0, 1),
    "identical_warn": st.integers(2, 9),
    "cycle_loop": st.integers(2, 4),
    "cycle_max_period": st.integers(2, 60),
    "waiting_warn_minutes": st.integers(1, 90),
    "failure_gap_ms": st.integers(0, 86_400_000),
    "refusal_phrases": st.lists(st.text(min_size=3, max_size=6), unique=True, max_size=3),
    "node_state_source": st.sampled_from(["uniqueness", "verdict", "max"]),
    "episode_min_level": st.sampled_from(["WARNING", "LOOP"]),
    "verdict_rules": st.lists(st.sampled_from(["R1", "R2", "R9"]), unique=True),
    "read_tools": st.lists(st.text(max_size=3), unique=True, max_size=3),
    "repeat_thresholds": st.dictionaries(st.text(max_size=3), st.integers(2, 999), max_size=3).map(
        lambda more: {**more, "tool": 3, "llm": 4, "system": 5, "default": 6}
    ),
    "tool_groups": st.lists(
        st.fixed_dictionaries(
            {"group": st.text(min_size=1, max_size=3), "patterns": st.lists(st.text(max_size=3), unique=True)}
        ),
        max_size=2,
    ),
    "tool_policies": st.dictionaries(
        st.text(max_size=3),
        st.sampled_from(
            [{"mode": "exempt"}, {"mode": "polling", "loop": 3}, {"mode": "limits", "warn": 2, "loop": 2}]
        ),
    ),
}
ENTRIES = st.sampled_from(sorted(RANGES)).flatmap(
    lambda name: st.tuples(st.just(name), FITTING[name] | GARBAGE)
)
# What version 0.2 and earlier ones had: the rules R3, R4, R5, R6 and R8, and their settings.
RULES_THAT_WENT = ("R3", "R4", "R5", "R6", "R8")
SETTINGS_THAT_WENT = (
    *("same_error_warn", "same_error_loop", "same_error_similarity"),
    *("same_result_warn", "same_result_loop"),
    *("near_duplicate_similarity", "near_duplicate_warn", "near_duplicate_loop"),
    *("nothing_new_warn", "nothing_new_loop", "stalled_warn", "stalled_loop"),
)
DOCUMENTS = st.lists(
    ENTRIES | st.tuples(st.text() | st.sampled_from(SETTINGS_THAT_WENT), GARBAGE), max_size=12
).map(dict)
SETTINGS = DOCUMENTS.map(lambda document: resolve(document, DEFAULTS, 3)[0])


def names(warnings):
    return [warning.setting for warning in warnings]


def in_force(**changes: object) -> DetectionSettings:
    settings, warnings = resolve(changes, DEFAULTS, 1)
    assert not warnings
    return settings


def test_an_empty_document_is_the_defaults_under_its_version():
    assert resolve({}, in_force(stuck_steps=9), 7) == (replace(DEFAULTS, version=7), ())


def test_a_key_the_document_leaves_out_has_its_default():
    settings, _ = resolve({"cycle_loop": 4}, in_force(stuck_steps=9), 2)
    assert (settings.cycle_loop, settings.stuck_steps) == (4, DEFAULTS.stuck_steps)


@pytest.mark.parametrize("value", ["high", True, -0.1, 1.1, None, [0.3], {"value": 0.3}])
def test_a_bad_value_keeps_the_value_in_force(value):
    settings, warnings = resolve({"entropy_loop_threshold": value}, in_force(entropy_loop_threshold=0.3), 2)
    assert settings.entropy_loop_threshold == 0.3
    assert warnings == (SettingWarning("entropy_loop_threshold", "must be a number from 0 to 1", 0.3),)


def test_a_bad_value_with_nothing_in_force_has_the_default():
    settings, warnings = resolve({"entropy_window_size": 4.5}, DEFAULTS, 1)
    assert settings == replace(DEFAULTS, version=1)
    assert names(warnings) == ["entropy_window_size"]


def test_the_rest_of_the_document_is_taken():
    settings, warnings = resolve({"entropy_window_size": 0, "entropy_warning_threshold": 0.6}, DEFAULTS, 3)
    assert (settings.entropy_window_size, settings.entropy_warning_threshold, settings.version) == (5, 0.6, 3)
    assert names(warnings) == ["entropy_window_size"]


def test_an_unknown_key_warns_and_names_the_nearest():
    settings, warnings = resolve({"entropy_windw": 3, "\U0001f600": 1}, DEFAULTS, 1)
    assert settings == replace(DEFAULTS, version=1)
    assert warnings == (
        SettingWarning("entropy_windw", "is not a setting; did you mean entropy_window_size?", None),
        SettingWarning("\U0001f600", "is not a setting", None),
    )


def test_a_document_of_many_unknown_keys_is_not_compared_with_all_settings_for_each(monkeypatch):
    looked_for = []
    searched = "streams.core.settings_document.get_close_matches"
    monkeypatch.setattr(searched, lambda name, *_, **__: looked_for.append(name) or [])
    _, warnings = resolve({f"setting_{number}": 1 for number in range(5000)}, DEFAULTS, 1)
    assert len(warnings) == 5000
    assert len(looked_for) <= 100


@pytest.mark.parametrize("name", SETTINGS_THAT_WENT)
def test_a_setting_that_went_is_told_of_once_and_the_rest_is_in_force(name):
    settings, warnings = resolve({name: 3, "cycle_loop": 4}, in_force(stuck_steps=9), 2)
    assert settings == replace(DEFAULTS, cycle_loop=4, version=2)
    [warning] = warnings
    assert (warning.setting, warning.kept) == (name, None)
    assert warning.problem == (
        "has no effect any more: the stuck score (R7) has taken over rules R3, R4, R5, R6 and R8; "
        "leave it out"
    )


@pytest.mark.parametrize("rule", RULES_THAT_WENT)
def test_a_rule_that_went_is_told_of_once_and_the_others_are_in_force(rule):
    settings, warnings = resolve({"verdict_rules": ["R1", rule, "R7"], "cycle_loop": 4}, DEFAULTS, 2)
    assert settings == replace(DEFAULTS, verdict_rules=("R1", "R7"), cycle_loop=4, version=2)
    [warning] = warnings
    assert (warning.setting, warning.kept) == ("verdict_rules", ["R1", "R7"])
    assert warning.problem.startswith("names a rule that has no effect any more: the stuck score (R7)")


def test_a_whole_document_of_an_earlier_version_is_told_of_once_for_each_name():
    rules = ["R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8"]
    before = {**to_document(DEFAULTS), "verdict_rules": rules, "identical_loop": 9}
    before = {**before, **dict.fromkeys(SETTINGS_THAT_WENT, 2)}
    settings, warnings = resolve(before, DEFAULTS, 3)
    assert settings == replace(DEFAULTS, verdict_rules=("R1", "R2", "R7"), identical_loop=9, version=3)
    assert names(warnings) == ["verdict_rules", *SETTINGS_THAT_WENT]


@pytest.mark.parametrize(
    "value", [["R3", "R12"], ["R3", "R1", "R1"], ["R8", None], ["R3", []], ["R3", {"R1": 1}]]
)
def test_what_else_is_wrong_beside_a_rule_that_went_keeps_the_rules_in_force(value):
    settings, warnings = resolve({"verdict_rules": value}, in_force(verdict_rules=["R2"]), 2)
    assert settings == replace(DEFAULTS, verdict_rules=("R2",), version=2)
    assert names(warnings) == ["verdict_rules", "verdict_rules"]


def test_what_a_document_says_about_itself_is_no_setting():
    document = {"version": 12, "changed": {"who": "ana", "when": 1, "why": "quieter"}}
    assert resolve(document, DEFAULTS, 4) == (replace(DEFAULTS, version=4), ())


def test_an_ordered_group_that_does_not_hold_goes_back_together():
    before = in_force(entropy_loop_threshold=0.2, entropy_warning_threshold=0.3)
    settings, warnings = resolve({"entropy_loop_threshold": 0.6, "entropy_warning_threshold": 0.4}, before, 2)
    assert (settings.entropy_loop_threshold, settings.entropy_warning_threshold) == (0.2, 0.3)
    assert warnings == (
        SettingWarning(
            "entropy_loop_threshold,entropy_warning_threshold",
            "must be in the order entropy_loop_threshold <= entropy_warning_threshold",
            {"entropy_loop_threshold": 0.2, "entropy_warning_threshold": 0.3},
        ),
    )


def test_a_group_is_checked_on_the_result():
    """One key alone breaks the order with the default, or with the value in force, of the other."""
    settings, warnings = resolve({"identical_warn": 5}, DEFAULTS, 1)
    assert settings == replace(DEFAULTS, version=1)
    assert names(warnings) == ["identical_warn,identical_loop"]
    settings, warnings = resolve({"identical_warn": "x", "identical_loop": 5}, in_force(identical_warn=4), 2)
    assert (settings.identical_warn, settings.identical_loop) == (4, 5)
    assert names(warnings) == ["identical_warn"]


def test_the_four_drift_thresholds_are_one_group():
    settings, warnings = resolve({"nudge_threshold": 0.5, "stop_threshold": 0.95}, DEFAULTS, 1)
    assert settings == replace(DEFAULTS, version=1)
    assert names(warnings) == ["nudge_threshold,replan_threshold,checkpoint_threshold,stop_threshold"]


def test_warnings_come_in_the_order_of_the_document_and_groups_last():
    document = {"x": 1, "cycle_warn": 9, "poll_gap_ms": "", "goal_window": 0, "entropy_loop_threshold": 1}
    assert names(resolve(document, DEFAULTS, 1)[1]) == [
        "x",
        "poll_gap_ms",
        "goal_window",
        "entropy_loop_threshold,entropy_warning_threshold",
        "cycle_warn,cycle_loop",
    ]


@settings(max_examples=100)
@given(DOCUMENTS, SETTINGS, st.integers(0, 9))
def test_no_document_stops_the_job_or_puts_anything_invalid_in_force(document, before, version):
    result, warnings = resolve(document, before, version)
    assert result.version == version
    assert resolve(to_document(result), DEFAULTS, version) == (result, ())
    assert all(warning.problem for warning in warnings)


@given(SETTINGS)
def test_settings_survive_the_journey_as_json(before):
    document = json.loads(json.dumps(to_document(before)))
    assert resolve(document, DEFAULTS, before.version) == (before, ())
    assert orjson.loads(orjson.dumps(to_document(before))) == document


def test_a_document_has_every_setting_and_no_version():
    assert list(to_document(DEFAULTS)) == list(RANGES)


@given(SETTINGS, st.sampled_from(["", "\ud800", float("nan"), None, -1, {"x": []}]))
def test_a_document_of_garbage_keeps_what_is_in_force(before, garbage):
    result, warnings = resolve(dict.fromkeys(RANGES, garbage), before, before.version)
    assert result == before
    assert names(warnings) == list(RANGES)
    assert {warning.setting: warning.kept for warning in warnings} == to_document(before)


@given(SETTINGS, st.dictionaries(st.text(max_size=20), GARBAGE))
def test_unknown_keys_change_nothing(before, more):
    more = {f"x {name}": value for name, value in more.items()}
    result, warnings = resolve({**more, **to_document(before)}, DEFAULTS, before.version)
    assert result == before
    assert names(warnings) == list(more)


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


VERSIONS = st.integers(1, LARGEST_VERSION) | st.sampled_from([1, 2, FARTHEST, LARGEST_VERSION])


@given(VERSIONS | st.just(0))
def test_every_version_has_one_that_follows_it(version: int) -> None:
    after = next_version(version)
    assert 1 <= after <= LARGEST_VERSION
    assert follows(after, version)
    assert not follows(version, after)


@given(VERSIONS)
def test_every_version_follows_no_document_and_none_follows_itself(version: int) -> None:
    assert follows(version, 0)
    assert not follows(0, version)
    assert not follows(version, version)


@given(VERSIONS, VERSIONS)
def test_of_two_versions_at_most_one_follows_the_other(one: int, other: int) -> None:
    assert not (follows(one, other) and follows(other, one))


@given(st.integers(1, FARTHEST - 1), st.integers(1, FARTHEST - 1))
def test_in_the_first_half_the_higher_one_follows(one: int, other: int) -> None:
    assert follows(one, other) == (one > other)
