"""The settings of A4: the window of the loop detectors, and what counts for each."""

from __future__ import annotations

from dataclasses import dataclass

from streams.core.domain.settings.general import GeneralSettings
from streams.core.domain.settings.setting import flag, number, setting, whole


@dataclass(frozen=True, kw_only=True)
class LoopSettings(GeneralSettings):
    """The rows of specification 4.1, units as there."""

    loop_window_size: int = setting(10, whole(2, 1_000), "Records that the loop detectors compare.")
    exact_hash_threshold: int = setting(2, whole(2, 1_000), "Equal steps in a row that count as a loop.")
    semantic_threshold: float = setting(
        0.85, number(0, 1, above=True), "Similarity from which on two steps count as the same."
    )
    oscillation_threshold: int = setting(
        3, whole(2, 1_000), "Turns of two alternating steps that count as a loop."
    )
    dead_end_threshold: int = setting(5, whole(2, 1_000), "Fruitless steps that count as a dead end.")
    enable_all_strategies: bool = setting(
        True, flag(), "Use all loop detectors; false leaves the exact one alone."
    )
