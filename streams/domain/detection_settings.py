"""Every number and word that decides what is detected: one immutable value, in force for whole runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from streams.domain.level import Level
from streams.domain.tool_group import ToolGroup
from streams.domain.tool_policy import ToolPolicy

_DAY_MS = 86_400_000
_HOUR_MS = 3_600_000


class NodeStateSource(StrEnum):
    """What colours the node of a session (specification 7.3)."""

    uniqueness = "uniqueness"
    verdict = "verdict"
    max = "max"


class RepeatDedup(StrEnum):
    """How often one signature may be told as diverging (specification 5.2)."""

    once_per_session = "once_per_session"
    rearm = "rearm"


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionSettings:
    """The settings of specification 4.1 with their defaults: one attribute per row, units as there.

    Three are not in that table, and change nothing as they stand (docs/quality.md has what they are worth):
    `same_error_similarity`, the least share of words that neighbouring calls of R3 have in common, 0 for any
    arguments; `nothing_new_warn` and `nothing_new_loop`, the limits of R6, in records, which count when
    `verdict_rules` has R6.

    A value built by `streams.settings_document.document.resolve` is always within the ranges; one built
    directly is not checked. Maps are read-only views. ``version`` counts documents; 0 is the built-in
    defaults before any document (specification 4.4).
    """

    version: int = 0

    score_statuses: tuple[str, ...] = ("success", "failure", "pending", "skipped")
    session_ttl_ms: int = _DAY_MS
    state_grace_ms: int = _DAY_MS
    max_future_ms: int = _HOUR_MS

    alert_families: tuple[str, ...] = (
        "entropy_alert",
        "loop_episode",
        "divergence_suspected",
        "drift_pattern",
    )
    alert_every_record: bool = True
    alert_heartbeat_records: int = 10
    topology_every_record: bool = True
    node_state_source: NodeStateSource = NodeStateSource.uniqueness
    episode_min_level: Level = Level.LOOP

    entropy_window_size: int = 5
    entropy_loop_threshold: float = 0.25
    entropy_warning_threshold: float = 0.50

    repeat_ring_size: int = 8
    repeat_thresholds: Mapping[str, int] = field(
        default_factory=lambda: MappingProxyType({"tool": 3, "llm": 5, "system": 999, "default": 999}),
        hash=False,
    )
    repeat_dedup: RepeatDedup = RepeatDedup.once_per_session

    pattern_window: int = 20
    pattern_theta: int = 3
    pattern_alpha: float = 0.3
    pattern_cooldown: int = 5
    pattern_adaptive_cooldown: bool = False
    pattern_saturation: float = 0.5
    pattern_clear: float = 0.3
    read_tools: tuple[str, ...] = (
        "read",
        "read_*",
        "*_read",
        "open",
        "open_file",
        "view",
        "view_*",
        "cat",
        "get_file*",
    )
    write_tools: tuple[str, ...] = (
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
    )
    command_tools: tuple[str, ...] = (
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
    )

    loop_window_size: int = 10
    exact_hash_threshold: int = 2
    semantic_threshold: float = 0.85
    oscillation_threshold: int = 3
    dead_end_threshold: int = 5
    enable_all_strategies: bool = True

    nudge_threshold: float = 0.3
    replan_threshold: float = 0.5
    checkpoint_threshold: float = 0.7
    stop_threshold: float = 0.9
    signal_weights: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType(
            {
                "goal_dna_drift": 0.35,
                "loop_risk": 0.25,
                "budget_velocity": 0.20,
                "quality_degradation": 0.15,
                "stuck_time": 0.05,
            }
        ),
        hash=False,
    )
    goal_window: int = 10
    stuck_horizon: int = 20
    trend_window: int = 4
    trend_velocity: float = 0.05

    initial_steps: int = 50
    initial_tokens: int = 100_000
    min_velocity: float = 0.01
    velocity_window: int = 10
    expansion_factor: float = 1.5
    contraction_factor: float = 0.7
    stuck_contraction_factor: float = 0.5
    stuck_steps: int = 5
    budget_cap_factor: float = 3.0
    enable_emergency_extensions: bool = True
    emergency_progress: float = 0.9
    emergency_steps: int = 5
    emergency_tokens: int = 10_000
    enable_historical_profiling: bool = True
    profile_buffer: float = 0.2

    metrics_window: int = 16
    metrics_ngram: int = 3
    tool_groups: tuple[ToolGroup, ...] = ()

    verdict_enabled: bool = True
    verdict_window: int = 30
    verdict_statuses: tuple[str, ...] = ("success", "failure", "skipped")
    verdict_rules: tuple[str, ...] = ("R1", "R2", "R3", "R4", "R5")
    identical_warn: int = 3
    identical_loop: int = 4
    identical_failing_warn: int = 2
    identical_failing_loop: int = 3
    cycle_max_period: int = 5
    cycle_warn: int = 2
    cycle_loop: int = 3
    same_error_warn: int = 4
    same_error_loop: int = 6
    same_error_similarity: float = 0.0
    same_result_warn: int = 4
    same_result_loop: int = 5
    near_duplicate_similarity: float = 0.8
    near_duplicate_warn: int = 4
    near_duplicate_loop: int = 6
    nothing_new_warn: int = 3
    nothing_new_loop: int = 5
    poll_gap_ms: int = 60_000
    recover_records: int = 3
    tool_policies: tuple[ToolPolicy, ...] = ()


DEFAULTS = DetectionSettings()
