"""What a record contributes across sessions, on its way through the repartition topic: JSON by subject.

| key | value |
|---|---|
| agent or tool (`aggregates.contribution`) | ``[1, "health", partition, offset, at, counts, chains]`` |
| task_type | ``[1, "task", partition, offset, {steps_used, tokens_used}, settings_version, buffer]`` |
| task_type | ``[1, "outlay", ...]``, the fields of an `Outlay` behind its task_type |
| exchange (`aggregates.exchange`) | ``[1, "handover", ...]``, the fields of a `Handed` behind its key |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.aggregates.contribution import Contribution, is_place
from streams.core.domain.aggregates.exchange import Handed
from streams.core.domain.aggregates.task_profile import Completion, Outlay
from streams.core.domain.decision import Decision
from streams.core.domain.record import Outgoing
from streams.core.domain.run import Message
from streams.core.domain.text.digest import bounded
from streams.core.errors import StateError

FORMAT = 1

_HEALTH, _TASK, _OUTLAY, _HANDOVER = "health", "task", "outlay", "handover"
#: The largest value of the setting `profile_buffer`.
_LARGEST_BUFFER = 10


def health_record(contribution: Contribution, timestamp: int) -> Outgoing:
    """Return the record that carries what a session contributes to the health of an agent or a tool."""
    value = orjson.dumps([FORMAT, _HEALTH, *contribution.snapshot()])
    return Outgoing(contribution.key.encode(), value, timestamp)


def task_record(
    completed: Mapping[str, Any], decision: Decision, settings: DetectionSettings, timestamp: int
) -> Outgoing:
    """Return the record that carries the completion of a task.

    Args:
        completed: `eddy.completion` of the record.
        decision: the record that completes the task.
        settings: those it was processed under.
        timestamp: of the Kafka record, ms.
    """
    used = {"steps_used": completed["steps_used"], "tokens_used": completed["tokens_used"]}
    place = decision.partition, decision.offset
    value = orjson.dumps([FORMAT, _TASK, *place, used, settings.version, settings.profile_buffer])
    return Outgoing(bounded(completed["task_type"]).encode(), value, timestamp)


def outlay_record(outlay: Outlay, timestamp: int) -> Outgoing:
    """Return the record that carries what a session has used, to be compared with its kind."""
    value = orjson.dumps([FORMAT, _OUTLAY, *outlay.snapshot()])
    return Outgoing(outlay.task_type.encode(), value, timestamp)


def handover_record(handed: Handed, timestamp: int) -> Outgoing:
    """Return the record that carries what a session hands over to an exchange."""
    value = orjson.dumps([FORMAT, _HANDOVER, *handed.snapshot()])
    return Outgoing(handed.key.encode(), value, timestamp)


def read(message: Message) -> Contribution | Completion | Outlay | Handed:
    """Return what a record of the repartition topic carries.

    Raises:
        StateError: a newer version of Eddy wrote it, or another program.
    """
    try:
        return _restored((message.key or b"").decode(), orjson.loads(message.value or b""))
    except (ValueError, TypeError) as error:
        raise StateError(
            f"The record at offset {message.offset} of the repartition topic cannot be read ({error}). If "
            "an older version of Eddy was started after a newer one, start the newer one again; else "
            "another program writes to this topic: start under a new EDDY_APPLICATION_ID."
        ) from error


def _restored(key: str, content: Any) -> Contribution | Completion | Outlay | Handed:
    match content:
        case [1, "health", *snapshot]:
            return Contribution.restore(key, snapshot)
        case [1, "handover", *snapshot]:
            return Handed.restore(key, snapshot)
        case [1, "outlay", *snapshot]:
            return Outlay.restore(key, snapshot)
        case [
            1,
            "task",
            partition,
            offset,
            {"steps_used": int() | float(), "tokens_used": int() | float()} as used,
            version,
            int() | float() as buffer,
        ] if (
            is_place(partition) and is_place(offset) and is_place(version) and 0 <= buffer <= _LARGEST_BUFFER
        ):
            return Completion(key, partition, offset, used, version, buffer)
        case _:
            raise ValueError("of no kind this version knows")
