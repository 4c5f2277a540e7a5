"""The settings of A5: the response levels, and what the signals weigh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Protocol

from streams.core.domain.settings.general import GeneralSettings
from streams.core.domain.settings.setting import OrderedGroup, number, setting, weights, whole


class SignalSettings(Protocol):
    """What the signals depend on in the settings of the detectors whose blocks they are made of."""

    @property
    def min_velocity(self) -> float:
        """Of `BudgetSettings`."""

    @property
    def loop_window_size(self) -> int:
        """Of `LoopSettings`."""

    @property
    def exact_hash_threshold(self) -> int:
        """Of `LoopSettings`."""

    @property
    def semantic_threshold(self) -> float:
        """Of `LoopSettings`."""

    @property
    def dead_end_threshold(self) -> int:
        """Of `LoopSettings`."""

    @property
    def enable_all_strategies(self) -> bool:
        """Of `LoopSettings`."""


@dataclass(frozen=True, kw_only=True)
class DriftSettings(GeneralSettings, SignalSettings):
    """The rows of specification 4.1, units as there."""

    ordered_groups: ClassVar[tuple[OrderedGroup, ...]] = (
        OrderedGroup(
            ("nudge_threshold", "replan_threshold", "checkpoint_threshold", "stop_threshold"), strict=True
        ),
    )

    nudge_threshold: float = setting(
        0.3, number(0, 1), "Drift from which on the advice is to nudge the agent."
    )
    replan_threshold: float = setting(0.5, number(0, 1), "Drift from which on the advice is a new plan.")
    checkpoint_threshold: float = setting(
        0.7, number(0, 1), "Drift from which on the advice is to return to a checkpoint."
    )
    stop_threshold: float = setting(
        0.9, number(0, 1), "Drift from which on the advice is to stop the session."
    )
    signal_weights: Mapping[str, float] = setting(
        MappingProxyType(
            {
                "goal_dna_drift": 0.35,
                "loop_risk": 0.25,
                "budget_velocity": 0.20,
                "quality_degradation": 0.15,
                "stuck_time": 0.05,
            }
        ),
        weights(("goal_dna_drift", "loop_risk", "budget_velocity", "quality_degradation", "stuck_time")),
        "Weights of the five parts of the drift; their sum is 1.",
    )
    goal_window: int = setting(10, whole(1, 1_000), "Records compared with the goal of the session.")
    stuck_horizon: int = setting(20, whole(1, 100_000), "Records without progress that count as fully stuck.")
    trend_window: int = setting(4, whole(2, 1_000), "Values of the drift from which its trend is computed.")
    trend_velocity: float = setting(
        0.05, number(0, 1), "Change per record above which the drift rises or falls."
    )
