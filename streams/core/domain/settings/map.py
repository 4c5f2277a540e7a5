"""Settings that are maps: thresholds per kind of call, weights per signal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from streams.core.domain.settings.range import Range, is_text, number

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
