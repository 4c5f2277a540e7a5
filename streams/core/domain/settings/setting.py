"""One setting, said in one place: its default, the values it may take, and what it means."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from inspect import get_annotations
from itertools import pairwise
from operator import attrgetter
from types import MappingProxyType
from typing import Any, TypeVar

from streams.core.domain.text.glob import MOST_SEARCHED, are_affordable

AFFORDABLE = f"at most {MOST_SEARCHED} characters in patterns other than name, name* and *name"
"""What is wanted of patterns, for `Range.wanted`."""


def _as_it_is(value: Any) -> object:
    return value


@dataclass(frozen=True, slots=True)
class Range:
    """The values a setting may take, and how they travel in a JSON document.

    ``wanted`` completes "must be ...". ``read`` turns a value of a document into the value in force, or into
    None (which no setting is) when it does not fit; it never raises. ``write`` turns it back. ``choices`` are
    all there is to choose from, as people type it; empty if there is more.
    """

    wanted: str
    read: Callable[[object], Any | None]
    write: Callable[[Any], object] = _as_it_is
    choices: tuple[str, ...] = ()


def whole(low: int, high: int) -> Range:
    """Take integers from ``low`` to ``high``; neither true nor 5.0 nor "5" is one.

    >>> whole(1, 10).read(5), whole(1, 10).read(5.0), whole(1, 10).read(True), whole(1, 10).read(11)
    (5, None, None, None)
    """

    def read(value: object) -> int | None:
        return value if type(value) is int and low <= value <= high else None

    return Range(f"an integer from {low} to {high}", read)


def number(low: float, high: float, *, above: bool = False) -> Range:
    """Take finite numbers from ``low`` to ``high``; ``above`` leaves ``low`` itself out. They become doubles.

    >>> number(0, 1).read(1), number(0, 1).read(True), number(0, 1, above=True).read(0.0)
    (1.0, None, None)
    """

    def read(value: object) -> float | None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            return None
        # Adding 0.0 takes the sign off a negative zero.
        return None if above and value == low else float(value) + 0.0

    span = f"above {low:g} and at most {high:g}" if above else f"from {low:g} to {high:g}"
    return Range(f"a number {span}", read)


def flag() -> Range:
    """Take true and false."""

    def read(value: object) -> bool | None:
        return value if isinstance(value, bool) else None

    return Range("true or false", read, choices=("true", "false"))


def word(words: Iterable[str]) -> Range:
    """Take one of a few words; where they are members of a StrEnum, the member is in force."""
    known = {str(each): each for each in words}

    def read(value: object) -> str | None:
        return known.get(value) if isinstance(value, str) else None

    return Range(f"one of {', '.join(known)}", read, str, tuple(known))


def subset(words: Iterable[str]) -> Range:
    """Take a list of any of a few words, none twice; the order of the document is kept."""
    known = frozenset(words)

    def read(value: object) -> tuple[str, ...] | None:
        found = distinct_texts(value)
        return found if found is not None and known.issuperset(found) else None

    return Range(f"a list, without repetition, of {', '.join(words)}", read, list)


def globs() -> Range:
    """Take a list of patterns over tool names, none twice, that are affordable."""

    def read(value: object) -> tuple[str, ...] | None:
        found = distinct_texts(value)
        return found if found is not None and are_affordable(found) else None

    return Range(f"a list of texts without repetition, {AFFORDABLE}", read, list)


def phrases() -> Range:
    """Take a list of phrases, none twice, that are looked for in texts; they become lower case.

    >>> phrases().read(["See the Handbook"]), phrases().read(["no"]), phrases().read(["a" * 201])
    (('see the handbook',), None, None)
    """
    fewest, most, longest = 3, 100, 200

    def read(value: object) -> tuple[str, ...] | None:
        found = distinct_texts(value)
        lower = tuple(dict.fromkeys(each.lower() for each in found or ()))
        if found is None or len(found) > most or not all(fewest <= len(each) <= longest for each in lower):
            return None
        return lower

    wanted = f"a list of at most {most} texts without repetition, of {fewest} to {longest} characters"
    return Range(wanted, read, list)


def is_text(value: object) -> bool:
    """Tell whether a value is text that can leave as UTF-8 again."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def distinct_texts(value: object) -> tuple[str, ...] | None:
    """Return the texts of a list, None when it is no list, holds something else or holds one twice."""
    if not isinstance(value, list | tuple) or not all(map(is_text, value)):
        return None
    return tuple(value) if len(set(value)) == len(value) else None


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

    >>> from streams.core.domain.settings.setting import whole
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
