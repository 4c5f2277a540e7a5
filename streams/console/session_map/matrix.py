"""Who loops on what: agents against tools, from the loops that are open now."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, Final

from streams.console.inbox.pace import rate
from streams.console.inbox.terms import tools
from streams.console.read_model.attention import Attention
from streams.core.domain.level import Level

#: Agents and tools that the matrix has at most.
MOST_AGENTS, MOST_TOOLS = 50, 20

_HEATS: Final = 4


def matrix(found: Iterable[Attention], now: int) -> dict[str, Any]:
    """Return the agents and tools with most tokens an hour in open loops, worst first, and their cells.

    A session counts with each tool of its loop.
    """
    sessions: Counter[tuple[str, str]] = Counter()
    hourly: defaultdict[tuple[str, str], float] = defaultdict(float)
    agents: Counter[str] = Counter()
    columns: Counter[str] = Counter()
    for about in found:
        episode = about.episode
        if episode is None or about.ending is not None or episode.level != Level.LOOP:
            continue
        agent, spent = about.case.session.agent_id or "", 60 * rate(about, now)
        agents[agent] += round(spent)
        for tool in {str(tool or "") for tool in tools(about)}:
            sessions[agent, tool] += 1
            hourly[agent, tool] += spent
            columns[tool] += round(spent)
    rows, shown = _first(agents, MOST_AGENTS), _first(columns, MOST_TOOLS)
    most = max(hourly.values(), default=0.0)
    return {
        "tools": shown,
        "rows": [
            {
                "agent": agent,
                "hourly": agents[agent],
                "cells": [
                    {
                        "tool": tool,
                        "sessions": sessions[agent, tool],
                        "hourly": round(hourly[agent, tool]) if (agent, tool) in hourly else 0,
                        "heat": heat(hourly.get((agent, tool), 0.0), most) if sessions[agent, tool] else 0,
                    }
                    for tool in shown
                ],
            }
            for agent in rows
        ],
        "left_out": max(0, len(agents) - MOST_AGENTS) + max(0, len(columns) - MOST_TOOLS),
    }


def heat(value: float, most: float) -> int:
    """Return how dark a cell is, 1 to 4.

    >>> [heat(value, 100.0) for value in (0.0, 26.0, 100.0)], heat(0.0, 0.0)
    ([1, 2, 4], 1)
    """
    return 1 if most <= 0 else min(_HEATS, 1 + int(_HEATS * value / most))


def _first(counts: Counter[str], most: int) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))[:most]
