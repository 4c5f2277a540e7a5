"""The settings of A1: the window of the uniqueness ratio and its two thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from streams.core.domain.settings.general import GeneralSettings
from streams.core.domain.settings.setting import OrderedGroup, number, setting, whole


@dataclass(frozen=True, kw_only=True)
class UniquenessSettings(GeneralSettings):
    """The rows of specification 4.1, units as there."""

    ordered_groups: ClassVar[tuple[OrderedGroup, ...]] = (
        OrderedGroup(("entropy_loop_threshold", "entropy_warning_threshold")),
    )

    entropy_window_size: int = setting(
        5, whole(1, 1_000), "Records over which the uniqueness ratio is computed."
    )
    entropy_loop_threshold: float = setting(
        0.25, number(0, 1), "Uniqueness ratio below which a record is LOOP."
    )
    entropy_warning_threshold: float = setting(
        0.50, number(0, 1), "Uniqueness ratio below which a record is WARNING."
    )
