import json
from dataclasses import replace

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.settings_document.document import SettingWarning, resolve, to_document
from streams.core.settings_document.table import RANGES

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
    searched = "streams.core.settings_document.document.get_close_matches"
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
