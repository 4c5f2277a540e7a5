"""What loops have cost, by agent: counted as episodes open, escalate and end.

| metric | labels | meaning |
|---|---|---|
| eddy_episodes_total | agent, phase | episodes: opened, escalated, recovered |
| eddy_episode_tokens_total | agent | tokens of episodes that ended, from the onset of each |
| eddy_episode_cost_total | agent | cost of those, in the unit of the agent |

Agents choose their own names, and each name costs Prometheus a series: those that come after the first
hundred are counted together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter

from streams.core.domain.event_kind import EventKind

#: Names of agents that a worker counts apart.
MOST_AGENTS: Final = 100
#: The label of every other agent, and of records without one.
OTHERS: Final = "(others)"
_LONGEST_NAME: Final = 120
_PHASES: Final = frozenset({"opened", "escalated", "recovered"})


class EpisodeCounts:
    """Counts episodes in a registry.

    Args:
        registry: Where the metrics go.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._agents: set[str] = set()
        self._episodes = Counter(
            "eddy_episodes", "Episodes by what became of them.", ["agent", "phase"], registry=registry
        )
        self._tokens = Counter(
            "eddy_episode_tokens", "Tokens of episodes that ended.", ["agent"], registry=registry
        )
        self._cost = Counter(
            "eddy_episode_cost", "Cost of episodes that ended.", ["agent"], registry=registry
        )

    def count(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Count those events that tell of an episode."""
        for fields in events:
            if fields["event_type"] == EventKind.LOOP_EPISODE and fields["phase"] in _PHASES:
                self._count(fields)

    def _count(self, fields: Mapping[str, Any]) -> None:
        agent, phase = self._label(fields["agent_id"]), fields["phase"]
        self._episodes.labels(agent, phase).inc()
        if phase == "recovered":
            # Both can be negative where an agent counts backwards, and a counter takes no such step.
            self._tokens.labels(agent).inc(max(0, fields["tokens_since_onset"]))
            self._cost.labels(agent).inc(max(0.0, fields["cost_since_onset"] or 0.0))

    def _label(self, agent: str | None) -> str:
        if not agent or len(agent) > _LONGEST_NAME:
            return OTHERS
        if agent not in self._agents:
            if len(self._agents) >= MOST_AGENTS:
                return OTHERS
            self._agents.add(agent)
        return agent
