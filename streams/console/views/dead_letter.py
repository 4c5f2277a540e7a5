"""One dead letter: what it holds, why it was set aside, and whether it would be accepted now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from aiohttp import web

from streams.console.console import Console
from streams.console.raw_records import Audited, RawRecords, RawView, shown_value
from streams.console.views.following import board_of
from streams.core.domain.text.printable import printable
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError
from streams.operate.redrive.letter import DeadLetter, read
from streams.operate.redrive.redrive import Trial


def routes(console: Console, records: RawRecords, audited: Audited) -> Sequence[web.RouteDef]:
    """Return the route of a letter.

    Args:
        console: Parts that all screens share.
        records: Reads the record of the letter.
        audited: Takes that somebody looked at it.
    """

    async def show(request: web.Request) -> web.StreamResponse:
        partition, offset = place_named(request.query.get("at", ""))
        stored = await records.record(Topic.DEAD_LETTERS, partition, offset)
        place = f"{Topic.DEAD_LETTERS}/{partition}/{offset}"
        raw = RawView(place, stored.value, Topic.DECISION_LOGS, stored)
        value = await shown_value(console, request, records, raw, audited)
        if isinstance(value, web.Response):
            return value
        letter = read(stored)
        content = {
            "at": f"{partition}:{offset}",
            "reason": letter.counted_as,
            "problems": list(letter.problems),
            "ts": letter.timestamp,
            "size": letter.size,
            "stage": letter.stage,
            "cut": letter.cut,
            "version": letter.version,
            "source": None if letter.source is None else letter.source._asdict(),
            "fate": _fate(console, letter),
            "max_bytes": console.settings.max_value_bytes,
            "command": f"eddy dlq redrive {partition}:{offset}",
            "value": {name: each for name, each in value.items() if name != "text"},
            "raw_value": {
                "text": value["text"],
                "detail": letter.detail,
                "refusal": await _refusal(console, records, letter),
                "key": None if letter.key is None else letter.key.decode("utf-8", "backslashreplace"),
                "headers": [
                    {"name": name, "content": (content or b"").decode("utf-8", "backslashreplace")}
                    for name, content in stored.headers
                ],
            },
        }
        return console.answer(request, "dead_letter.html.j2", "dead-letters", content)

    return [web.get("/dead-letter", show)]


def place_named(text: str) -> tuple[int, int]:
    """Read the place of a letter, such as 3:17.

    Raises:
        ConfigurationError: it is none.
    """
    partition, _, offset = text.partition(":")
    if not (_is_number(partition) and _is_number(offset)):
        raise ConfigurationError(
            f'"{printable(text, 40)}" is no place of a letter: /dead-letter?at=3:17 names partition 3, '
            "offset 17."
        )
    return int(partition), int(offset)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19


async def _refusal(console: Console, records: RawRecords, letter: DeadLetter) -> str:
    """Return why the letter would be set aside again, empty if it would be accepted."""
    codec = replace(records.codec, max_value_bytes=console.settings.max_value_bytes)
    trial = Trial(codec, console.board.settings)
    await trial.prepare([letter])
    return trial.refusal(letter, console.clock()) or ""


def _fate(console: Console, letter: DeadLetter) -> Any:
    ledger = board_of(console).model.ledger
    row = ledger.letters.get((letter.partition, letter.offset))
    return "" if row is None else ledger.fate(row)
