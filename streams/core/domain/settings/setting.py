"""One setting, said in one place: its default, the values it may take, and what it means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from inspect import get_annotations
from itertools import pairwise
from operator import attrgetter
from types import MappingProxyType
from typing import Any, TypeVar

from streams.core.domain.settings.range import Range, is_text, number


@dataclass(frozen=True, slots=True)
class OrderedGroup:
    """Settings whose values must not fall in this order; ``strict``: must rise."""

    names: tuple[str, ...]
    strict: bool = False

    @property
    def wanted(self) -> str:
        """The words after "must be"."""
        return "in the order " + (" < " if self.strict else " <= ").join(self.names)

    def holds(self, settings: object) -> bool:
        """Tell whether the settings keep the order."""
        values = attrgetter(*self.names)(settings)
        return all(low < high or (low == high and not self.strict) for low, high in pairwise(values))


_SUM_TOLERANCE = 1e-6

#: A worker proves for each kind that its rule can fire.
_MOST_KINDS = 100


def thresholds(required: tuple[str, ...], limit: Range) -> Range:
    """Take a map of texts to what ``limit`` takes; the required keys must be there, some others may."""

    def read(value: object) -> Mapping[str, int] | None:
        if (
            not isinstance(value, Mapping)
            or len(value) > _MOST_KINDS
            or not all(map(is_text, value))
            or not value.keys() >= set(required)
        ):
            return None
        limits = read_all(value, limit)
        return None if limits is None else MappingProxyType(limits)

    kinds = f"a map of at most {_MOST_KINDS} kinds, {', '.join(required)} among them"
    return Range(f"{kinds}, each to {limit.wanted}", read, dict)


def weights(names: tuple[str, ...]) -> Range:
    """Take a map of exactly these names to numbers from 0 to 1 with the sum 1, within 1e-6.

    In force it has the order of ``names``, so that sums over it do not depend on the document.
    """
    share = number(0, 1)

    def read(value: object) -> Mapping[str, float] | None:
        if not isinstance(value, Mapping) or value.keys() != set(names):
            return None
        shares = read_all({name: value[name] for name in names}, share)
        if shares is None or abs(math.fsum(shares.values()) - 1) > _SUM_TOLERANCE:
            return None
        return MappingProxyType(shares)

    return Range(f"a map of exactly {', '.join(names)} to numbers from 0 to 1 whose sum is 1", read, dict)


def read_all(values: Mapping[str, object], each: Range) -> dict[str, Any] | None:
    """Read every value of a map the same way; None when one does not fit."""
    found = {}
    for name, value in values.items():
        read = each.read(value)
        if read is None:
            return None
        found[name] = read
    return found


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
