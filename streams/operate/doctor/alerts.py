"""Alerts on their way to people: whether receivers have refused some."""

from __future__ import annotations

from streams.operate.doctor.check import Check, ok, warn


def refused_alerts_check(topic: str, held: int | None) -> Check:
    """Return whether the notifier has dead letters.

    Args:
        topic: Their topic.
        held: How many it holds; None if there is no such topic.

    >>> refused_alerts_check("alerts-dlq", 0).said
    'no receiver has refused an alert'
    """
    name = "alerts"
    if held is None:
        return ok(name, f"there is no {topic}: `eddy notify` is not in use")
    if not held:
        return ok(name, "no receiver has refused an alert")
    said = f"{topic} holds {held:,} alerts that a receiver refused, or did not take for a day"
    return warn(
        name, said, "The header x-dlq-reason of each says why; `eddy notify test` tries every receiver."
    )
