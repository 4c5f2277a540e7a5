"""One record of any topic, as it stands there."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from streams.console.console import Console
from streams.console.raw_records import Audited, RawRecords, RawView, shown_value
from streams.core.domain.text.printable import printable
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError


def routes(console: Console, records: RawRecords, audited: Audited) -> Sequence[web.RouteDef]:
    """Return the route of a record.

    Args:
        console: Parts that all screens share.
        records: Reads one record of a topic.
        audited: Takes that somebody looked at it.
    """

    async def show(request: web.Request) -> web.StreamResponse:
        topic = _topic(request.query.get("topic", ""))
        partition, offset = (_number(request.query.get(name, ""), name) for name in ("partition", "offset"))
        stored = await records.record(topic, partition, offset)
        raw = RawView(f"{topic}/{partition}/{offset}", stored.value, topic, stored)
        value = await shown_value(console, request, records, raw, audited)
        if isinstance(value, web.Response):
            return value
        content = {
            "topic": str(topic),
            "partition": partition,
            "offset": offset,
            "ts": stored.timestamp,
            "size": len(stored.value or b""),
            "value": {name: each for name, each in value.items() if name != "text"},
            "raw_value": {
                "text": value["text"],
                "key": None if stored.key is None else stored.key.decode("utf-8", "backslashreplace"),
                "headers": [
                    {"name": name, "content": (content or b"").decode("utf-8", "backslashreplace")}
                    for name, content in stored.headers
                ],
            },
        }
        return console.answer(request, "record.html.j2", "sessions", content)

    return [web.get("/record", show)]


def _topic(name: str) -> Topic:
    try:
        return Topic(name)
    except ValueError:
        raise ConfigurationError(
            f'"{printable(name, 80)}" is no topic of Eddy: /record?topic=topology&partition=3&offset=17 '
            "names a record."
        ) from None


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise ConfigurationError(f"{name} in the address must be a whole number.")
    return int(text)
