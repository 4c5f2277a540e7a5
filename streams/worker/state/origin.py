"""What state was built from: the topics whose offsets it holds, by Kafka's ids.

A session knows the offset of its last record, an aggregate those it has counted, and takes what stands at
or below for a repetition. That is right as long as the topic is the one those offsets come from. So the ids
of the topics are kept beside the state, in the changelog, and compared whenever a partition is assigned.

| table | where | topics |
|---|---|---|
| sessions | settings ledger | `decision-logs` |
| aggregates | key ``msources`` | `decision-logs`, whose offsets they count by, and the repartition topic |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from streams.core.domain.topic import Topic
from streams.core.errors import StateError
from streams.worker.state.store import PartitionStores

#: The key of a partition's origin in the changelog of the aggregates.
SOURCES_KEY = b"msources"

_FORMAT = 1

Ids = Mapping[str, str | None]
"""Topic ids by name; None where the brokers give none."""


def encode_sources(ids: Mapping[str, str]) -> bytes:
    """Return the bytes topic ids are stored as; equal ones give equal bytes.

    >>> encode_sources({"b": "2", "a": "1"})
    b'[1,{"a":"1","b":"2"}]'
    """
    return orjson.dumps([_FORMAT, dict(ids)], option=orjson.OPT_SORT_KEYS)


def decode_sources(stored: bytes | None) -> dict[str, str]:
    """Return what `encode_sources` stored; nothing for None.

    Raises:
        StateError: the bytes are of a newer version, or damaged.
    """
    if stored is None:
        return {}
    try:
        content: Any = orjson.loads(stored)
    except ValueError:
        content = None
    match content:
        case [1, {**ids}] if all(isinstance(topic_id, str) for topic_id in ids.values()):
            return {str(topic): str(topic_id) for topic, topic_id in ids.items()}
        case [int(version), *_] if version > _FORMAT:
            raise StateError(
                f"The topics that a changelog was built from are stored in format {version}, this version of "
                f"Eddy reads {_FORMAT}. Start the newer version again."
            )
        case _:
            raise StateError(
                f"The record {SOURCES_KEY.decode()} of a changelog cannot be read. Delete the data "
                "directory; when that does not help, write a tombstone for its key."
            )


class Origin:
    """Compares the state of a job with the topics there are.

    Args:
        application_id: Id of the job that the state belongs to.
        internal: The topics that hold its state.
        directory: The directory of this worker's local state.
        redriven: The topic that remembers what was redriven.
    """

    def __init__(
        self,
        application_id: str,
        internal: Sequence[str],
        directory: Path,
        redriven: str = Topic.REDRIVEN,
    ) -> None:
        self.anew = how_to_begin_anew(application_id, internal, directory, redriven)

    def check_local(
        self, stores: PartitionStores, changelog: str, partitions: Iterable[int], now: Ids
    ) -> None:
        """Refuse local state of another changelog, before it is brought up to this one.

        Raises:
            StateError: a database was filled from a topic that has been deleted since.
        """
        current = now.get(changelog)
        if current is None:
            return
        for partition in partitions:
            store = stores.to_restore(partition)
            before = store.changelog()
            if before is None:
                store.bind(current)
            elif before != current:
                raise StateError(
                    f"Topic {changelog} was deleted and created again: it has the id {current} now, "
                    f"{store.path} was filled from the one with the id {before}. What the new one does not "
                    "hold would be lost when a partition moves to another worker. If the topic was deleted "
                    f"on purpose, delete {stores.directory}; the sessions in it begin again with their next "
                    f"record. {self.anew}"
                )

    def check_sources(self, known: Ids, now: Ids, *, state: str) -> None:
        """Refuse state that was built from a topic which is another one now.

        Args:
            known: The topics it was built from.
            now: The topics there are.
            state: What it is the state of, for people.

        Raises:
            StateError: says which topic and what to do.
        """
        for topic, before in known.items():
            current = now.get(topic)
            if before is not None and current is not None and before != current:
                raise StateError(
                    f"Topic {topic} was deleted and created again: it has the id {current} now, {state} was "
                    f"built from the one with the id {before}. Its offsets began at 0 again, so new records "
                    "would be taken for ones that were scored before. Unless that was intended, find out "
                    f"what producers wrote before you go on. {self.anew}"
                )


def how_to_begin_anew(
    application_id: str, internal: Sequence[str], directory: Path, redriven: str = Topic.REDRIVEN
) -> str:
    """Return the sentences that tell an operator how to score a topic from its beginning."""
    return (
        "To score what the topic holds now from its beginning, stop all workers; then either choose another "
        f"EDDY_APPLICATION_ID than {application_id}, or delete the topics {', '.join(internal)} and the data "
        f"directory of every worker (here {directory}). Either way delete {redriven}, too, which holds "
        "offsets of the old topic, create what is missing with `eddy topics apply`, and start the "
        "workers again."
    )
