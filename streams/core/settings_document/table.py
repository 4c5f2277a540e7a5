"""Which settings there are, what each may be and means: what the settings classes declare, in their order."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.settings.general import GeneralSettings
from streams.core.domain.settings.setting import declared_by

# The general settings first. Then each base of the composition, with what it inherits behind its own.
_CLASSES = dict.fromkeys(
    (GeneralSettings, *(kind for base in DetectionSettings.__bases__ for kind in base.__mro__))
)
_SETTINGS = {name: found for kind in _CLASSES for name, found in declared_by(kind).items()}

RANGES: Final = MappingProxyType({name: setting.allowed for name, setting in _SETTINGS.items()})
"""What each setting may be (specification 4.1)."""

MEANINGS: Final = MappingProxyType({name: setting.meaning for name, setting in _SETTINGS.items()})
"""What each setting means, in one sentence for people."""

ORDERED_GROUPS: Final = tuple(group for kind in _CLASSES for group in vars(kind).get("ordered_groups", ()))
"""Settings whose values must rise together (specification 4.2)."""
