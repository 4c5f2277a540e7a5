"""The newest steps of the sessions that were read last: what an agent does while it loops. Pure."""

from __future__ import annotations

import json
import zlib
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

import orjson

MOST_STEPS: Final = 16
"""Steps that are kept of a session."""

MOST_SESSIONS: Final = 2_000
"""Sessions of which steps are kept: those with the newest records."""


class NewestSteps:
    """Enriched records, packed: they are 3 kB each, and there may be thousands.

    >>> steps = NewestSteps()
    >>> steps.add({"session_id": "s-17", "eddy": {"id": "s-17/0/4/enriched", "step": 5}})
    >>> [each["eddy"]["step"] for each in steps.of("s-17")], steps.of("s-18")
    ([5], [])
    """

    def __init__(self) -> None:
        self._packed: dict[str, deque[bytes]] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Take in an enriched record."""
        session_id = record["session_id"]
        known = self._packed.pop(session_id, None) or deque[bytes](maxlen=MOST_STEPS)
        known.append(zlib.compress(_json(record), 1))
        self._packed[session_id] = known
        if len(self._packed) > MOST_SESSIONS:
            del self._packed[next(iter(self._packed))]

    def of(self, session_id: str) -> list[Mapping[str, Any]]:
        """Return what is kept of a session, oldest first."""
        return [json.loads(zlib.decompress(each)) for each in self._packed.get(session_id, ())]


def _json(record: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(record)
    except orjson.JSONEncodeError:  # logs may hold half a surrogate pair, and integers of any size
        return json.dumps(record, default=str).encode()
