"""What both ways to Slack write: rich text, in which no name of an agent is a link, a mention or a style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from streams.alerts.sinks.delivery import Delivery, DeliveryStep, Digest
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
