"""The subjects of the bundled schemas, and the numbers that are part of their ids."""

# Written by `python -m topics` from topics/topics.yaml: change that file, not this one.

from __future__ import annotations

SUBJECT_NUMBERS = {
    "decision-logs-value": 1,
    "decision-logs-enriched-value": 2,
    "entropy-alerts-value": 3,
    "session-alerts-value": 4,
    "topology-value": 5,
    "session-budgets-value": 6,
    "session-responses-value": 7,
    "task-profiles-value": 8,
    "agent-health-value": 9,
    "shadow-differences-value": 10,
    "session-commands-value": 11,
    "session-command-acks-value": 12,
    "console-actions-value": 13,
}

#: The subjects that producers write with.
INPUT_SUBJECTS = ("decision-logs-value",)

#: The subjects of the control loop: people, the console and guards write them, no worker does.
CONTROL_SUBJECTS = (
    "session-commands-value",
    "session-command-acks-value",
    "console-actions-value",
)
