"""Which settings there are and what each may be: the ranges of specification 4.1, row by row."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from streams.domain.detection_settings import NodeStateSource, RepeatDedup
from streams.domain.level import Level
from streams.domain.settings.map import thresholds, weights
from streams.domain.settings.range import flag, globs, number, subset, whole, word
from streams.domain.settings.tools import groups, policies

_YEAR_MS = 31_536_000_000
_DAY_MS = 86_400_000
_STATUSES = ("success", "failure", "pending", "skipped")
_FAMILIES = ("entropy_alert", "loop_episode", "divergence_suspected", "drift_pattern")

RANGES: Final = MappingProxyType(
    {
        "score_statuses": subset(_STATUSES),
        "session_ttl_ms": whole(0, _YEAR_MS),
        "state_grace_ms": whole(0, _YEAR_MS),
        "max_future_ms": whole(0, _YEAR_MS),
        "alert_families": subset(_FAMILIES),
        "alert_every_record": flag(),
        "alert_heartbeat_records": whole(0, 100_000),
        "topology_every_record": flag(),
        "node_state_source": word(NodeStateSource),
        "episode_min_level": word((Level.WARNING, Level.LOOP)),
        "entropy_window_size": whole(1, 1_000),
        "entropy_loop_threshold": number(0, 1),
        "entropy_warning_threshold": number(0, 1),
        "repeat_ring_size": whole(2, 1_000),
        "repeat_thresholds": thresholds(("tool", "llm", "system", "default"), whole(2, 999)),
        "repeat_dedup": word(RepeatDedup),
        "pattern_window": whole(3, 1_000),
        "pattern_theta": whole(2, 1_000),
        "pattern_alpha": number(0, 1, above=True),
        "pattern_cooldown": whole(0, 100_000),
        "pattern_adaptive_cooldown": flag(),
        "pattern_saturation": number(0, 1),
        "pattern_clear": number(0, 1),
        "read_tools": globs(),
        "write_tools": globs(),
        "command_tools": globs(),
        "loop_window_size": whole(2, 1_000),
        "exact_hash_threshold": whole(2, 1_000),
        "semantic_threshold": number(0, 1, above=True),
        "oscillation_threshold": whole(2, 1_000),
        "dead_end_threshold": whole(2, 1_000),
        "enable_all_strategies": flag(),
        "nudge_threshold": number(0, 1),
        "replan_threshold": number(0, 1),
        "checkpoint_threshold": number(0, 1),
        "stop_threshold": number(0, 1),
        "signal_weights": weights(
            ("goal_dna_drift", "loop_risk", "budget_velocity", "quality_degradation", "stuck_time")
        ),
        "goal_window": whole(1, 1_000),
        "stuck_horizon": whole(1, 100_000),
        "trend_window": whole(2, 1_000),
        "trend_velocity": number(0, 1),
        "initial_steps": whole(1, 10_000_000),
        "initial_tokens": whole(1, 10**12),
        "min_velocity": number(0, 1, above=True),
        "velocity_window": whole(1, 1_000),
        "expansion_factor": number(1, 10),
        "contraction_factor": number(0, 1, above=True),
        "stuck_contraction_factor": number(0, 1, above=True),
        "stuck_steps": whole(1, 1_000),
        "budget_cap_factor": number(1, 1_000),
        "enable_emergency_extensions": flag(),
        "emergency_progress": number(0, 1),
        "emergency_steps": whole(0, 10**6),
        "emergency_tokens": whole(0, 10**12),
        "enable_historical_profiling": flag(),
        "profile_buffer": number(0, 10),
        "metrics_window": whole(2, 1_000),
        "metrics_ngram": whole(2, 10),
        "tool_groups": groups(),
        "verdict_enabled": flag(),
        "verdict_window": whole(6, 1_000),
        "verdict_statuses": subset(_STATUSES),
        "verdict_rules": subset(("R1", "R2", "R3", "R4", "R5", "R6")),
        "identical_warn": whole(2, 1_000),
        "identical_loop": whole(2, 1_000),
        "identical_failing_warn": whole(2, 1_000),
        "identical_failing_loop": whole(2, 1_000),
        "cycle_max_period": whole(2, 5),
        "cycle_warn": whole(2, 1_000),
        "cycle_loop": whole(2, 1_000),
        "same_error_warn": whole(2, 1_000),
        "same_error_loop": whole(2, 1_000),
        "same_error_similarity": number(0, 1),
        "same_result_warn": whole(2, 1_000),
        "same_result_loop": whole(2, 1_000),
        "near_duplicate_similarity": number(0, 1, above=True),
        "near_duplicate_warn": whole(2, 1_000),
        "near_duplicate_loop": whole(2, 1_000),
        "nothing_new_warn": whole(2, 1_000),
        "nothing_new_loop": whole(2, 1_000),
        "poll_gap_ms": whole(0, _DAY_MS),
        "recover_records": whole(1, 1_000),
        "tool_policies": policies(whole(2, 100_000)),
    }
)
