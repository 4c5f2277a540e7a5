"""Whether topics are the ones that local state was built from, and take what the job writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from streams.core.domain.topic import Topic
from streams.operate.doctor.check import Check, fail, warn
from streams.operate.doctor.state import Database
from streams.worker.options import AGGREGATES, SESSIONS, changelog_topic, repartition_topic
from streams.worker.state.origin import Ids, how_to_begin_anew
from streams.worker.state.store import StoreInspection
from topics.plan import ActualTopic

_NAME = "local state"
_LARGEST = "max.message.bytes"

#: A topic, the id it had, and the one it has; None where the brokers do not report it.
_Replaced = tuple[str, str | None, str | None]


def identity_checks(
    application_id: str, databases: Iterable[Database], ids: Ids, redriven: str = Topic.REDRIVEN
) -> Iterator[Check]:
    """Yield each changelog, or source, that is another one now than databases were made from.

    One finding for all databases of a topic: a worker has two for each partition.
    """
    filled, built = defaultdict[_Replaced, list[Path]](list), defaultdict[_Replaced, list[Path]](list)
    for database in databases:
        found = database.found
        topic = changelog_topic(application_id, database.table)
        if isinstance(found, StoreInspection):
            filled[topic, found.changelog, ids.get(topic)].append(database.path)
        for source, before in database.sources.items():
            built[source, before, ids.get(source)].append(database.path)
    for replaced, paths in filled.items():
        if _differs(replaced):
            yield fail(
                _NAME,
                _said(paths, "filled", replaced),
                "A worker would not start on it. If the topic was deleted on purpose, delete the directory: "
                "the sessions in it start again from the beginning.",
            )
    for replaced, paths in built.items():
        if _differs(replaced):
            tables = (SESSIONS, AGGREGATES)
            internal = [
                repartition_topic(application_id),
                *(changelog_topic(application_id, table) for table in tables),
            ]
            yield fail(
                _NAME,
                _said(paths, "built", replaced),
                "A worker would not start on it: it would take new records for ones that were scored "
                "before. If that was not intended, find out what the producers wrote before you continue. "
                + how_to_begin_anew(application_id, internal, paths[0].parent.parent, redriven),
            )


def _differs(replaced: _Replaced) -> bool:
    _, before, now = replaced
    return before is not None and now is not None and before != now


def _said(paths: Sequence[Path], made: str, replaced: _Replaced) -> str:
    topic, before, now = replaced
    others = f" (and {len(paths) - 1} more)" if len(paths) > 1 else ""
    return (
        f"{paths[0]}{others} was {made} from {topic} with the id {before}; it was deleted and created again, "
        f"and has the id {now}"
    )


def size_checks(described: Iterable[ActualTopic], topic_prefix: str = "") -> Iterator[Check]:
    """Yield where the dead letters' topic takes less than the input's: such a letter would be cut."""
    dead_letters, decision_logs = (
        f"{topic_prefix}{Topic.DEAD_LETTERS}",
        f"{topic_prefix}{Topic.DECISION_LOGS}",
    )
    sizes = {topic.name: topic.config.get(_LARGEST, "") for topic in described}
    letters, inputs = sizes.get(dead_letters, ""), sizes.get(decision_logs, "")
    if letters.isdigit() and inputs.isdigit() and int(letters) <= int(inputs):
        yield warn(
            "topics",
            f"{dead_letters} takes {letters} bytes, {decision_logs} {inputs}: a letter has more "
            "headers than its message, so the largest would be cut",
            f"Raise {_LARGEST} of {dead_letters} well above that of {decision_logs}.",
        )
