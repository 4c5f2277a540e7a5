"""What loops have cost is counted by agent, and no agent can flood Prometheus with series."""

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from streams.core.domain.event_kind import EventKind
from streams.observe.episode_counts import MOST_AGENTS, OTHERS, EpisodeCounts


def told(**fields: Any) -> dict[str, Any]:
    return {
        "event_type": EventKind.LOOP_EPISODE,
        "phase": "recovered",
        "agent_id": "coder-7",
        "tokens_since_onset": 5,
        "cost_since_onset": 0.5,
        **fields,
    }


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def test_the_names_of_a_hundred_agents_are_kept_and_the_rest_is_counted_together(
    registry: CollectorRegistry,
) -> None:
    counts = EpisodeCounts(registry)
    counts.count(told(agent_id=f"agent-{number}") for number in range(MOST_AGENTS + 50))
    counts.count([told(agent_id="agent-0")])
    assert registry.get_sample_value("eddy_episode_tokens_total", {"agent": "agent-0"}) == 10
    assert registry.get_sample_value("eddy_episode_tokens_total", {"agent": OTHERS}) == 50 * 5
    assert registry.get_sample_value("eddy_episode_tokens_total", {"agent": f"agent-{MOST_AGENTS}"}) is None


@pytest.mark.parametrize("agent", [None, "", "a" * 121])
def test_an_agent_without_a_usable_name_is_one_of_the_others(
    registry: CollectorRegistry, agent: str | None
) -> None:
    EpisodeCounts(registry).count([told(agent_id=agent)])
    assert registry.get_sample_value("eddy_episodes_total", {"agent": OTHERS, "phase": "recovered"}) == 1


def test_only_an_episode_that_ends_counts_what_it_has_cost(registry: CollectorRegistry) -> None:
    EpisodeCounts(registry).count([told(phase="opened"), told(phase="escalated"), told(phase="still_open")])
    assert registry.get_sample_value("eddy_episode_tokens_total", {"agent": "coder-7"}) is None
    assert registry.get_sample_value("eddy_episodes_total", {"agent": "coder-7", "phase": "opened"}) == 1
    assert (
        registry.get_sample_value("eddy_episodes_total", {"agent": "coder-7", "phase": "still_open"}) is None
    )


@pytest.mark.parametrize(("tokens", "cost"), [(-3, -0.5), (0, None)])
def test_counting_backwards_and_an_unknown_cost_count_nothing(
    registry: CollectorRegistry, tokens: int, cost: float | None
) -> None:
    EpisodeCounts(registry).count([told(tokens_since_onset=tokens, cost_since_onset=cost)])
    assert registry.get_sample_value("eddy_episode_tokens_total", {"agent": "coder-7"}) == 0
    assert registry.get_sample_value("eddy_episode_cost_total", {"agent": "coder-7"}) == 0
