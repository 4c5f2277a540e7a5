"""A change of settings somebody thinks about: what was typed, what it would do, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import orjson

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.errors import ConfigurationError
from streams.core.settings_document import MEANINGS, RANGES, SettingWarning, resolve, to_document, typed
from streams.operate.explain.settings_topic import differing

MOST_CHANGES: Final = 100
_TRIED_VERSION: Final = 1


class Proposal(NamedTuple):
    """Changes of the settings in force.

    Attributes:
        in_force: the settings that they change.
        changes: the values, by setting, as a document has them.
        after: the settings with the changes that are acceptable.
        problems: what is not acceptable.
    """

    in_force: DetectionSettings
    changes: Mapping[str, Any]
    after: DetectionSettings
    problems: tuple[SettingWarning, ...]

    @property
    def changed(self) -> dict[str, tuple[Any, Any]]:
        """Each setting that would differ, with its values before and after."""
        return differing(self.in_force, self.after)

    @property
    def acceptable(self) -> bool:
        """Whether there is a change, and nothing wrong with it."""
        return bool(self.changed) and not self.problems

    def fields(self) -> list[dict[str, Any]]:
        """Return each setting that is to be changed, as a form shows it."""
        return [
            {
                "name": name,
                "typed": as_typed(value),
                "in_force": as_typed(to_document(self.in_force).get(name)),
                "default": as_typed(to_document(DEFAULTS).get(name)),
                "meaning": MEANINGS.get(name, ""),
                "wanted": RANGES[name].wanted if name in RANGES else "",
                "choices": list(RANGES[name].choices) if name in RANGES else [],
                "problem": next((each.problem for each in self.problems if each.setting == name), ""),
            }
            for name, value in self.changes.items()
        ]

    def together(self) -> list[dict[str, str]]:
        """Return what is wrong with several settings together."""
        return [
            {"settings": each.setting.replace(",", ", "), "problem": each.problem}
            for each in self.problems
            if each.setting not in self.changes
        ]


def proposal(in_force: DetectionSettings, changes: Mapping[str, Any]) -> Proposal:
    """Return what some changes would do to the settings in force.

    >>> found = proposal(DEFAULTS, {"cycle_loop": 4, "identical_loop": "many"})
    >>> found.changed, found.problems[0].problem
    ({'cycle_loop': (3, 4)}, 'must be an integer from 2 to 1000')
    """
    document = {**to_document(in_force), **changes}
    after, problems = resolve(document, in_force, in_force.version or _TRIED_VERSION)
    return Proposal(in_force, dict(changes), after, problems)


def typed_in(query: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the changes that the address of a page names: ``name=value`` for each setting.

    ``add`` names one more, with the value that it has; what is no setting is left out.

    Raises:
        ConfigurationError: there are too many.
    """
    found = {name: typed(text) for name, text in query if name in RANGES}
    if len(found) > MOST_CHANGES:
        raise ConfigurationError(f"A proposal changes {MOST_CHANGES} settings at most.")
    return found


def sent(text: str | None) -> dict[str, Any]:
    """Return the changes of a request: a JSON object of settings.

    Raises:
        ConfigurationError: it is none.
    """
    try:
        found = orjson.loads(text or "")
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise ConfigurationError('The field changes is no JSON object, such as {"cycle_loop": 4}.')
    if len(found) > MOST_CHANGES:
        raise ConfigurationError(f"A proposal changes {MOST_CHANGES} settings at most.")
    return found


def as_typed(value: Any) -> str:
    """Return a value as people type it, so that `typed` reads the same back.

    >>> as_typed(8), as_typed("max"), as_typed("8"), as_typed(["a"])
    ('8', 'max', '"8"', '["a"]')
    """
    if isinstance(value, str) and typed(value) == value:
        return value
    return orjson.dumps(value).decode()
