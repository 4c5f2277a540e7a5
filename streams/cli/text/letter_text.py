"""A dead letter in words, for people and for machines; nothing in it can move a cursor."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from streams.cli.settings_history import when
from streams.core.domain.text.figures import clock, count, day
from streams.core.domain.text.printable import printable
from streams.operate.redrive.letter import DeadLetter

_LONGEST: Final = 120
_LONGEST_LINE: Final = 1_000
_LINES: Final = 400
_HEX_BYTES: Final = 512
_HEX_ROW: Final = 16


def line(letter: DeadLetter, note: str = "") -> str:
    """Return a letter as one line: place, time, reason, problems, key, and where it came from."""
    reason, *about = _about(letter)
    parts = (f"{letter.partition}:{letter.offset}", when(letter.timestamp), reason.rstrip(), *about, note)
    return "  ".join(part for part in parts if part)


class Listing:
    """Letters one per line, in columns, with the day where it changes."""

    heading = f"{'place':<10}  time UTC  {'reason':<16}  problems, key, and where it stood"

    def __init__(self) -> None:
        self._day: str | None = None

    def lines(self, letter: DeadLetter) -> Iterator[str]:
        """Yield the line of the next letter, after its day if that is another one."""
        date, time = day(letter.timestamp), clock(letter.timestamp)
        if date != self._day:
            self._day = date
            yield date or "unknown day"
        place = f"{letter.partition}:{letter.offset}"
        yield "  ".join((f"{place:<10}", f"{time:<8}", *_about(letter)))


def fields(letter: DeadLetter) -> dict[str, Any]:
    """Return a letter for machines, without its value. The key is text, or hex where it is none."""
    return {
        "partition": letter.partition,
        "offset": letter.offset,
        "timestamp": letter.timestamp,
        "reason": letter.reason,
        "stage": letter.stage,
        "problems": list(letter.problems),
        "detail": letter.detail,
        **_keyed(letter.key),
        "source": None if letter.source is None else letter.source._asdict(),
        "consumer_group": letter.group,
        "app_version": letter.version,
        "bytes": len(letter.value or b""),
        "redrives": letter.redrives,
    }


def whole(letter: DeadLetter, decoded: Any, refusal: str | None) -> dict[str, Any]:
    """Return all of a letter for machines: with its own headers, its value, and why it would come back."""
    value = letter.value
    return {
        **fields(letter),
        "headers": [[name, _bytes(content)] for name, content in letter.headers],
        "value": decoded,
        "value_hex": None if value is None else value.hex(),
        "would_come_back": refusal,
    }


def lines(letter: DeadLetter, decoded: Any, refusal: str | None) -> Iterator[str]:
    """Yield all of a letter for people. ``decoded`` is None where the value cannot be read."""
    yield line(letter)
    yield f"  what was wrong   {_text(letter.detail, _LONGEST_LINE) or '?'} (at {_text(letter.stage) or '?'})"
    yield f"  set aside by     {_text(letter.group) or '?'}, Eddy {_text(letter.version) or '?'}"
    if letter.redrives:
        yield f"  sent again       {count(letter.redrives, 'time')} before"
    verdict = "would be accepted" if refusal is None else "would come back: "
    yield f"  now              {verdict}{_text(refusal or '', _LONGEST_LINE)}"
    for name, content in letter.headers:
        yield f"  header           {_text(name)} = {_bytes(content)}"
    yield f"  value            {_size(letter.value)}"
    yield from (f"    {each}" for each in _value(letter.value, decoded))


def counts(reasons: Counter[str]) -> str:
    """Return how many letters there are of each reason.

    >>> counts(Counter(key=2, future=1))
    '3 dead letters: future 1, key 2'
    """
    counted = ", ".join(f"{reason} {each:,}" for reason, each in sorted(reasons.items()))
    number = reasons.total()
    return f"{count(number, 'dead letter')}{': ' if counted else ''}{counted}"


def hexdump(content: bytes) -> Iterator[str]:
    r"""Yield rows of offset, bytes and what of them is text.

    >>> list(hexdump(b"\x00ok\x1b"))
    ['00000000  00 6f 6b 1b                                      .ok.']
    """
    for at in range(0, len(content), _HEX_ROW):
        row = content[at : at + _HEX_ROW]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        yield f"{at:08x}  {row.hex(' '):<47}  {text}"


def _about(letter: DeadLetter) -> list[str]:
    """Return the reason, padded, and then what there is to say of problems, key and origin."""
    source = letter.source
    parts = (
        _text(", ".join(letter.problems)),
        f"key {_bytes(letter.key)}",
        "" if source is None else f"from {_text(source.topic)} {source.partition}:{source.offset}",
    )
    return [f"{_text(letter.reason) or 'no reason':<16}", *filter(None, parts)]


def _value(value: bytes | None, decoded: Any) -> Iterator[str]:
    if value is None:
        return
    if decoded is not None:
        yield from _cut(json.dumps(decoded, indent=2, default=_plain).splitlines())
        return
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = ""
    if text and sum(not c.isprintable() and not c.isspace() for c in text) * 10 < len(text):
        yield from _cut(
            printable(each, _LONGEST_LINE) for each in text[: _LINES * _LONGEST_LINE].splitlines()
        )
        return
    yield from hexdump(value[:_HEX_BYTES])
    if len(value) > _HEX_BYTES:
        yield f"… and {len(value) - _HEX_BYTES:,} more bytes; --save writes them all to a file"


def _cut(texts: Sequence[str] | Iterator[str]) -> Iterator[str]:
    for number, text in enumerate(texts):
        if number == _LINES:
            yield "… and more; --save writes all of it to a file"
            return
        yield text


def _plain(value: object) -> str:
    """Return what JSON has no form for, bytes of Avro for one, as text."""
    return value.hex() if isinstance(value, bytes) else str(value)


def _size(value: bytes | None) -> str:
    return "none: the message has no value" if value is None else f"{len(value):,} bytes"


def _keyed(key: bytes | None) -> dict[str, Any]:
    if key is None:
        return {"key": None}
    try:
        return {"key": key.decode()}
    except UnicodeDecodeError:
        return {"key": None, "key_hex": key.hex()}


def _bytes(content: bytes | None) -> str:
    r"""Return bytes as printable text; what is no UTF-8 as escapes."""
    return "none" if content is None else printable(content.decode("utf-8", "backslashreplace"), _LONGEST)


def _text(text: str, limit: int = _LONGEST) -> str:
    return printable(text, limit)
