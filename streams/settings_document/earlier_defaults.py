"""The defaults of earlier versions, as changes to those of this one."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

#: The defaults before there was the stuck score.
V1_DEFAULTS: Final[Mapping[str, object]] = MappingProxyType(
    {"verdict_rules": ["R1", "R2", "R3", "R4", "R5"], "identical_warn": 3}
)
