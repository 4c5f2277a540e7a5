"""One setting, said in one place: its default, the values it may take, and what it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from inspect import get_annotations
from typing import TypeVar

from streams.core.domain.settings.range import Range

_T = TypeVar("_T")
_KEY = "setting"


@dataclass(frozen=True, slots=True)
class Setting:
    """What is known of a setting beside its default.

    Attributes:
        allowed: the values it may take.
        meaning: what it means, in one sentence for people.
    """

    allowed: Range
    meaning: str


def setting(default: _T, allowed: Range, meaning: str) -> _T:
    """Return the field of a setting, for the body of a dataclass.

    >>> from streams.core.domain.settings.range import whole
    >>> @dataclass(frozen=True, kw_only=True)
    ... class RingSettings:
    ...     ring_size: int = setting(8, whole(2, 1_000), "Calls that are remembered.")
    >>> RingSettings().ring_size, declared_by(RingSettings)["ring_size"].meaning
    (8, 'Calls that are remembered.')
    """
    metadata = {_KEY: Setting(allowed, meaning)}
    if isinstance(default, Mapping):  # a map has no hash, so it is neither a plain default nor hashed
        return field(default_factory=lambda: default, hash=False, metadata=metadata)
    return field(default=default, metadata=metadata)


def declared_by(kind: type[object]) -> dict[str, Setting]:
    """Return the settings that a class itself declares, without those of its bases, in their order."""
    if not is_dataclass(kind):
        return {}
    own = get_annotations(kind)
    return {
        each.name: each.metadata[_KEY] for each in fields(kind) if each.name in own and _KEY in each.metadata
    }
