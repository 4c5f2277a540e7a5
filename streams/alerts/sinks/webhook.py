"""A webhook of your own: CloudEvents 1.0 in JSON, signed as Standard Webhooks asks for.

The signature of Standard Webhooks, so that a receiver knows who sent a message, and when.
https://www.standardwebhooks.com. Libraries for many languages check it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import ClassVar, Final
from urllib.parse import quote

from streams.alerts.sinks.request import Gone, Outcome, SinkAnswer, SinkRequest, as_json, judged
from streams.alerts.sinks.sink import Delivery, Traits, span_context
from streams.alerts.sinks.wording import Wording
from streams.core.domain.text.figures import rfc3339
from streams.core.errors import ConfigurationError

_PREFIX: Final = "whsec_"
_SHORTEST, _LONGEST = 24, 64
_LONGEST_ID: Final = 1_000


def keys(secrets: str) -> tuple[bytes, ...]:
    """Return the keys of secrets that are separated by blanks: two of them while one replaces the other.

    Raises:
        ConfigurationError: one is no secret; the message does not show it.
    """
    found = tuple(map(_key, secrets.split()))
    if not found:
        raise ConfigurationError("The secret of the webhook is empty.")
    return found


def signed(keys: Sequence[bytes], id_: str, timestamp: int, body: bytes) -> Mapping[str, str]:
    """Return the three headers.

    Args:
        keys: Keys, each of which signs.
        id_: The same for each repeat, so that a receiver can drop those. See `message_id`.
        timestamp: Seconds since 1970, of this try.
        body: Bytes that the request sends.
    """
    content = f"{id_}.{timestamp}.".encode() + body
    signatures = (base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode() for key in keys)
    return {
        "webhook-id": id_,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }


def message_id(id_: str) -> str:
    r"""Return an id as a header can carry it: one line of ASCII, and not too long.

    >>> message_id("s-1/0/6/loop_episode/opened"), message_id("a b\n")
    ('s-1/0/6/loop_episode/opened', 'a%20b%0A')
    """
    safe = quote(id_, safe="/:@!$&'()*+,;=", errors="replace")
    return safe if len(safe) <= _LONGEST_ID else hashlib.sha256(safe.encode()).hexdigest()


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if not secret.startswith(_PREFIX) or not _SHORTEST <= len(key) <= _LONGEST:
        raise ConfigurationError(
            f"The secret of the webhook must be {_PREFIX} and {_SHORTEST} to {_LONGEST} bytes in base64, as "
            'this prints one: echo "whsec_$(openssl rand -base64 32)"'
        )
    return key


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
