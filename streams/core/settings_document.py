"""The settings as one document that travels whole: which there are, how they are read, and their versions.

Versions of settings documents: which one follows which, without a last one. Anybody may write a document of
any version to the topic, also of the largest. If versions were compared as numbers, no document could follow
that one, and the settings could never change again. So versions go round, as serial numbers do (RFC 1982):
after the largest comes 1, and a version follows another when it is less than half the range ahead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import orjson

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
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


_NOT_SETTINGS = frozenset({"version", "changed"})
# Rules of version 0.1, and their settings, which the stuck score has taken over. Version 0.3 forgets them.
_RULES_THAT_WENT = frozenset({"R3", "R4", "R5", "R6", "R8"})
_SETTINGS_THAT_WENT = frozenset(
    {
        *(
            "same_error_warn",
            "same_error_loop",
            "same_error_similarity",
            "same_result_warn",
            "same_result_loop",
        ),
        *("near_duplicate_similarity", "near_duplicate_warn", "near_duplicate_loop"),
        *("nothing_new_warn", "nothing_new_loop", "stalled_warn", "stalled_loop"),
    }
)
_WENT = (
    "has no effect any more: the stuck score (R7) has taken over rules R3, R4, R5, R6 and R8; leave it out"
)
# To find the name that was meant takes half a millisecond; a document may hold a hundred thousand names.
_MOST_SUGGESTED = 100


@dataclass(frozen=True, slots=True)
class SettingWarning:
    """One part of a document that was not taken.

    ``setting`` is the key, or the names of an ordered group joined by commas; ``problem`` says what is wrong
    with it; ``kept`` is what stays in force, as a document writes it: a map of values for a group, None for a
    key that is no setting.
    """

    setting: str
    problem: str
    kept: object


def resolve(
    document: Mapping[str, object], in_force: DetectionSettings, version: int
) -> tuple[DetectionSettings, tuple[SettingWarning, ...]]:
    """Return the settings a document puts in force as ``version``, and what of it was refused.

    A key the document leaves out has its default, a key it gets wrong keeps the value in force, an ordered
    group that does not hold on the result goes back to the values in force together (specification 4.2, 4.4).
    Warnings come in the order of the document, those of groups last. ``version`` and ``changed`` (who, when,
    why) are about the document, not settings. Rules that went, and their settings, are named and left out.
    No JSON value can make it raise. ``in_force`` is `DEFAULTS` as long as there was no document.

    >>> settings, warnings = resolve({"entropy_window_size": 4.5, "cycle_loop": 4}, DEFAULTS, version=1)
    >>> settings.entropy_window_size, settings.cycle_loop, [warning.setting for warning in warnings]
    (5, 4, ['entropy_window_size'])
    """
    taken: dict[str, Any] = {}
    warnings: list[SettingWarning] = []
    for name, value in document.items():
        if name in _NOT_SETTINGS:
            continue
        if name in _SETTINGS_THAT_WENT:
            warnings.append(SettingWarning(name, _WENT, None))
            continue
        if name not in RANGES:
            warnings.append(SettingWarning(name, _unknown(name, len(warnings) < _MOST_SUGGESTED), None))
            continue
        if (
            name == "verdict_rules"
            and isinstance(value, list)
            and not _RULES_THAT_WENT.isdisjoint(_texts(value))
        ):
            left = [rule for rule in value if not (isinstance(rule, str) and rule in _RULES_THAT_WENT)]
            warnings.append(SettingWarning(name, f"names a rule that {_WENT}", left))
            if not left:
                continue  # better the default than no rule at all
            value = left  # noqa: PLW2901 - what is left of it
        taken[name] = RANGES[name].read(value)
        if taken[name] is None:
            taken[name] = getattr(in_force, name)
            kept = RANGES[name].write(taken[name])
            warnings.append(SettingWarning(name, f"must be {RANGES[name].wanted}", kept))
    settings = replace(DEFAULTS, **taken, version=version)
    for group in ORDERED_GROUPS:
        if not group.holds(settings):
            settings = replace(settings, **{name: getattr(in_force, name) for name in group.names})
            written = {name: RANGES[name].write(getattr(in_force, name)) for name in group.names}
            warnings.append(SettingWarning(",".join(group.names), f"must be {group.wanted}", written))
    return settings, tuple(warnings)


def _texts(values: list[object]) -> Iterator[str]:
    return (value for value in values if isinstance(value, str))


def is_empty(document: Mapping[str, object]) -> bool:
    """Tell whether a document says nothing about any setting.

    >>> is_empty({"version": 3, "changed": {"by": "ann"}}), is_empty({"version": 3, "cycle_loop": 4})
    (True, False)
    """
    return document.keys() <= _NOT_SETTINGS


def to_document(settings: DetectionSettings) -> dict[str, object]:
    """Return every setting, without the version, in values that JSON can write; `resolve` reads them back."""
    return {name: allowed.write(getattr(settings, name)) for name, allowed in RANGES.items()}


def typed(text: str) -> Any:
    """Return a value as people type it: JSON, or text where it is none.

    >>> typed("8"), typed('["a"]'), typed("max"), typed("[" * 9_000)[:2]
    (8, ['a'], 'max', '[[')
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _unknown(name: str, suggest: bool) -> str:
    near = get_close_matches(name[:64], RANGES, n=1) if suggest else ()
    return "is not a setting" + (f"; did you mean {near[0]}?" if near else "")


class ShadowDocument(NamedTuple):
    """What `shadow-config` says at a moment.

    Attributes:
        position: the offset after the record that said so. It orders what the topic said; versions cannot,
            since they start again when the topic was emptied.
        version: of the newest document, 0 before any and after a tombstone.
        settings: what is tried out; None when nothing is.
    """

    position: int = 0
    version: int = 0
    settings: DetectionSettings | None = None


class Shadow(NamedTuple):
    """What is tried out on records of a partition.

    Attributes:
        settings: the settings, with the version of their document.
        since: the offset of the partition from which on something has been tried out without a break. What
            a session kept from before belongs to an earlier trial.
    """

    settings: DetectionSettings
    since: int


LARGEST_VERSION: Final = 2**53
"""Every record carries the version, so it must be a number that any reader of JSON or Avro can hold."""

FARTHEST: Final = LARGEST_VERSION // 2
"""A version that is so far ahead of another, or farther, is behind it."""


def follows(version: int, known: int) -> bool:
    """Tell whether a document of a version may follow one of a known version; 0 is "no document yet".

    >>> follows(8, 7), follows(7, 7), follows(6, 7), follows(1_700_000_000_000, 7)
    (True, False, False, True)
    >>> follows(LARGEST_VERSION, 0), follows(1, LARGEST_VERSION), follows(LARGEST_VERSION, 7)
    (True, True, False)
    """
    if known == 0 or version == 0:
        return version > known
    return 0 < (version - known) % LARGEST_VERSION < FARTHEST


def next_version(version: int) -> int:
    """Return the version after this one.

    >>> next_version(0), next_version(7), next_version(LARGEST_VERSION)
    (1, 8, 1)
    """
    return version % LARGEST_VERSION + 1
