"""The settings of A6: the first budgets, and how they grow and shrink."""

from __future__ import annotations

from dataclasses import dataclass

from streams.core.domain.settings.general import GeneralSettings
from streams.core.domain.settings.setting import flag, number, setting, whole


@dataclass(frozen=True, kw_only=True)
class BudgetSettings(GeneralSettings):
    """The rows of specification 4.1, units as there."""

    initial_steps: int = setting(50, whole(1, 10_000_000), "Steps that a session may spend at its start.")
    initial_tokens: int = setting(100_000, whole(1, 10**12), "Tokens that a session may spend at its start.")
    min_velocity: float = setting(
        0.01, number(0, 1, above=True), "Progress per step below which a session is slow."
    )
    velocity_window: int = setting(10, whole(1, 1_000), "Records over which the progress is computed.")
    expansion_factor: float = setting(1.5, number(1, 10), "Growth of a budget while the session gets on.")
    contraction_factor: float = setting(
        0.7, number(0, 1, above=True), "Shrinking of a budget while the session is slow."
    )
    stuck_contraction_factor: float = setting(
        0.5, number(0, 1, above=True), "Shrinking of a budget while the session is stuck."
    )
    stuck_steps: int = setting(5, whole(1, 1_000), "Steps without progress after which a session is stuck.")
    budget_cap_factor: float = setting(
        3.0, number(1, 1_000), "How many times its first size a budget may reach."
    )
    enable_emergency_extensions: bool = setting(
        True, flag(), "Extend the budget of a session that is nearly done."
    )
    emergency_progress: float = setting(0.9, number(0, 1), "Progress from which on a session is nearly done.")
    emergency_steps: int = setting(5, whole(0, 10**6), "Steps that such an extension gives.")
    emergency_tokens: int = setting(10_000, whole(0, 10**12), "Tokens that such an extension gives.")
    enable_historical_profiling: bool = setting(
        True, flag(), "Recommend budgets from the finished tasks of a type."
    )
    profile_buffer: float = setting(
        0.2, number(0, 10), "Share by which a recommended budget exceeds what was needed."
    )
