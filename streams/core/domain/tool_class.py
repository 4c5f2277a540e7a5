"""What a tool does to the world, which tools count as one, and what an operator says about single tools."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Generic, TypeVar

from streams.core.domain.settings.tool_classes import ToolClassSettings
from streams.core.domain.text.glob import Globs

K = TypeVar("K")
V = TypeVar("V")

#: Settings that are read in turns: in force, tried out, the ones before these, and those of each partition.
_SETTINGS_REMEMBERED = 64


class ByIdentity(Generic[K, V]):
    """Makes a value of a setting once, not for each record.

    To compare or hash a setting with thousands of patterns takes milliseconds, and each record asks.

    >>> lengths = ByIdentity(len)
    >>> lengths.of("abc")
    3
    """

    __slots__ = ("_known", "_make")

    def __init__(self, make: Callable[[K], V]) -> None:
        self._make = make
        self._known: dict[int, tuple[K, V]] = {}

    def of(self, setting: K) -> V:
        """Return what was made of this very object, or make it."""
        known = self._known.get(id(setting))
        # The object is kept, or another one might get its id.
        if known is None or known[0] is not setting:
            if len(self._known) >= _SETTINGS_REMEMBERED:
                self._known.clear()
            known = self._known[id(setting)] = setting, self._make(setting)
        return known[1]


_VERSION = re.compile(r"[_-]?v[0-9]+$")
_NAMES_REMEMBERED = 4_096
_LONGEST_REMEMBERED = 200


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """One entry of the setting ``tool_groups``: tools the metrics count as one."""

    group: str
    patterns: tuple[str, ...]


def grouping(groups: tuple[ToolGroup, ...]) -> Callable[[str], str]:
    """Return the function that finds the group of a tool name under the setting `tool_groups`.

    The first entry with a pattern that fits the lower-cased name, else that name without its version.

    >>> group_of = grouping((ToolGroup("search", ("search_*", "*_search")),))
    >>> [group_of(name) for name in ("Web_Search", "call_api_v2", "Call-API-v10", "v2", "")]
    ['search', 'call_api', 'call-api', '', '']
    """
    return _groupings.of(groups)


def _grouping(groups: tuple[ToolGroup, ...]) -> Callable[[str], str]:
    globs = Globs(pattern for entry in groups for pattern in entry.patterns)
    owners = [entry.group for entry in groups for _ in entry.patterns]

    def group(name: str) -> str:
        lowered = name.lower()
        index = globs.first(lowered)
        return _VERSION.sub("", lowered) if index is None else owners[index]

    remembered = lru_cache(maxsize=_NAMES_REMEMBERED)(group)

    def group_of(name: str) -> str:
        # Producers choose the names: very long ones are not remembered, so that memory stays bounded.
        return remembered(name) if len(name) <= _LONGEST_REMEMBERED else group(name)

    return group_of


_groupings = ByIdentity(_grouping)


class PolicyMode(StrEnum):
    """How the verdict treats a tool (specification 6.2)."""

    exempt = "exempt"
    polling = "polling"
    limits = "limits"


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """One entry of the setting ``tool_policies``; the first whose glob fits the lower-cased name holds.

    ``warn`` and ``loop`` are limits of rule R1 in records: both given for ``limits``, each optional for
    ``polling`` (specification 6.2 says what stands in), neither for ``exempt``.
    """

    glob: str
    mode: PolicyMode
    warn: int | None = None
    loop: int | None = None


_Policies = tuple[ToolPolicy, ...]


class _Known:
    """The policies of one settings, compiled, and what holds for the names that were asked for."""

    __slots__ = ("_found", "_globs", "_policies")

    def __init__(self, policies: _Policies) -> None:
        self._policies = policies
        self._globs = Globs(policy.glob for policy in policies)
        self._found: dict[str, ToolPolicy | None] = {}

    def first(self, tool: str) -> ToolPolicy | None:
        found = self._found
        if tool in found:
            return found[tool]
        index = self._globs.first(tool.lower())
        holds = None if index is None else self._policies[index]
        # Producers choose the names: very long ones are not remembered, so that memory stays bounded.
        if len(tool) <= _LONGEST_REMEMBERED:
            if len(found) >= _NAMES_REMEMBERED:
                found.clear()
            found[tool] = holds
        return holds


_known = ByIdentity(_Known)


def first_policy(tool: str, policies: _Policies) -> ToolPolicy | None:
    """Return the first policy whose glob fits the lower-cased name, None when none does.

    >>> some = ToolPolicy("get_*", PolicyMode.polling), ToolPolicy("*", PolicyMode.exempt)
    >>> first_policy("Get_User", some).mode, first_policy("search", some).mode, first_policy("x", ())
    (<PolicyMode.polling: 'polling'>, <PolicyMode.exempt: 'exempt'>, None)
    """
    return _known.of(policies).first(tool)


class ToolClass(StrEnum):
    """The classes of specification 3.5."""

    write = "write"
    read = "read"
    command = "command"
    other = "other"


def tool_class(tool: str, settings: ToolClassSettings) -> ToolClass:
    """Classify a tool by its lower-cased name; write is asked before read before command (specification 3.5).

    Only records of kind ``tool`` have a class; that is the caller's to check.

    >>> DEFAULTS = ToolClassSettings()
    >>> tool_class("Read_File", DEFAULTS), tool_class("weather", DEFAULTS)
    (<ToolClass.read: 'read'>, <ToolClass.other: 'other'>)
    """
    return _classes.of(settings)(tool)


def _classifying(settings: ToolClassSettings) -> Callable[[str], ToolClass]:
    write, read, command = map(Globs, (settings.write_tools, settings.read_tools, settings.command_tools))

    def classify(tool: str) -> ToolClass:
        name = tool.lower()
        if write.match(name):
            return ToolClass.write
        if read.match(name):
            return ToolClass.read
        if command.match(name):
            return ToolClass.command
        return ToolClass.other

    remembered = lru_cache(maxsize=_NAMES_REMEMBERED)(classify)

    def class_of(tool: str) -> ToolClass:
        # Producers choose the names: very long ones are not remembered, so that memory stays bounded.
        return remembered(tool) if len(tool) <= _LONGEST_REMEMBERED else classify(tool)

    return class_of


_classes = ByIdentity(_classifying)
