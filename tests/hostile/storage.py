"""Records that were in order until the disk of a broker damaged them."""

from __future__ import annotations

import struct
from pathlib import Path

from aiokafka import AIOKafkaProducer

from schemas.reason import Reason
from streams.core.domain.topic import Topic
from tests.hostile.case import Case, Letter
from tests.hostile.ground import PARTITION, Ground


def _segments(ground: Ground) -> list[Path]:
    folder = f"{Topic.DECISION_LOGS}-{PARTITION}"
    return sorted(ground.broker._directory.glob(f"data-*/{folder}/*.log"))


def _damage(segments: list[Path], mark: bytes) -> bytes:
    """Change a byte of the batch that holds ``mark``; return the batch as it is now."""
    for path in segments:
        log, at = path.read_bytes(), 0
        while at < len(log):
            end = at + 12 + struct.unpack_from(">i", log, at + 8)[0]
            if (place := log.find(mark, at, end)) >= 0:
                with path.open("r+b") as file:
                    file.seek(place)
                    file.write(b"?")
                return log[at:place] + b"?" + log[place + 1 : end]
            at = end
    raise AssertionError("no segment holds it")


async def wrong_checksum(ground: Ground, session: str) -> list[Letter]:
    """Damage a record that the worker may not read yet, for its transaction is open; then commit it."""
    mark = f"damaged-{session}".encode()
    async with (
        AIOKafkaProducer(bootstrap_servers=ground.broker.bootstrap, transactional_id=session) as producer,
        producer.transaction(),
    ):
        sent = await producer.send_and_wait(
            Topic.DECISION_LOGS, value=mark, key=session.encode(), partition=PARTITION
        )
        damaged = _damage(_segments(ground), mark)
    ground.covered.add(sent.offset + 1)  # the marker of the transaction
    return [
        Letter(
            sent.offset,
            Reason.UNREADABLE,
            None,
            damaged,
            says={
                "x-dlq-raw": "batch",
                "__streams.errors.message": "its batch is damaged: its checksum is wrong",
            },
        )
    ]


CASES = (Case("a batch with a wrong checksum", wrong_checksum),)
