"""What Alertmanager is told: the state, with the labels that make it one alert from beginning to end."""

import json
from datetime import datetime, timedelta
from typing import Any

from streams.alerts.sinks.sink import Delivery
from tests.unit.alerts.sinks.alerts import CASES, NOW_MS, SINKS, alert, told


def sent(delivery: Delivery, now_ms: int = NOW_MS) -> list[dict[str, Any]]:
    """Return the alerts of the requests, one of each."""
    requests = SINKS["alertmanager"].requests(delivery, None, now_ms)
    found = [json.loads(request.body) for request in requests]
    assert all(len(alerts) == 1 for alerts in found)
    return [alerts[0] for alerts in found]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_an_open_episode_holds_for_four_minutes_from_now() -> None:
    [found] = sent(CASES["loops"])
    assert at(found["endsAt"]) - at(found["startsAt"]) <= timedelta(minutes=4, seconds=1)
    [later] = sent(CASES["loops"], NOW_MS + 60_000)
    assert at(later["endsAt"]) - at(found["endsAt"]) == timedelta(minutes=1)
    assert later["startsAt"] == "2026-11-24T09:00:00.000Z"


def test_the_labels_stay_the_same_whatever_the_newest_evidence_is() -> None:
    first, second = alert(), alert("still_open", 16, rule="R2", count=9)
    last = alert("recovered", 30, rule="R2")
    labels = [sent(told(*some))[-1]["labels"] for some in ([first], [first, second], [first, second, last])]
    assert labels[0] == labels[1] == labels[2]
    assert labels[0]["rule"] == "R1"


def test_a_higher_level_is_another_alert_so_the_old_one_ends_first() -> None:
    old, new = sent(CASES["gets worse"])
    assert (old["labels"]["severity"], new["labels"]["severity"]) == ("warning", "critical")
    assert at(old["endsAt"]) < at(new["endsAt"])
    assert old["endsAt"] == "2026-11-24T09:00:00.000Z"


def test_the_end_is_now_and_after_the_start_even_if_the_agents_clock_is_ahead() -> None:
    over = told(alert(timestamp=NOW_MS + 3_600_000), alert("recovered", 9, timestamp=NOW_MS + 3_700_000))
    [found] = sent(over)
    assert at(found["startsAt"]) < at(found["endsAt"])


def test_a_label_that_would_be_empty_is_left_out() -> None:
    [found] = sent(told(alert(agent_id="")))
    assert "" not in found["labels"].values()
    assert "agent_id" not in found["labels"]
