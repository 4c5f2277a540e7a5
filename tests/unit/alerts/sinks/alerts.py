"""Alerts for the tests of sinks and of the notifier, and every sink there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streams.alerts.episodes import Episodes
from streams.alerts.sinks.alertmanager import Alertmanager
from streams.alerts.sinks.apprise import Apprise
from streams.alerts.sinks.otlp import OtlpLogs
from streams.alerts.sinks.pagerduty import PagerDuty
from streams.alerts.sinks.sink import Alert, Delivery, Sink
from streams.alerts.sinks.slack import SlackBot, SlackWebhook
from streams.alerts.sinks.webhook import Webhook, keys
from streams.alerts.sinks.wording import Wording

#: 2026-11-24T09:00:00Z.
NOW_MS: Final = 1_795_510_800_000
BEGAN_MS: Final = NOW_MS - 74_000
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SECRET: Final = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqr"
WORDS: Final = Wording("https://eddy.example.com")

#: Texts that nobody may see, by the sink that has them.
SECRETS: Final = {
    "alertmanager": "am-t0ken",
    "webhook": "hook-s3cret",
    "pagerduty": "R0UT1NGKEY",
    "slack": "xoxb-t0ken",
    "slack-webhook": "B0/s3cret",
    "otlp": "otlp-t0ken",
}

SINKS: Final[Mapping[str, Sink]] = {
    "alertmanager": Alertmanager("alertmanager", "http://am:9093", WORDS, SECRETS["alertmanager"]),
    "webhook": Webhook(
        f"https://hooks.example.com/{SECRETS['webhook']}",
        keys(SECRET),
        "/eddy/eddy/session-alerts",
        2,
        WORDS,
    ),
    "pagerduty": PagerDuty(SECRETS["pagerduty"], WORDS),
    "slack": SlackBot(SECRETS["slack"], "#agents", WORDS),
    "slack-webhook": SlackWebhook(f"https://hooks.slack.com/services/{SECRETS['slack-webhook']}", WORDS),
    "otlp": OtlpLogs("http://collector:4318", {"x-api-key": SECRETS["otlp"]}, WORDS, "0.1.0"),
    "apprise": Apprise(WORDS),
}


def fields(phase: str = "opened", offset: int = 6, session: str = "s-1", **changes: Any) -> dict[str, Any]:
    """Return an alert of an episode as it stands on the topic."""
    kind = changes.get("event_type", "loop_episode")
    return {
        "id": f"{session}/0/{offset}/{kind}/{phase}",
        "event_type": kind,
        "session_id": session,
        "agent_id": "coder-19",
        "event_id": f"{TRACE}/{SPAN}",
        "timestamp": NOW_MS,
        "partition": 0,
        "offset": offset,
        "phase": phase,
        "level": "LOOP",
        "episode_id": f"ep-{session}",
        "reopened": False,
        "reason": "quiet" if phase == "recovered" else None,
        "rule": "R1",
        "period": 1,
        "count": 4,
        "tools": ["Read"],
        "signatures": ["Read|config/billing.yaml"],
        "first_offset": 3,
        "first_timestamp": BEGAN_MS,
        "last_offset": offset,
        "last_timestamp": NOW_MS,
        "records": 2,
        "tokens_since_onset": 18_400,
        "cost_since_onset": 0.4231,
        **changes,
    }


def alert(phase: str = "opened", offset: int = 6, session: str = "s-1", **changes: Any) -> Alert:
    """Return an alert; it stands at the same offset of the topic as its record."""
    partition = changes.pop("topic_partition", 0)
    return Alert.of(fields(phase, offset, session, **changes), partition, offset)


def told(*alerts: Alert) -> Delivery:
    """Return what the last of some alerts means after the others."""
    episodes = Episodes()
    found = [episodes.take(each, NOW_MS) for each in alerts]
    assert found[-1] is not None
    return found[-1]


#: What an alert has whose rule is the stuck score.
STUCK: Final[Mapping[str, Any]] = {
    "rule": "R7",
    "period": None,
    "count": 7,
    "stuck": {"score": 6.0, "kinds": {"back": 2, "retry": 1, "old_error": 4, "new": 2, "echo": 5}},
}

#: By the name of the case.
CASES: Final[Mapping[str, Delivery]] = {
    "loops": told(alert()),
    "may loop": told(alert(level="WARNING")),
    "gets worse": told(alert(level="WARNING"), alert("escalated", 7)),
    "still loops": told(alert(), alert("still_open", 16, count=14, records=12, tokens_since_onset=60_000)),
    "is over": told(alert(), alert("recovered", 24, count=9, records=20)),
    "ended in the loop": told(alert(), alert("recovered", 24, reason="terminal")),
    "is back": told(alert(), alert("recovered", 24), alert("opened", 30, reopened=True)),
    "stuck": told(alert(**STUCK)),
    "stuck again": told(alert(reopened=True, **STUCK)),
    "out of being stuck": told(alert(**STUCK), alert("recovered", 30, **STUCK)),
    "a rule of a later version": told(alert(rule="R99")),
    "no cost": told(alert(tokens_since_onset=0, cost_since_onset=None)),
    "of a log": told(alert(event_id="toolu_01")),
    "drift": told(
        alert(
            "alert",
            event_type="drift_pattern",
            pattern="read_loop",
            ema=0.71,
            step=9,
            target="src/app.py",
            level=None,
            episode_id=None,
            rule=None,
        )
    ),
}
