"""The settings of the metrics: their window, and which tools count as one."""

from __future__ import annotations

from dataclasses import dataclass

from streams.core.domain.settings.general import GeneralSettings
from streams.core.domain.settings.setting import setting, whole
from streams.core.domain.settings.tools import groups
from streams.core.domain.tool_class import ToolGroup


@dataclass(frozen=True, kw_only=True)
class MetricsSettings(GeneralSettings):
    """The rows of specification 4.1, units as there."""

    metrics_window: int = setting(
        16, whole(2, 1_000), "Records over which the metrics of a session are computed."
    )
    metrics_ngram: int = setting(3, whole(2, 10), "Length of the step sequences that the metrics count.")
    tool_groups: tuple[ToolGroup, ...] = setting(
        (), groups(), "Tools that count as one in the metrics, by patterns."
    )
