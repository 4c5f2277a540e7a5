"""What a real Alertmanager does with what the sink sends, and why the sink sends it so."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from streams.alerts.sinks.alertmanager import HOLDS_MS
from streams.alerts.sinks.alertmanager import Alertmanager as AlertmanagerSink
from streams.alerts.sinks.sink import Delivery
from streams.core.domain.level import Level
from streams.core.domain.text.figures import rfc3339
from tests.integration.worker_process import PATIENCE_SECONDS, until
from tests.notify.alertmanager import Alertmanager
from tests.unit.alerts.sinks.alerts import WORDS, alert, told

pytestmark = [pytest.mark.notify, pytest.mark.timeout(300)]

SHORT_MS = 3_000


def now_ms() -> int:
    return round(time.time() * 1000)


def sink(alertmanager: Alertmanager, holds_ms: int = HOLDS_MS) -> AlertmanagerSink:
    return AlertmanagerSink("alertmanager", alertmanager.url, WORDS, holds_ms=holds_ms)


def episode(*phases: str, session: str = "s-1", **changes: Any) -> Delivery:
    """Return the last step of an episode that goes on now."""
    at = now_ms() - 1_000
    common = {"session": session, "timestamp": at, "first_timestamp": at - 74_000, **changes}
    return told(*(alert(phase, number, **common) for number, phase in enumerate(phases, 6)))


async def tell(alertmanager: Alertmanager, delivery: Delivery, holds_ms: int = HOLDS_MS) -> None:
    requests = sink(alertmanager, holds_ms).requests(delivery, None, now_ms())
    assert set(await alertmanager.send(requests)) == {200}


async def test_the_first_alert_fires_with_its_words(alertmanager: Alertmanager) -> None:
    await tell(alertmanager, episode("opened"))
    await alertmanager.tells("firing", "s-1")
    [found] = alertmanager.phone.got[0].body["alerts"]
    assert found["labels"] == {
        "alertname": "AgentLoop",
        "severity": "critical",
        "session_id": "s-1",
        "agent_id": "coder-19",
        "rule": "R1",
        "episode_id": "ep-s-1",
    }
    assert found["annotations"]["summary"].startswith("coder-19 is looping. Read: the same call")
    assert found["generatorURL"] == "https://eddy.example.com/session?id=s-1"


async def test_newer_words_wake_nobody_and_the_list_has_them(alertmanager: Alertmanager) -> None:
    await tell(alertmanager, episode("opened"))
    await alertmanager.tells("firing", "s-1")
    await tell(alertmanager, episode("opened", "still_open", count=14))
    await tell(alertmanager, episode("opened", session="s-2", agent_id="coder-20"))
    await alertmanager.tells("firing", "s-2")
    assert alertmanager.told().count(("firing", "s-1", "critical")) == 1
    texts = [each["annotations"]["summary"] for each in await alertmanager.alerts()]
    assert any("14 times in a row" in text for text in texts)


async def test_the_end_is_told(alertmanager: Alertmanager) -> None:
    await tell(alertmanager, episode("opened"))
    await alertmanager.tells("firing", "s-1")
    await tell(alertmanager, episode("opened", "recovered"))
    await alertmanager.tells("resolved", "s-1")


async def test_an_end_that_is_told_three_times_calls_once(alertmanager: Alertmanager) -> None:
    """The repeats are listed again beside the next news of the group, and are no news themselves."""
    await tell(alertmanager, episode("opened"))
    await alertmanager.tells("firing", "s-1")
    over = episode("opened", "recovered")
    await tell(alertmanager, over)
    await alertmanager.tells("resolved", "s-1")
    await tell(alertmanager, over)
    await tell(alertmanager, over)
    await tell(alertmanager, episode("opened", session="s-2"))  # the same group
    await alertmanager.tells("firing", "s-2")
    calls = [{each["status"] for each in got.body["alerts"]} for got in alertmanager.phone.got]
    assert calls.count({"resolved"}) == 1


async def test_what_a_dead_notifier_does_not_repeat_ends_by_itself(alertmanager: Alertmanager) -> None:
    await tell(alertmanager, episode("opened"), SHORT_MS)
    await alertmanager.tells("firing", "s-1")
    await alertmanager.tells("resolved", "s-1")


async def test_an_alert_without_an_end_depends_on_the_servers_own_setting(alertmanager: Alertmanager) -> None:
    """Why the sink names an end: `resolve_timeout` is 2 s here, and 5 min by default."""
    assert await alertmanager.post({"labels": {"alertname": "A", "session_id": "s-1"}}) == 200
    await alertmanager.tells("firing", "s-1", "")
    await alertmanager.tells("resolved", "s-1", "")


async def test_without_a_start_the_end_is_taken_for_it(alertmanager: Alertmanager) -> None:
    """Why the sink names a start."""
    end = rfc3339(now_ms() + 7_200_000)
    assert await alertmanager.post({"labels": {"alertname": "A"}, "endsAt": end}) == 200
    [found] = await alertmanager.alerts()
    assert datetime.fromisoformat(found["startsAt"]).timestamp() > time.time() + 3_600


async def test_an_end_that_overtakes_its_beginning_is_lost(alertmanager: Alertmanager) -> None:
    """Why the sink keeps the order of a session."""
    await tell(alertmanager, episode("opened", "recovered"))
    await tell(alertmanager, episode("opened", session="s-2"))
    await alertmanager.tells("firing", "s-2")
    assert not [each for each in alertmanager.told() if each[1] == "s-1"]


async def test_of_a_list_with_a_bad_alert_the_good_ones_are_taken(alertmanager: Alertmanager) -> None:
    """Why the sink sends one at a time: 400 says nothing of the others."""
    good, bad = {"alertname": "A", "session_id": "s-1"}, {"alertname": "A", "bad-label": "x"}
    assert await alertmanager.post({"labels": good}, {"labels": bad}) == 400
    await alertmanager.tells("firing", "s-1", "")


@pytest.mark.parametrize(
    "wrong",
    [
        {"labels": {"bad-label": "x"}},
        {"labels": {}},
        {"labels": {"alertname": "A"}, "startsAt": rfc3339(2_000), "endsAt": rfc3339(1_000)},
    ],
    ids=["name of a label", "no labels", "ends before it starts"],
)
async def test_a_bad_alert_is_refused(alertmanager: Alertmanager, wrong: dict[str, Any]) -> None:
    assert await alertmanager.post(wrong) == 400


async def test_a_higher_level_ends_the_lower_one(alertmanager: Alertmanager) -> None:
    await tell(alertmanager, episode("opened", level="WARNING"))
    await alertmanager.tells("firing", "s-1", "warning")
    warning = alert("opened", 6, timestamp=now_ms(), level="WARNING")
    await tell(alertmanager, told(warning, replace(warning, id="other", phase="escalated", level=Level.LOOP)))
    await alertmanager.tells("firing", "s-1", "critical")
    await alertmanager.tells("resolved", "s-1", "warning")


@pytest.mark.parametrize("name", ["", " ", "ü\u202e\n", "x" * 5_000, '"}{'], ids=range(5))
async def test_whatever_an_agent_is_called_its_alert_is_taken(alertmanager: Alertmanager, name: str) -> None:
    await tell(alertmanager, episode("opened", agent_id=name, tools=[name], session=f"s{name}"))

    async def there() -> bool:
        return len(await alertmanager.alerts()) == 1

    await until(there, PATIENCE_SECONDS, "the alert")
