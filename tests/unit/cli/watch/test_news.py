"""What is said as it happens."""

from __future__ import annotations

from typing import Any

import pytest

from streams.cli.watch.news import alert_news, control_news
from streams.core.domain.topic import Topic

LOOP: dict[str, Any] = {
    "event_type": "loop_episode",
    "phase": "opened",
    "level": "LOOP",
    "session_id": "s-1\x1b[2J",
    "rule": "R1",
    "period": 1,
    "count": 4,
    "tools": ["Bash"],
    "signatures": [],
    "stuck": None,
    "records": 4,
    "first_timestamp": 1_790_000_000_000,
    "tokens_since_onset": 0,
    "cost_since_onset": None,
}
ASKED = {"c-1": "pause", "c-2": "inject_message"}


def ack(command_id: str | None, status: str) -> dict[str, Any]:
    return {"command_id": command_id, "session_id": "s-1", "status": status}


def test_a_loop_is_said_once_when_it_begins_and_when_it_is_over() -> None:
    said = alert_news(LOOP) or ""
    assert said.startswith("s-1\\x1b[2J goes in circles: Bash")
    assert "may go" in (alert_news({**LOOP, "level": "WARNING"}) or "")
    assert alert_news({**LOOP, "phase": "still_open"}) is None
    assert alert_news({**LOOP, "phase": "recovered", "records": 9}) == (
        "s-1\\x1b[2J is out of its loop, after 9 records"
    )
    assert alert_news({"event_type": "drift_pattern", "session_id": "s-1"}) is None


def test_who_overspends_is_named_when_it_begins_and_when_it_is_over() -> None:
    spends = {"event_type": "overspending", "session_id": "s-1", "rule": "cost", "spent": 6.0, "limit": 5.0}
    assert alert_news({**spends, "phase": "over"}) == "s-1 has cost 6.00, its limit is 5.00"
    assert alert_news({**spends, "phase": "still_over"}) is None


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ack("c-1", "applied"), "s-1 is paused"),
        (ack("c-1", "released"), "s-1 goes on"),
        (ack("c-2", "applied"), "s-1 was given the note"),
        (ack("c-2", "received"), None),
        (ack("c-9", "applied"), None),
        (ack(None, "attached"), None),
    ],
)
def test_an_answer_is_said_if_somebody_waits_for_it(answer: dict[str, Any], said: str | None) -> None:
    assert control_news(Topic.SESSION_COMMAND_ACKS, answer, ASKED) == said


def test_who_asks_for_what_is_said() -> None:
    command = {"action": "abort", "session_id": "s-1", "issuer": {"name": "kim"}}
    assert control_news(Topic.SESSION_COMMANDS, command, {}) == "s-1 is asked to end, by kim"
    assert control_news(Topic.CONSOLE_ACTIONS, {}, {}) is None
