"""Prometheus Alertmanager, API v2.

It is told the state, again and again: an alert holds until its `endsAt`, which is a little after the next
repeat. So nothing depends on the server's `resolve_timeout`, and if the notifier dies, its alerts end by
themselves. Labels are the identity of an alert; with another severity it is another one, so the old one is
resolved first. One alert a request: of a list with a bad alert, Alertmanager takes the good ones and still
answers 400.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from streams.alerts.sinks.request import Outcome, SinkAnswer, SinkRequest, json_request, judged, login
from streams.alerts.sinks.sink import Delivery, DeliveryStep, Traits
from streams.alerts.sinks.wording import Wording
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level
from streams.core.domain.text.figures import rfc3339
from streams.core.domain.text.printable import printable

REFRESH_S: Final = 60.0
HOLDS_MS: Final = 240_000
"""For how long an alert holds: three repeats may fail."""

_SEVERITY: Final = {Level.LOOP: "critical", Level.WARNING: "warning", Level.NORMAL: "none"}
_LABEL: Final = 200


@dataclass(frozen=True, slots=True)
class Alertmanager:
    """One server. Of a cluster each server is a sink of its own, as Alertmanager asks its clients to do.

    Attributes:
        name: How it is called here.
        url: Its address, without a path behind its prefix.
        wording: Words of the alert's title and text.
        token: For a proxy in front of it that wants one.
        holds_ms: For how long an alert holds that is not repeated.
    """

    traits: ClassVar[Traits] = Traits(per_second=200, burst=200, refresh_s=REFRESH_S, resolves=3)

    name: str
    url: str
    wording: Wording
    token: str | None = field(default=None, repr=False)
    holds_ms: int = HOLDS_MS

    def wants(self, delivery: Delivery) -> bool:
        """Want everything: each repeat carries the newest text."""
        del delivery
        return True

    def requests(self, delivery: Delivery, handle: str | None, now_ms: int) -> Sequence[SinkRequest]:
        """Return the alert, and before it the end of the one that it replaces."""
        del handle
        alert, before = delivery.alert, delivery.reference.before
        stale = delivery.step is not DeliveryStep.RESOLVE and before is not None and before is not alert.level
        replaced = [self._request(delivery, before, now_ms, over=True)] if stale and before else []
        level = before if delivery.step is DeliveryStep.RESOLVE and before is not None else alert.level
        return [*replaced, self._request(delivery, level, now_ms, over=delivery.step is DeliveryStep.RESOLVE)]

    def judge(self, answer: SinkAnswer, now_s: float) -> Outcome:
        """Go by the status."""
        return judged(answer, now_s)

    def _request(self, delivery: Delivery, level: Level, now_ms: int, *, over: bool) -> SinkRequest:
        ends = now_ms if over else now_ms + self.holds_ms
        # Without one, or with one in the future, Alertmanager takes the end for the start. It is when the
        # loop was noticed, not when it began: a start in the past would pass over `group_wait`.
        starts = min(delivery.reference.since, now_ms - 1_000)
        link = self.wording.link(delivery.alert.session_id)
        document: dict[str, object] = {
            "labels": _labels(delivery, level),
            "annotations": self._annotations(delivery),
            "startsAt": rfc3339(starts),
            "endsAt": rfc3339(ends),
        }
        if link is not None:
            document["generatorURL"] = link
        url = f"{self.url}/api/v2/alerts"
        if self.token is None:
            return json_request(url, [document], secrets=login(url))
        headers = {"Authorization": f"Bearer {self.token}"}
        return json_request(url, [document], headers, (self.token, *login(url)))

    def _annotations(self, delivery: Delivery) -> Mapping[str, str]:
        fields = delivery.alert.fields
        found = {
            "summary": self.wording.headline(delivery),
            "description": self.wording.facts(delivery),
            "tokens": fields.get("tokens_since_onset"),
            "cost": fields.get("cost_since_onset"),
            "records": fields.get("records"),
            "evidence": fields.get("rule"),
        }
        return {name: str(value) for name, value in found.items() if value is not None}


def _labels(delivery: Delivery, level: Level) -> Mapping[str, str]:
    alert = delivery.alert
    labels = {
        "alertname": alert_name(alert.kind),
        "severity": _SEVERITY[level],
        "session_id": printable(alert.session_id, _LABEL),
        "agent_id": printable(alert.agent_id, _LABEL),
        "rule": printable(delivery.reference.rule, _LABEL),
        "episode_id": alert.episode_id or "",
    }
    return {name: value for name, value in labels.items() if value}


def alert_name(kind: str) -> str:
    """Return what an alert of a kind is called there.

    >>> alert_name("loop_episode"), alert_name("divergence_suspected")
    ('AgentLoop', 'AgentDivergenceSuspected')
    """
    if kind == EventKind.LOOP_EPISODE:
        return "AgentLoop"
    return "Agent" + "".join(word.capitalize() for word in re.findall(r"[A-Za-z0-9]+", kind))
