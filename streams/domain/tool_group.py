"""Which tools count as one: by configuration, else by name without its version (SEMANTICS 5.7)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from streams.domain.glob import any_of

_VERSION = re.compile(r"[_-]?v[0-9]+$")
_REMEMBERED = 4_096
_LONGEST_REMEMBERED = 200


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """One entry of the setting ``tool_groups``: tools the metrics count as one."""

    group: str
    patterns: tuple[str, ...]


@lru_cache(maxsize=8)
def grouping(groups: tuple[ToolGroup, ...]) -> Callable[[str], str]:
    """Return the function that tells the group of a tool name under the setting `tool_groups`.

    The first entry with a pattern that fits the lower-cased name, else that name without its version.

    >>> group_of = grouping((ToolGroup("search", ("search_*", "*_search")),))
    >>> [group_of(name) for name in ("Web_Search", "call_api_v2", "Call-API-v10", "v2", "")]
    ['search', 'call_api', 'call-api', '', '']
    """
    entries = [(entry.group, any_of(entry.patterns)) for entry in groups]

    def group(name: str) -> str:
        lowered = name.lower()
        for configured, pattern in entries:
            if pattern.match(lowered):
                return configured
        return _VERSION.sub("", lowered)

    remembered = lru_cache(maxsize=_REMEMBERED)(group)

    def group_of(name: str) -> str:
        # Producers choose the names: very long ones are not remembered, so that memory stays bounded.
        return remembered(name) if len(name) <= _LONGEST_REMEMBERED else group(name)

    return group_of
