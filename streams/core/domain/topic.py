"""The topics Eddy reads and writes, by name (specification 1.7)."""

# Written by `python -m topics` from topics/topics.yaml: change that file, not this one.

from __future__ import annotations

from enum import StrEnum


class Topic(StrEnum):
    """A topic name. Settings of the topics themselves are in `topics/topics.yaml`.

    `REPARTITION` belongs to one job: on the brokers its name begins with the application id.
    """

    DECISION_LOGS = "decision-logs"
    ENRICHED = "decision-logs-enriched"
    ENTROPY_ALERTS = "entropy-alerts"
    SESSION_ALERTS = "session-alerts"
    SESSION_BUDGETS = "session-budgets"
    SESSION_RESPONSES = "session-responses"
    TOPOLOGY = "topology"
    TASK_PROFILES = "task-profiles"
    AGENT_HEALTH = "agent-health"
    DETECTOR_CONFIG = "detector-config"
    SHADOW_CONFIG = "shadow-config"
    SHADOW_DIFFERENCES = "shadow-differences"
    DEAD_LETTERS = "decision-logs-dlq"
    OTLP_SPANS = "otlp_spans"
    SPAN_DEAD_LETTERS = "otlp_spans-dlq"
    REDRIVEN = "decision-logs-redriven"
    SESSION_COMMANDS = "session-commands"
    SESSION_COMMAND_ACKS = "session-command-acks"
    CONSOLE_ACTIONS = "console-actions"
    INTERVENTION_POLICY = "intervention-policy"
    SESSION_LABELS = "session-labels"
    ALERT_DEAD_LETTERS = "alerts-dlq"
    NOTIFY_STATE = "notify-state"
    REPARTITION = "eddy-aggregates-repartition"


#: What a run may publish, dead letters aside; all of it under the key of the record.
OUTPUTS = (
    Topic.ENRICHED,
    Topic.ENTROPY_ALERTS,
    Topic.SESSION_ALERTS,
    Topic.SESSION_BUDGETS,
    Topic.SESSION_RESPONSES,
    Topic.TOPOLOGY,
    Topic.SHADOW_DIFFERENCES,
)

#: The views across sessions.
AGGREGATES = (
    Topic.TASK_PROFILES,
    Topic.AGENT_HEALTH,
)

#: What a worker reads besides its input.
SETTINGS = (
    Topic.DETECTOR_CONFIG,
    Topic.SHADOW_CONFIG,
)

#: What people, the console and guards write and read, and no worker.
CONTROL = (
    Topic.SESSION_COMMANDS,
    Topic.SESSION_COMMAND_ACKS,
    Topic.CONSOLE_ACTIONS,
    Topic.INTERVENTION_POLICY,
    Topic.SESSION_LABELS,
)
