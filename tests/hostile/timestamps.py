"""Records with Kafka timestamps that the input takes and the topics of the outputs refuse."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from schemas.reason import Reason
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.worker.options import JOB_FLOW, repartition_topic
from tests.hostile.case import Attack, Case, Letter
from tests.hostile.ground import Ground
from tests.integration.load import as_json, decision

_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS

_BEFORE, _AFTER = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"
_ANY, _AN_HOUR = str((1 << 63) - 1), str(_HOUR_MS)


def _records(session: str, timestamp: int, number: int) -> tuple[Outgoing, Outgoing]:
    """Return a record that ends a loop of its own, so that every topic gets something, and a broken one."""
    value = decision(session, number, intent="again", tool_input="{}")
    value["meta"]["timestamp"] = min(max(0, timestamp), 1 << 52)
    key = session.encode()
    return Outgoing(key, as_json(value), timestamp), Outgoing(key, b"no decision", timestamp)


def _with(limits: Mapping[str, str], *timestamps: int) -> Attack:
    """Return an attack with these Kafka timestamps while all topics but the input have these limits."""

    async def attack(ground: Ground, session: str) -> Iterable[Letter]:
        written = [*map(str, JOB_FLOW.outputs), repartition_topic(ground.stage.application_id)]
        await ground.configure([Topic.DECISION_LOGS], {_BEFORE: _ANY, _AFTER: _ANY})
        await ground.configure(written, limits)
        made = [
            record
            for number, timestamp in enumerate(timestamps * 6, 100)
            for record in _records(session, timestamp, number)
        ]
        offsets = await ground.send(*made)
        await ground.accounted(offsets[0], offsets[-1])
        await ground.configure(written, dict.fromkeys(limits))
        return [
            Letter(offset, Reason.UNDECODABLE, record.key, record.value)
            for offset, record in zip(offsets, made, strict=True)
            if record.value == b"no decision"
        ]

    return attack


_NOW_MS = int(time.time() * 1000)

CASES = (
    Case("timestamps of the day before yesterday", _with({_BEFORE: _AN_HOUR}, _NOW_MS - 2 * _DAY_MS)),
    Case("timestamps of the day after tomorrow", _with({_AFTER: _AN_HOUR}, _NOW_MS + 2 * _DAY_MS)),
    Case(
        "timestamps of which some are refused",
        _with({_BEFORE: _AN_HOUR, _AFTER: _AN_HOUR}, _NOW_MS, _NOW_MS - _DAY_MS, _NOW_MS + _DAY_MS),
    ),
    Case(
        "timestamps that no clock shows",
        _with({_BEFORE: _AN_HOUR, _AFTER: _AN_HOUR}, 0, -1, -5, (1 << 63) - 1, 1),
    ),
    Case("timestamps that no clock shows, and no limit", _with({_AFTER: _ANY}, 0, -1, -5, (1 << 63) - 1, 1)),
)
