"""What can be read of a batch that the Kafka client gives up on.

The client stops at its first error. This reader goes by the length of each record, so a damaged record does
not take the others with it. If a length makes no sense, the rest of the batch is lost. The reader is slow; it
gets only the batches at which the client has stopped.

A broker counts the records of a batch and numbers them by their place. It does not check the offsets that the
records of a batch without compression state themselves, so a record may claim the offset of another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from streams.core.domain.record import RawKind, Unreadable

#: A batch that cannot be unpacked has this many dead letters at most; the last one represents the rest.
MOST_LETTERS: Final = 1_000

_LONGEST_VARINT: Final = 10


class Salvaged(NamedTuple):
    """A record that is in order."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class Frame(NamedTuple):
    """What the head of a batch says.

    ``holds`` says how many records it has, ``first_ms`` what their timestamps count from. ``append_ms`` is
    the timestamp of all of them if the broker sets it, else None.
    """

    base: int
    last: int
    holds: int
    first_ms: int
    append_ms: int | None = None

    @property
    def whole(self) -> bool:
        """Whether the batch still has every record, so that each has its place."""
        return self.holds == self.last - self.base + 1


def salvage(frame: Frame, records: memoryview, skip: int, following: int) -> Iterator[Salvaged | Unreadable]:
    """Yield what the records of a batch come to, one for each offset that has a record.

    Args:
        frame: The frame of the batch.
        records: What follows its head, decompressed.
        skip: So many records have been read already.
        following: The offset after the last of those.
    """
    at = 0
    for number in range(frame.holds):
        try:
            length, start = _varint(records, at)
            end = start + length
            if length < 0 or end > len(records):
                raise ValueError("a record is longer than its batch")  # noqa: TRY301 - as any other damage
        except ValueError as error:
            yield from lost(following, frame.last, str(error), frame.first_ms, bytes(records[at:]))
            return
        if number >= skip:
            found = _record(frame, records[start:end], number, following)
            if found is None:
                detail = "the offsets of its batch are out of order"
                yield from lost(following, frame.last, detail, frame.first_ms, bytes(records[at:]))
                return
            yield found
            following = found.offset + 1
        at = end
    if frame.whole and following <= frame.last:
        yield from lost(
            following, frame.last, "its batch ends before it", frame.first_ms, bytes(records[at:])
        )


def lost(
    first: int, last: int, detail: str, timestamp: int, raw: bytes | None = None, *, batch_bytes: int = 0
) -> Iterator[Unreadable]:
    """Yield one `Unreadable` for each offset from ``first`` to ``last``; the first one has the bytes."""
    end = min(last, first + MOST_LETTERS - 1)
    for offset in range(first, end + 1):
        has_raw = raw is not None and offset == first
        yield Unreadable(
            offset,
            timestamp,
            detail,
            value=raw if has_raw else None,
            raw=RawKind.BATCH if has_raw else None,
            batch_bytes=batch_bytes,
            last=last if offset == end < last else None,
        )
    for offset in range(end + 1, last + 1):
        yield Unreadable(offset, timestamp, detail, batch_bytes=batch_bytes, is_logged=False)


def _record(frame: Frame, body: memoryview, number: int, following: int) -> Salvaged | Unreadable | None:
    """Return what becomes of a record; None where it has no offset that can be its own."""
    place = frame.base + number
    try:
        delta_ms, at = _varint(body, 1)  # after the attributes, which are unused
        delta, at = _varint(body, at)
        key, at = _sized(body, at)
        value, at = _sized(body, at)
        headers, names = _headers(body, at)
    except ValueError as error:
        # It contains its offset.
        if not frame.whole:
            return None
        return Unreadable(
            place, frame.first_ms, f"a record is damaged: {error}", value=bytes(body), raw=RawKind.RECORD
        )
    timestamp = _wrapped(frame.first_ms + delta_ms) if frame.append_ms is None else frame.append_ms
    offset, own = frame.base + delta, tuple(headers)
    if frame.whole and offset != place:
        detail = f"the record claims the offset {offset}, its place in the batch is {place}"
        return Unreadable(place, timestamp, detail, key, value, own)
    if not following <= offset <= frame.last:
        return None
    if names:
        return Unreadable(offset, timestamp, "the name of a header is not UTF-8", key, value, own)
    return Salvaged(offset, timestamp, key, value, own)


def _wrapped(number: int) -> int:
    """Return a number as 64 bits hold it, which is what other clients make of it."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _headers(body: memoryview, at: int) -> tuple[list[tuple[str, bytes | None]], int]:
    """Return the headers, and how many names are not UTF-8; those have escapes in them."""
    count, at = _varint(body, at)
    if count < 0:
        raise ValueError("it has less than no headers")
    headers: list[tuple[str, bytes | None]] = []
    odd = 0
    for _ in range(count):
        name, at = _sized(body, at)
        content, at = _sized(body, at)
        if name is None:
            raise ValueError("a header has no name")
        try:
            text = name.decode()
        except UnicodeDecodeError:
            text, odd = name.decode("utf-8", "backslashreplace"), odd + 1
        headers.append((text, content))
    if at != len(body):
        raise ValueError("its length is not that of its parts")
    return headers, odd


def _sized(data: memoryview, at: int) -> tuple[bytes | None, int]:
    length, at = _varint(data, at)
    if length < 0:
        return None, at
    if length > len(data) - at:
        raise ValueError("a part is longer than the record")
    return bytes(data[at : at + length]), at + length


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(min(_LONGEST_VARINT, len(data) - at)):
        byte = data[at + shift]
        number |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at + shift + 1
    raise ValueError("a number does not end")
