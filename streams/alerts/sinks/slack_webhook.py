"""Slack by an incoming webhook: one message when it loops, one when it is over. It can change neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from streams.alerts.sinks.delivery import Delivery, DeliveryStep, Digest
from streams.alerts.sinks.request import Outcome, SinkAnswer, SinkRequest, json_request, judged
from streams.alerts.sinks.sink import Traits
from streams.alerts.sinks.slack_text import digest_message, message
from streams.alerts.sinks.wording import Wording


@dataclass(frozen=True, slots=True)
class SlackWebhook:
    """One channel.

    Attributes:
        url: The address of the webhook, which is its secret.
        wording: Words of the alert's title and text.
    """

    traits: ClassVar[Traits] = Traits(per_second=1, burst=5)

    url: str = field(repr=False)
    wording: Wording
    name: str = "slack"

    def wants(self, delivery: Delivery) -> bool:
        """Want no updates: each would be another message."""
        return delivery.step is not DeliveryStep.UPDATE

    def requests(self, delivery: Delivery, handle: str | None, now_ms: int) -> Sequence[SinkRequest]:
        """Return one message."""
        del handle, now_ms
        return [json_request(self.url, message(delivery, self.wording), secrets=(self.url,))]

    def digest(self, digest: Digest) -> Sequence[SinkRequest]:
        """Return one message."""
        return [json_request(self.url, digest_message(digest, self.wording), secrets=(self.url,))]

    def judge(self, answer: SinkAnswer, now_s: float) -> Outcome:
        """Go by the status."""
        return judged(answer, now_s)
