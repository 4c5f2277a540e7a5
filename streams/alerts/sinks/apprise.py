"""Everything else, through the library Apprise: mail, Teams, Discord, Telegram and a hundred others.

It knows no key under which messages belong together, and says only whether it worked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from streams.alerts.sinks.request import Outcome, SinkAnswer, SinkRequest, as_json, judged
from streams.alerts.sinks.sink import Delivery, DeliveryStep, Digest, Traits
from streams.alerts.sinks.wording import Wording, tally
from streams.core.domain.level import Level

SCHEME: Final = "apprise:"
"""The address of requests that the library carries: their body is `{title, body, type}`."""


@dataclass(frozen=True, slots=True)
class Apprise:
    """All addresses that the library was given, as one receiver.

    Attributes:
        wording: Words of the alert's title and text.
    """

    traits: ClassVar[Traits] = Traits(per_second=1, burst=5)

    wording: Wording
    name: str = "apprise"

    def wants(self, delivery: Delivery) -> bool:
        """Want no updates: each would be another message."""
        return delivery.step is not DeliveryStep.UPDATE

    def requests(self, delivery: Delivery, handle: str | None, now_ms: int) -> Sequence[SinkRequest]:
        """Return one message."""
        del handle, now_ms
        link = self.wording.link(delivery.alert.session_id)
        lines = [self.wording.facts(delivery), f"session {delivery.alert.session_id}"]
        if link is not None:
            lines.append(link)
        if delivery.step is DeliveryStep.RESOLVE:
            kind = "success"
        else:
            kind = "failure" if delivery.alert.level is Level.LOOP else "warning"
        return [_message(self.wording.headline(delivery), lines, kind)]

    def digest(self, digest: Digest) -> Sequence[SinkRequest]:
        """Return one message."""
        inbox = self.wording.inbox
        return [_message(tally(digest.deliveries), [inbox] if inbox else [], "warning")]

    def judge(self, answer: SinkAnswer, now_s: float) -> Outcome:
        """Go by the status that the shell gives success and failure."""
        return judged(answer, now_s)


def _message(title: str, lines: Sequence[str], kind: str) -> SinkRequest:
    # A receiver that shows no titles gets both; an empty body is refused by some.
    document = {"title": title, "body": "\n".join(lines) or title, "type": kind}
    return SinkRequest(SCHEME, {}, as_json(document))
