"""Which names of a window count as one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from streams.core.domain.shared_window import FIRST, letter
from streams.core.domain.tool_group import ToolGroup, grouping

_MOST_REMEMBERED = 16
_BEFORE_THE_FIRST = " " * ord(FIRST)


def grouped(names: Sequence[str | None], order: str, tool_groups: tuple[ToolGroup, ...]) -> tuple[str, str]:
    """Return the group of the newest name, and the window with one letter for each group.

    Args:
        names: the different names of the window (`streams.core.domain.shared_window`).
        order: its letters.
        tool_groups: the setting.

    >>> grouped(["call_v1", "read", "call_v2"], "ABC", ())
    ('call', 'ABA')
    """
    look_up = _remembered if len(names) <= _MOST_REMEMBERED else _groups
    groups, table = look_up(tuple(names), tool_groups)
    group = groups[ord(order[-1]) - ord(FIRST)] or ""
    return group, order if table is None else order.translate(table)


def _groups(
    names: tuple[str | None, ...], tool_groups: tuple[ToolGroup, ...]
) -> tuple[tuple[str | None, ...], str | None]:
    """The group of each name, and for each letter that of its group; None when no two names share one."""
    group_of = grouping(tool_groups)
    groups = tuple([None if name is None else group_of(name) for name in names])
    named = [group for group in groups if group is not None]
    if len(set(named)) == len(named):
        return groups, None
    # str.translate looks a letter up by its number, so the table is a text as well.
    return groups, _BEFORE_THE_FIRST + "".join([letter(groups.index(group)) for group in groups])


# The names of a session change seldom, and other sessions use the same tools.
_remembered = lru_cache(maxsize=1_024)(_groups)
