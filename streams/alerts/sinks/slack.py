"""Slack, by a bot whose message is kept up to date, or by an incoming webhook that can change nothing.

Slack by a bot: one message for each episode, which is kept up to date, and its end in the thread. Slack
answers 200 whatever happens: `ok` and `error` in the body say what did.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from streams.alerts.sinks.request import (
    Delivered,
    Outcome,
    SinkAnswer,
    SinkRefused,
    SinkRequest,
    TryAgain,
    json_request,
    judged,
    retry_after,
)
from streams.alerts.sinks.sink import Delivery, DeliveryStep, Digest, Traits
from streams.alerts.sinks.wording import Wording, tally
from streams.core.domain.level import Level
from streams.core.domain.text.printable import printable

_LONGEST: Final = 3_000
_SESSION: Final = 200
_MARKS: Final = {Level.LOOP: "red_circle", Level.WARNING: "large_yellow_circle"}
_OVER: Final = "white_check_mark"

Element = Mapping[str, Any]


def message(delivery: Delivery, wording: Wording, *, struck: bool = False) -> Mapping[str, Any]:
    """Return text, for notifications, and blocks.

    Args:
        delivery: What is to be sent.
        wording: Words of the alert's title and text.
        struck: Whether it is over, and its first message is to show that.
    """
    headline, facts = wording.headline(delivery), wording.facts(delivery)
    is_over = struck or delivery.step is DeliveryStep.RESOLVE
    mark = _OVER if is_over else _MARKS.get(delivery.alert.level, _MARKS[Level.WARNING])
    elements = [
        _emoji(mark),
        _text(f" {headline}", "strike" if struck else "bold"),
        _text(f"\n{facts}. Session "),
        _text(printable(delivery.alert.session_id, _SESSION), "code"),
        *_link(wording.link(delivery.alert.session_id), "Open it in the console"),
    ]
    return _message(wording.line(delivery), elements)


def digest_message(digest: Digest, wording: Wording) -> Mapping[str, Any]:
    """Return text and blocks of a digest."""
    text = tally(digest.deliveries)
    return _message(
        text, [_emoji("warning"), _text(f" {text}", "bold"), *_link(wording.inbox, "Open the console")]
    )


def escaped(text: str) -> str:
    """Return a text for the one field that Slack reads as markup, in which nothing is a link or a mention.

    >>> escaped("<!channel> & co")
    '&lt;!channel&gt; &amp; co'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _message(text: str, elements: Sequence[Element]) -> Mapping[str, Any]:
    section = {"type": "rich_text_section", "elements": list(elements)}
    return {"text": escaped(text[:_LONGEST]), "blocks": [{"type": "rich_text", "elements": [section]}]}


def _emoji(name: str) -> Element:
    return {"type": "emoji", "name": name}


def _text(text: str, style: str | None = None) -> Element:
    element: Element = {"type": "text", "text": text[:_LONGEST]}
    return element if style is None else {**element, "style": {style: True}}


def _link(url: str | None, text: str) -> list[Element]:
    return [] if url is None else [_text("\n"), {"type": "link", "url": url, "text": text}]


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


DEFAULT_URL: Final = "https://slack.com/api"

_PASSING: Final = frozenset(
    {"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}
)
#: The message that was to be changed is not there any more: somebody has deleted it, or it is too old.
_NOTHING_TO_CHANGE: Final = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})


@dataclass(frozen=True, slots=True)
class SlackBot:
    """One channel, written to with a bot token (`chat:write`).

    Attributes:
        token: Token of the bot, which begins with xoxb-.
        channel: The id of the channel, such as C0123456789, or its name.
        wording: Words of the alert's title and text.
        url: Address of Slack's Web API.
    """

    traits: ClassVar[Traits] = Traits(per_second=1, burst=5)

    token: str = field(repr=False)
    channel: str
    wording: Wording
    url: str = DEFAULT_URL
    name: str = "slack"

    def wants(self, delivery: Delivery) -> bool:
        """Want everything: an update changes the first message and disturbs nobody."""
        del delivery
        return True

    def requests(self, delivery: Delivery, handle: str | None, now_ms: int) -> Sequence[SinkRequest]:
        """Return a new message, or how the first one changes and what its thread gets."""
        del now_ms
        shown = message(delivery, self.wording)
        first = _first(handle)
        if first is None:
            # There is nothing to change: the episode was part of a digest.
            return [] if delivery.step is DeliveryStep.UPDATE else [self._post(shown, delivery)]
        match delivery.step:
            case DeliveryStep.RESOLVE:
                struck = message(delivery, self.wording, struck=True)
                return [self._post(shown, delivery, thread=first), self._change(struck, first)]
            case DeliveryStep.TRIGGER:  # it is back, or worse
                reply = self._post(shown, delivery, thread=first, broadcast=True)
                return [reply, self._change(shown, first)]
            case _:
                return [self._change(shown, first)]

    def digest(self, digest: Digest) -> Sequence[SinkRequest]:
        """Return one message."""
        return [self._call("chat.postMessage", digest_message(digest, self.wording))]

    def judge(self, answer: SinkAnswer, now_s: float) -> Outcome:
        """Go by `ok` and `error`; remember the first message."""
        by_status = judged(answer, now_s)
        if not isinstance(by_status, Delivered):
            return by_status
        document = answer.document()
        if document.get("ok") is True:
            return Delivered(_handle(document))
        error = str(document.get("error") or "no answer in JSON")
        if error in _PASSING:
            return TryAgain(f"Slack says {error}", retry_after(answer.headers.get("retry-after"), now_s))
        if error in _NOTHING_TO_CHANGE:
            return Delivered()
        return SinkRefused(f"Slack says {error}", answer.status, answer.body)

    def _post(
        self,
        shown: Mapping[str, Any],
        delivery: Delivery,
        thread: Mapping[str, str] | None = None,
        *,
        broadcast: bool = False,
    ) -> SinkRequest:
        of_eddy = {"id": delivery.id, "key": delivery.alert.key, "step": delivery.step}
        call = {**shown, "metadata": {"event_type": "eddy_alert", "event_payload": of_eddy}}
        if thread is not None:
            call |= {"channel": thread["channel"], "thread_ts": thread["ts"]}
            if broadcast:
                call["reply_broadcast"] = True
        return self._call("chat.postMessage", call)

    def _change(self, shown: Mapping[str, Any], first: Mapping[str, str]) -> SinkRequest:
        return self._call("chat.update", {**shown, **first})

    def _call(self, method: str, arguments: Mapping[str, Any]) -> SinkRequest:
        document = {"channel": self.channel, "unfurl_links": False, **arguments}
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json; charset=utf-8"}
        return json_request(f"{self.url}/{method}", document, headers, (self.token,))


def _handle(document: Mapping[str, Any]) -> str | None:
    channel, ts = document.get("channel"), document.get("ts")
    if not isinstance(channel, str) or not isinstance(ts, str):
        return None
    return json.dumps({"channel": channel, "ts": ts})


def _first(handle: str | None) -> Mapping[str, str] | None:
    if handle is None:
        return None
    try:
        found = json.loads(handle)
        return {"channel": str(found["channel"]), "ts": str(found["ts"])}
    except (ValueError, KeyError, TypeError):
        return None
