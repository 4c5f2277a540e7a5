import dataclasses

import pytest

from streams.core.detectors.settings import DEFAULTS, DetectionSettings

# specification 4.1, the columns name and default.
GOLDEN = {
    "score_statuses": ("success", "failure", "pending", "skipped"),
    "session_ttl_ms": 86400000,
    "state_grace_ms": 86400000,
    "max_future_ms": 3600000,
    "alert_families": (
        "entropy_alert",
        "loop_episode",
        "divergence_suspected",
        "drift_pattern",
        "handover_loop",
    ),
    "alert_every_record": True,
    "alert_heartbeat_records": 10,
    "topology_every_record": True,
    "node_state_source": "uniqueness",
    "episode_min_level": "LOOP",
    "handover_warn": 3,
    "handover_loop": 6,
    "entropy_window_size": 5,
    "entropy_loop_threshold": 0.25,
    "entropy_warning_threshold": 0.50,
    "repeat_ring_size": 8,
    "repeat_thresholds": {"tool": 3, "llm": 5, "system": 999, "default": 999},
    "repeat_dedup": "once_per_session",
    "pattern_window": 20,
    "pattern_theta": 3,
    "pattern_alpha": 0.3,
    "pattern_cooldown": 5,
    "pattern_adaptive_cooldown": False,
    "pattern_saturation": 0.5,
    "pattern_clear": 0.3,
    "read_tools": ("read", "read_*", "*_read", "open", "open_file", "view", "view_*", "cat", "get_file*"),
    "write_tools": (
        "write",
        "write_*",
        "*_write",
        "edit",
        "edit_*",
        "*_edit",
        "multiedit",
        "create_file",
        "str_replace*",
        "apply_patch",
        "append_*",
        "insert_*",
        "replace_*",
    ),
    "command_tools": (
        "bash",
        "sh",
        "shell",
        "terminal",
        "cmd",
        "run",
        "run_*",
        "exec*",
        "test",
        "test_*",
        "*_test",
        "*_tests",
        "pytest",
        "make",
        "npm",
        "mvn",
        "gradle",
        "cargo",
        "go",
    ),
    "loop_window_size": 10,
    "exact_hash_threshold": 2,
    "semantic_threshold": 0.85,
    "oscillation_threshold": 3,
    "dead_end_threshold": 5,
    "enable_all_strategies": True,
    "nudge_threshold": 0.3,
    "replan_threshold": 0.5,
    "checkpoint_threshold": 0.7,
    "stop_threshold": 0.9,
    "signal_weights": {
        "goal_dna_drift": 0.35,
        "loop_risk": 0.25,
        "budget_velocity": 0.20,
        "quality_degradation": 0.15,
        "stuck_time": 0.05,
    },
    "goal_window": 10,
    "stuck_horizon": 20,
    "trend_window": 4,
    "trend_velocity": 0.05,
    "initial_steps": 50,
    "initial_tokens": 100000,
    "min_velocity": 0.01,
    "velocity_window": 10,
    "expansion_factor": 1.5,
    "contraction_factor": 0.7,
    "stuck_contraction_factor": 0.5,
    "stuck_steps": 5,
    "budget_cap_factor": 3.0,
    "enable_emergency_extensions": True,
    "emergency_progress": 0.9,
    "emergency_steps": 5,
    "emergency_tokens": 10000,
    "enable_historical_profiling": True,
    "profile_buffer": 0.2,
    "metrics_window": 16,
    "metrics_ngram": 3,
    "tool_groups": (),
    "verdict_enabled": True,
    "verdict_window": 30,
    "verdict_statuses": ("success", "failure", "skipped"),
    "verdict_rules": ("R1", "R2", "R7", "R9"),
    "identical_warn": 3,
    "identical_loop": 4,
    "identical_failing_warn": 3,
    "identical_failing_loop": 4,
    "cycle_max_period": 60,
    "cycle_warn": 2,
    "cycle_loop": 3,
    "stuck_warn": 3.0,
    "stuck_loop": 5.0,
    "waiting_warn_minutes": 10,
    "waiting_loop_minutes": 60,
    "poll_gap_ms": 60000,
    "failure_gap_ms": 600000,
    "refusal_phrases": (),
    "recover_records": 3,
    "tool_policies": (),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_default(name):
    default = getattr(DEFAULTS, name)
    assert default == GOLDEN[name]
    assert isinstance(default, bool) == isinstance(GOLDEN[name], bool)


def test_there_are_no_other_settings():
    names = {field.name for field in dataclasses.fields(DetectionSettings)}
    assert names == GOLDEN.keys() | {"version"}


def test_version_0_is_the_built_in_defaults():
    assert DEFAULTS.version == 0


def test_settings_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DEFAULTS.stuck_steps = 6  # type: ignore[misc]
    with pytest.raises(TypeError):
        DEFAULTS.repeat_thresholds["tool"] = 2  # type: ignore[index]
    with pytest.raises(TypeError):
        DEFAULTS.signal_weights["loop_risk"] = 1  # type: ignore[index]


def test_equal_settings_have_one_hash():
    assert hash(DetectionSettings()) == hash(DEFAULTS)
    assert {DEFAULTS: "found"}[DetectionSettings()] == "found"
