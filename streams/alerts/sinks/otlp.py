"""OpenTelemetry: a log record for each step, on the span of the last call of the pattern.

The GenAI conventions call it `gen_ai.evaluation.result`. They are in development, so all names stand in one
table here. OTLP over HTTP, in JSON: ids in hexadecimal, 64-bit numbers as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from streams.alerts.sinks.request import (
    Delivered,
    Outcome,
    SinkAnswer,
    SinkRefused,
    SinkRequest,
    json_request,
    judged,
    login,
)
from streams.alerts.sinks.sink import Delivery, DeliveryStep, Traits, span_context
from streams.alerts.sinks.wording import Wording
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level

EVENT_NAME: Final = "gen_ai.evaluation.result"
NAME: Final = "gen_ai.evaluation.name"
SCORE: Final = "gen_ai.evaluation.score.value"
LABEL: Final = "gen_ai.evaluation.score.label"
EXPLANATION: Final = "gen_ai.evaluation.explanation"
CONVERSATION: Final = "gen_ai.conversation.id"
AGENT: Final = "gen_ai.agent.name"
SESSION: Final = "session.id"
RULE, EPISODE, STEP, ID, LINK = "eddy.rule", "eddy.episode_id", "eddy.step", "eddy.id", "eddy.link"
TOKENS, COST = "eddy.tokens_since_onset", "eddy.cost_since_onset"

_SCORES: Final = {Level.NORMAL: 0.0, Level.WARNING: 0.5, Level.LOOP: 1.0}
_SEVERITIES: Final = {Level.NORMAL: (9, "INFO"), Level.WARNING: (13, "WARN"), Level.LOOP: (17, "ERROR")}


@dataclass(frozen=True, slots=True)
class OtlpLogs:
    """A collector, or a backend that takes OTLP.

    Attributes:
        url: The endpoint without `/v1/logs`.
        headers: Sent with each request; their values are secrets.
        wording: Words of the alert's title and text.
        version: Version of Eddy, for the scope.
    """

    traits: ClassVar[Traits] = Traits(per_second=50, burst=100)

    url: str
    headers: Mapping[str, str] = field(repr=False)
    wording: Wording
    version: str
    name: str = "otlp"

    def wants(self, delivery: Delivery) -> bool:
        """Want everything."""
        del delivery
        return True

    def requests(self, delivery: Delivery, handle: str | None, now_ms: int) -> Sequence[SinkRequest]:
        """Return one log record."""
        del handle
        document = {
            "resourceLogs": [
                {
                    "resource": {"attributes": _attributes({"service.name": "eddy"})},
                    "scopeLogs": [
                        {
                            "scope": {"name": "eddy.notify", "version": self.version},
                            "logRecords": [self._record(delivery, now_ms)],
                        }
                    ],
                }
            ]
        }
        secrets = (*self.headers.values(), *login(self.url))
        return [json_request(f"{self.url}/v1/logs", document, self.headers, secrets)]

    def judge(self, answer: SinkAnswer, now_s: float) -> Outcome:
        """Go by the status, and by what a success leaves out."""
        outcome = judged(answer, now_s)
        if isinstance(outcome, Delivered):
            partial = answer.document().get("partialSuccess")
            if isinstance(partial, Mapping) and str(partial.get("rejectedLogRecords", 0)) != "0":
                return SinkRefused(f"rejected: {partial.get('errorMessage', '')}", answer.status, answer.body)
        return outcome

    def _record(self, delivery: Delivery, now_ms: int) -> Mapping[str, Any]:
        alert = delivery.alert
        level = Level.NORMAL if delivery.step is DeliveryStep.RESOLVE else alert.level
        number, text = _SEVERITIES[level]
        context = span_context(alert.event_id)
        is_loop = alert.kind == EventKind.LOOP_EPISODE
        attributes = {
            NAME: "eddy.loop" if is_loop else f"eddy.{alert.kind}",
            SCORE: _SCORES[level],
            LABEL: level.value,
            EXPLANATION: self.wording.line(delivery),
            AGENT: alert.agent_id or None,
            SESSION: alert.session_id,
            # Where the trace itself is the session, no conversation was named.
            CONVERSATION: alert.session_id if context and alert.session_id != context.trace_id else None,
            RULE: alert.rule,
            EPISODE: alert.episode_id,
            STEP: delivery.step.value,
            ID: delivery.id,
            TOKENS: alert.fields.get("tokens_since_onset"),
            COST: alert.fields.get("cost_since_onset"),
            LINK: self.wording.link(alert.session_id),
        }
        record: dict[str, Any] = {
            "timeUnixNano": str(max(0, alert.timestamp) * 1_000_000),
            "observedTimeUnixNano": str(now_ms * 1_000_000),
            "severityNumber": number,
            "severityText": text,
            "eventName": EVENT_NAME,
            "body": {"stringValue": self.wording.line(delivery)},
            "attributes": _attributes(attributes),
        }
        if context is not None:
            record |= {"traceId": context.trace_id, "spanId": context.span_id}
        return record


def _attributes(values: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        {"key": key, "value": _any_value(value)}
        for key, value in values.items()
        if isinstance(value, str | int | float)
    ]


def _any_value(value: str | float) -> Mapping[str, Any]:
    match value:
        case str():
            return {"stringValue": value}
        case int():
            return {"intValue": str(value)}
        case _:
            return {"doubleValue": value}
