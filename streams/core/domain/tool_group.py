"""Which tools count as one: by configuration, else by name without its version (specification 5.7)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from streams.core.domain.by_identity import ByIdentity
from streams.core.domain.text.glob import Globs

_VERSION = re.compile(r"[_-]?v[0-9]+$")
_REMEMBERED = 4_096
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

    remembered = lru_cache(maxsize=_REMEMBERED)(group)

    def group_of(name: str) -> str:
        # Producers choose the names: very long ones are not remembered, so that memory stays bounded.
        return remembered(name) if len(name) <= _LONGEST_REMEMBERED else group(name)

    return group_of


_groupings = ByIdentity(_grouping)
