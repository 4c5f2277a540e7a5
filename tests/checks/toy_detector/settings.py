"""The settings of the echo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from streams.core.domain.settings.general import GeneralSettings
from streams.core.domain.settings.ordered_group import OrderedGroup
from streams.core.domain.settings.range import whole
from streams.core.domain.settings.setting import setting


@dataclass(frozen=True, kw_only=True)
class EchoSettings(GeneralSettings):
    """What the echo remembers, and from which count on it fires."""

    ordered_groups: ClassVar[tuple[OrderedGroup, ...]] = (OrderedGroup(("echo_limit", "echo_window")),)

    echo_window: int = setting(6, whole(2, 1_000), "Intents that the echo remembers.")
    echo_limit: int = setting(3, whole(2, 1_000), "Equal intents in the window that are an echo.")
