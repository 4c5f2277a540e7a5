"""Tool names that the settings class and treat in a given way."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.tool_class import ToolClass, tool_class
from streams.core.domain.tool_policy import PolicyMode, first_policy
from streams.core.domain.witness import ANY_CLASS

# Tried first, because a person knows what they do.
_FAMILIAR = ("search", "read_file", "edit_file", "bash", "fetch_page", "lookup", "query", "x", "a1", "z9")

# Globs of each setting: it may hold thousands, and each may have to be tried on the name made of each.
_MOST_TRIED = 100


def tool_name(
    settings: DetectionSettings,
    classes: Collection[ToolClass] = ANY_CLASS,
    policies: Collection[PolicyMode | None] | None = None,
) -> str | None:
    """Return a name of one of the classes, under one of the policies (None: without one); any when not given.

    None when there is none among the familiar names and those made of the first globs of each setting.

    >>> from streams.core.detectors.settings import DEFAULTS
    >>> tool_name(DEFAULTS, {ToolClass.command}), tool_name(DEFAULTS, policies={PolicyMode.polling})
    ('bash', None)
    """
    for name in _candidates(settings):
        if tool_class(name, settings) in classes and (policies is None or _mode(name, settings) in policies):
            return name
    return None


def _candidates(settings: DetectionSettings) -> Iterator[str]:
    yield from _FAMILIAR
    policies = [policy.glob for policy in settings.tool_policies[:_MOST_TRIED]]
    for globs in (settings.read_tools, settings.write_tools, settings.command_tools, policies):
        yield from filter(None, map(_sample, globs[:_MOST_TRIED]))


def _mode(name: str, settings: DetectionSettings) -> PolicyMode | None:
    policy = first_policy(name, settings.tool_policies)
    return None if policy is None else policy.mode


def _sample(glob: str) -> str:
    """Return a name that may fit a glob: the least text for each wildcard.

    >>> _sample("get_*"), _sample("v[0-9]?"), _sample("[!a]x")
    ('get_', 'v0a', '_x')
    """
    name, at = "", 0
    while at < len(glob):
        letter = glob[at]
        at += 1
        if letter == "?":
            name += "a"
        elif letter == "[" and (end := glob.find("]", at + 1)) > 0:
            name += "_" if glob[at] == "!" else glob[at]
            at = end + 1
        elif letter != "*":
            name += letter
    return name
