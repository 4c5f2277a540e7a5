"""The settings as one document that travels whole: read against what is in force, and written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import orjson

from streams.detectors.settings import DEFAULTS, DetectionSettings
from streams.settings_document.table import ORDERED_GROUPS, RANGES

_NOT_SETTINGS = frozenset({"version", "changed"})
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
    why) are about the document, not settings. No JSON value can make it raise. ``in_force`` is `DEFAULTS`
    as long as there was no document.

    >>> settings, warnings = resolve({"entropy_window_size": 4.5, "cycle_loop": 4}, DEFAULTS, version=1)
    >>> settings.entropy_window_size, settings.cycle_loop, [warning.setting for warning in warnings]
    (5, 4, ['entropy_window_size'])
    """
    taken: dict[str, Any] = {}
    warnings: list[SettingWarning] = []
    for name, value in document.items():
        if name in _NOT_SETTINGS:
            continue
        if name not in RANGES:
            warnings.append(SettingWarning(name, _unknown(name, len(warnings) < _MOST_SUGGESTED), None))
            continue
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
