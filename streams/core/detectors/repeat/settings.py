"""The settings of A2: how many equal calls in a row count as diverging."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from streams.core.domain.settings.general import GeneralSettings
from streams.core.domain.settings.setting import setting, thresholds, whole, word


class RepeatDedup(StrEnum):
    """How often one signature may be told as diverging (specification 5.2)."""

    once_per_session = "once_per_session"
    rearm = "rearm"


@dataclass(frozen=True, kw_only=True)
class RepeatSettings(GeneralSettings):
    """The rows of specification 4.1, units as there."""

    repeat_ring_size: int = setting(8, whole(2, 1_000), "Calls that the consecutive repeat remembers.")
    repeat_thresholds: Mapping[str, int] = setting(
        MappingProxyType({"tool": 3, "llm": 5, "system": 999, "default": 999}),
        thresholds(("tool", "llm", "system", "default"), whole(2, 999)),
        "Equal calls in a row that count as diverging, by kind; 999 is off.",
    )
    repeat_dedup: RepeatDedup = setting(
        RepeatDedup.once_per_session, word(RepeatDedup), "How often one call may be reported as diverging."
    )
