"""The settings of A3: the window of the patterns, and how their averages rise and fall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from streams.core.domain.settings.general import GeneralSettings
from streams.core.domain.settings.setting import OrderedGroup, flag, number, setting, whole
from streams.core.domain.settings.tool_classes import ToolClassSettings


@dataclass(frozen=True, kw_only=True)
class PatternsSettings(GeneralSettings, ToolClassSettings):
    """The rows of specification 4.1, units as there."""

    ordered_groups: ClassVar[tuple[OrderedGroup, ...]] = (
        OrderedGroup(("pattern_clear", "pattern_saturation")),
    )

    pattern_window: int = setting(
        20, whole(3, 1_000), "Records in which the patterns look for read, edit and test loops."
    )
    pattern_theta: int = setting(3, whole(2, 1_000), "Occurrences in the window that make a pattern.")
    pattern_alpha: float = setting(
        0.3, number(0, 1, above=True), "Weight of the newest record in a pattern's moving average."
    )
    pattern_cooldown: int = setting(5, whole(0, 100_000), "Records between two reports of one pattern.")
    pattern_adaptive_cooldown: bool = setting(
        False, flag(), "Lengthen the cooldown of a pattern that keeps coming back."
    )
    pattern_saturation: float = setting(0.5, number(0, 1), "Moving average above which a pattern escalates.")
    pattern_clear: float = setting(
        0.3, number(0, 1), "Moving average below which an escalated pattern is over."
    )
