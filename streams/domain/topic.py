"""The topics Eddy reads and writes, by name (specification 1.7)."""

from __future__ import annotations

from enum import StrEnum


class Topic(StrEnum):
    """A topic name. Settings of the topics themselves are in `topics/topics.yaml`.

    That of `REPARTITION`, which each job has for itself, begins with the job's application id instead.
    """

    DECISION_LOGS = "decision-logs"
    ENRICHED = "decision-logs-enriched"
    ENTROPY_ALERTS = "entropy-alerts"
    SESSION_ALERTS = "session-alerts"
    TOPOLOGY = "topology"
    SESSION_BUDGETS = "session-budgets"
    SESSION_RESPONSES = "session-responses"
    TASK_PROFILES = "task-profiles"
    AGENT_HEALTH = "agent-health"
    SHADOW_CONFIG = "shadow-config"
    SHADOW_DIFFERENCES = "shadow-differences"
    DEAD_LETTERS = "decision-logs-dlq"
    REDRIVEN = "decision-logs-redriven"
    DETECTOR_CONFIG = "detector-config"
    REPARTITION = "eddy-aggregates-repartition"
