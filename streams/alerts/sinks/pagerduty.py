"""PagerDuty Events API v2: an incident for each episode, opened and resolved under the episode's id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from streams.alerts.sinks.request import Outcome, SinkAnswer, SinkRequest, json_request, judged
from streams.alerts.sinks.sink import Alert, Delivery, DeliveryStep, Traits
from streams.alerts.sinks.wording import Wording
from streams.core.domain.level import Level
from streams.core.domain.text.figures import rfc3339
from streams.core.domain.text.printable import printable

DEFAULT_URL: Final = "https://events.pagerduty.com/v2/enqueue"
_SUMMARY: Final = 1024
_KEY: Final = 255


@dataclass(frozen=True, slots=True)
class PagerDuty:
    """One service.

    Attributes:
        routing_key: The integration key of the service.
        wording: Words of the alert's title and text.
        url: The Events API; that of the EU is another one.
    """

    traits: ClassVar[Traits] = Traits(per_second=2, burst=10)

    routing_key: str = field(repr=False)
    wording: Wording
    url: str = DEFAULT_URL
    name: str = "pagerduty"

    def wants(self, delivery: Delivery) -> bool:
        """Want no updates: one after a person has resolved the incident would open another one."""
        return delivery.step is not DeliveryStep.UPDATE

    def requests(self, delivery: Delivery, handle: str | None, now_ms: int) -> Sequence[SinkRequest]:
        """Return one event."""
        del handle, now_ms
        alert = delivery.alert
        event: dict[str, object] = {
            "routing_key": self.routing_key,
            "event_action": "resolve" if delivery.step is DeliveryStep.RESOLVE else "trigger",
            # After a resolve, a trigger opens a new incident under this key: right for a loop that is back.
            "dedup_key": alert.key[-_KEY:],
            "client": "Eddy",
            "payload": {
                "summary": printable(self.wording.line(delivery), _SUMMARY),
                "source": alert.agent_id or alert.session_id,
                "severity": "critical" if alert.level is Level.LOOP else "warning",
                "timestamp": rfc3339(alert.timestamp),
                "component": ", ".join(alert.tools) or "no tool",
                "group": alert.session_id,
                "class": alert.rule,
                "custom_details": _details(alert, self.wording),
            },
        }
        if (link := self.wording.link(alert.session_id)) is not None:
            event |= {"client_url": link, "links": [{"href": link, "text": "The session in Eddy's console"}]}
        return [json_request(self.url, event, secrets=(self.routing_key,))]

    def judge(self, answer: SinkAnswer, now_s: float) -> Outcome:
        """Go by the status: 202 is success."""
        return judged(answer, now_s)


def _details(alert: Alert, wording: Wording) -> Mapping[str, Any]:
    fields = alert.fields
    found = {
        "session": alert.session_id,
        "since": wording.since(alert),
        "spent": wording.spent(alert),
        "records": fields.get("records"),
        "tools": list(alert.tools) or None,
        "stuck": fields.get("stuck"),
        "event": alert.id,
    }
    return {name: value for name, value in found.items() if value is not None}
