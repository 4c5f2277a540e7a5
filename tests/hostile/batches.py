"""Batches that no ordinary client writes, as far as Apache Kafka takes them."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable, Sequence

import cramjam
from aiokafka.codec import lz4_encode, snappy_encode

from schemas.reason import Reason
from tests.hostile.case import Attack, Case, Letter
from tests.hostile.ground import Ground
from tests.hostile.raw_batch import Headers, batch, record
from tests.integration.load import as_json, decision

MIB = 1 << 20

#: What the bomb of a codec holds: the worker takes 64 MiB, and the topic 8 MiB of compressed bytes.
BOMB_BYTES = {"gzip": 600 * MIB, "snappy": 100 * MIB, "lz4": 600 * MIB, "zstd": 600 * MIB}

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gzip": gzip.compress,
    "snappy": snappy_encode,
    "lz4": lz4_encode,
    "zstd": lambda data: bytes(cramjam.zstd.compress(data)),
}


def _time(session: str) -> int:
    timestamp: int = decision(session, 0)["meta"]["timestamp"]
    return timestamp


def _good(session: str, number: int, *, offset_delta: int, headers: Headers = ()) -> bytes:
    return record(session.encode(), as_json(decision(session, number)), headers, offset_delta=offset_delta)


def _value(session: str, number: int) -> bytes:
    return as_json(decision(session, number))


# -- the name of a header is not UTF-8 -----------------------------------------------------------------


def odd_header_name(codec: str) -> Attack:
    """Three good records; the name of a header of the one in the middle is not UTF-8."""

    async def attack(ground: Ground, session: str) -> list[Letter]:
        headers = [(b"own", b"1"), (b"\xff\xfe", b"2"), (b"null", None)]
        records = b"".join(
            _good(session, 10 + place, offset_delta=place, headers=headers if place == 1 else ())
            for place in range(3)
        )
        first = await ground.produce(
            batch(COMPRESS[codec](records), 3, timestamp=_time(session), codec=codec)
        )
        return [
            Letter(
                first + 1,
                Reason.UNREADABLE,
                session.encode(),
                _value(session, 11),
                [("own", b"1"), ("\\xff\\xfe", b"2"), ("null", None)],
                {"__streams.errors.message": "the name of a header is not UTF-8"},
            )
        ]

    return attack


# -- records claim offsets that are not theirs ---------------------------------------------------------


def claimed(deltas: Sequence[int]) -> Attack:
    """Good records whose offsets count from the first one as ``deltas`` say."""

    async def attack(ground: Ground, session: str) -> list[Letter]:
        records = b"".join(
            _good(session, 10 + place, offset_delta=delta) for place, delta in enumerate(deltas)
        )
        first = await ground.produce(batch(records, len(deltas), timestamp=_time(session)))
        return [
            Letter(
                first + place,
                Reason.UNREADABLE,
                session.encode(),
                _value(session, 10 + place),
                says={
                    "__streams.errors.message": f"the record claims the offset {first + delta}, its place in "
                    f"the batch is {first + place}"
                },
            )
            for place, delta in enumerate(deltas)
            if delta != place
        ]

    return attack


# -- compressed data that brokers read and Python's libraries do not -----------------------------------


def odd_but_good(codec: str, written: Callable[[bytes], bytes]) -> Attack:
    """Two good records in data that are unusual; both are judged."""

    async def attack(ground: Ground, session: str) -> list[Letter]:
        records = b"".join(_good(session, 10 + place, offset_delta=place) for place in range(2))
        await ground.produce(batch(written(records), 2, timestamp=_time(session), codec=codec))
        return []

    return attack


def _in_two(compress: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda data: compress(data[:9]) + compress(data[9:])


def _other_xerial_version(data: bytes) -> bytes:
    return b"\x82SNAPPY\0" + struct.pack(">ii", 2, 1) + snappy_encode(data)[16:]


# -- more in it than fits ------------------------------------------------------------------------------


def _zeros(codec: str, start: bytes) -> bytes:
    """Compress ``start`` and the zeros behind it, without ever holding them."""
    zeros = [bytes(MIB)] * (BOMB_BYTES[codec] // MIB)
    match codec:
        case "gzip":
            writer = zlib.compressobj(1, wbits=31)
            return b"".join([writer.compress(start), *map(writer.compress, zeros), writer.flush()])
        case "snappy":
            blocks = [start, *(part[: 32 << 10] for part in zeros for _ in range(32))]
            raw = [bytes(cramjam.snappy.compress_raw(block)) for block in blocks]
            return snappy_encode(b"")[:16] + b"".join(struct.pack(">i", len(part)) + part for part in raw)
        case "lz4":
            lz4 = cramjam.lz4.Compressor(level=1, content_checksum=False, block_linked=False)
            for part in (start, *zeros):
                lz4.compress(part)
            return bytes(lz4.finish())
        case _:
            zstd = cramjam.zstd.Compressor()
            for part in (start, *zeros):
                zstd.compress(part)
            return bytes(zstd.finish())


def bomb(codec: str) -> Attack:
    """A batch of two records, of which the second one has a value of zeros; the worker stays small."""

    async def attack(ground: Ground, session: str) -> list[Letter]:
        first_record = _good(session, 10, offset_delta=0)
        # The second one up to its value, which the zeros are; the last of them says that it has no headers.
        whole = record(b"", None, offset_delta=1)
        body = whole[1:-2]  # without its length, the length of its value, and the number of its headers
        body += _zigzag(BOMB_BYTES[codec] - 1)
        start = first_record + _zigzag(len(body) + BOMB_BYTES[codec]) + body
        sent = batch(_zeros(codec, start), 2, timestamp=_time(session), codec=codec)
        first = await ground.produce(sent)
        says = {
            "__streams.errors.message": f"its batch of {len(sent)} bytes holds more than {64 * MIB} bytes",
            "x-dlq-cut": f"batch {len(sent)}",
        }
        await ground.accounted(first, first + 1)
        assert ground.peak_memory() < 500 * MIB
        return [Letter(first + place, Reason.OVERSIZE, None, None, says=says) for place in range(2)]

    return attack


def _zigzag(number: int) -> bytes:
    return record(None, None, offset_delta=number)[3:-3]


def nothing(records: int) -> Attack:
    """A batch of so many records without key and value: more than a poll takes."""

    async def attack(ground: Ground, session: str) -> list[Letter]:
        content = b"".join(record(None, None, offset_delta=place) for place in range(records))
        sent = batch(COMPRESS["zstd"](content), records, timestamp=_time(session), codec="zstd")
        first = await ground.produce(sent)
        return [Letter(first + place, Reason.NULL_VALUE, None, None) for place in range(records)]

    return attack


def many_offsets(records: int) -> Attack:
    """A batch of many small records that holds too much: a bounded number of letters stands for all."""

    async def attack(ground: Ground, session: str) -> list[Letter]:
        value = bytes(80_000)
        content = b"".join(record(b"", value, offset_delta=place) for place in range(records))
        sent = batch(COMPRESS["zstd"](content), records, timestamp=_time(session), codec="zstd")
        first = await ground.produce(sent)
        last = first + records - 1
        letters = [Letter(first + place, Reason.OVERSIZE, None, None) for place in range(999)]
        stands_for_rest = Letter(
            first + 999, Reason.OVERSIZE, None, None, says={"x-dlq-offsets": f"{first + 999}-{last}"}
        )
        return [*letters, stands_for_rest]

    return attack


CASES = (
    *(
        Case(f"a header name that is not UTF-8, {codec}", odd_header_name(codec))
        for codec in ("none", "zstd")
    ),
    Case("records that claim the offset of another one", claimed([0, 0, 0])),
    Case("records that claim offsets in the wrong order", claimed([2, 1, 0])),
    Case("records that claim offsets far behind the end", claimed([0, 1_000_000, 2_000_000])),
    Case("records that claim offsets before their batch", claimed([-5, -4, -3])),
    Case("gzip with bytes behind it", odd_but_good("gzip", lambda data: gzip.compress(data) + b"more")),
    Case("gzip in two members", odd_but_good("gzip", _in_two(gzip.compress))),
    Case("lz4 with bytes behind it", odd_but_good("lz4", lambda data: lz4_encode(data) + b"more")),
    Case("zstd in two frames", odd_but_good("zstd", _in_two(COMPRESS["zstd"]))),
    Case("snappy of another version", odd_but_good("snappy", _other_xerial_version)),
    Case(
        "snappy in one block",
        odd_but_good("snappy", lambda data: bytes(cramjam.snappy.compress_raw(data))),
    ),
    *(
        Case(f"a batch that holds too much, {codec}", bomb(codec))
        for codec in ("gzip", "snappy", "lz4", "zstd")
    ),
    Case("a batch of 1,500 records that holds too much", many_offsets(1_500)),
    Case("a batch of 60,000 records without a value", nothing(60_000)),
)
