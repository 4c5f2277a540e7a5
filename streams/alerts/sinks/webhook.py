"""A webhook of your own: CloudEvents 1.0 in JSON, signed as Standard Webhooks asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import ClassVar, Final

from streams.alerts.sinks.delivery import Delivery
from streams.alerts.sinks.request import Gone, Outcome, SinkAnswer, SinkRequest, as_json, judged
from streams.alerts.sinks.sink import Traits
from streams.alerts.sinks.span_context import span_context
from streams.alerts.sinks.standard_webhooks import message_id, signed
from streams.alerts.sinks.wording import Wording
from streams.core.domain.text.clock import rfc3339

_MEDIA_TYPE: Final = "application/cloudevents+json; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Webhook:
    """A receiver that understands CloudEvents.

    Attributes:
        url: Where it listens. Whoever knows it can send there, so nobody sees more than its host.
        keys: What it checks signatures with; none where nothing is signed.
        source: The job and the topic, as a CloudEvent names where it comes from.
        schema_version: The version of the schema of the alerts, which is part of the type.
        wording: Words of the alert's title and text.
    """

    traits: ClassVar[Traits] = Traits(per_second=20, burst=40)

    url: str = field(repr=False)
    keys: tuple[bytes, ...] = field(repr=False)
    source: str
    schema_version: int
    wording: Wording
    name: str = "webhook"

    def wants(self, delivery: Delivery) -> bool:
        """Want everything."""
        del delivery
        return True

    def requests(self, delivery: Delivery, handle: str | None, now_ms: int) -> Sequence[SinkRequest]:
        """Return one event."""
        del handle
        alert = delivery.alert
        event: dict[str, object] = {
            "specversion": "1.0",
            "id": delivery.id,
            "source": f"{self.source}/{alert.partition}",
            "type": f"io.eddy.{alert.kind}.v{self.schema_version}",
            "subject": alert.session_id,
            "time": rfc3339(alert.timestamp),
            "datacontenttype": "application/json",
        }
        if (context := span_context(alert.event_id)) is not None:
            event["traceparent"] = context.traceparent
        data = dict(alert.fields) | {"step": delivery.step, "summary": self.wording.line(delivery)}
        if (link := self.wording.link(alert.session_id)) is not None:
            data["link"] = link
        body = as_json(event | {"data": data})
        headers = {"Content-Type": _MEDIA_TYPE}
        if self.keys:
            headers |= signed(self.keys, message_id(delivery.id), now_ms // 1000, body)
        return [SinkRequest(self.url, headers, body, (self.url,))]

    def judge(self, answer: SinkAnswer, now_s: float) -> Outcome:
        """Go by the status; 410 says that nothing more is wanted."""
        if answer.status == HTTPStatus.GONE:
            return Gone(answer.said, answer.status, answer.body)
        return judged(answer, now_s)
