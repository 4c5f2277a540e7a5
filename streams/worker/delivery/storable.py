"""The last look at what an epoch wants to store: whether the changelog takes it.

A record that is too large would be refused by the broker at each attempt, run after run, start after start.
What sessions may take is limited before (`streams.core.policy.state_limits`), so nothing should get here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streams.core.errors import StateError
from streams.worker.effects import Items
from streams.worker.state.table import StateTable

#: A batch of one record has so many bytes beside key and value at most, its headers included.
_OVERHEAD = 1_024


def storable(table: StateTable[Any], partition: int, items: Iterable[tuple[bytes, bytes | None]]) -> Items:
    """Return the items as a list.

    Raises:
        StateError: the changelog does not take one of them.
    """
    most, listed = table.largest - _OVERHEAD, list(items)
    for key, value in listed:
        if value is not None and len(key) + len(value) > most:
            topic = table.changelog_topic_name
            raise StateError(
                f"What is to be stored in {topic}[{partition}] under the key {key[:200]!r} has "
                f"{len(key) + len(value)} bytes, the topic takes {table.largest} (max.message.bytes). The "
                f"run was not acknowledged. Raise max.message.bytes of {topic}, then start the worker again; "
                'for a session there is another way in docs/limits.md, under "A damaged session".'
            )
    return listed
