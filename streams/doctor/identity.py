"""Whether topics are the ones that local state was built from, and take what the job writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streams.doctor.check import Check, fail, warn
from streams.doctor.state import Database
from streams.domain.topic import Topic
from streams.engine.options import changelog_topic, changelogs, repartition_topic
from streams.engine.origin import Ids, how_to_begin_anew
from streams.engine.store import StoreLook
from topics.plan import ActualTopic

_LARGEST = "max.message.bytes"


def identity_checks(application_id: str, databases: Iterable[Database], ids: Ids) -> Iterator[Check]:
    """Yield the databases of a changelog, or of a source, which is another one now."""
    name = "local state"
    for database in databases:
        found = database.found
        topic = changelog_topic(application_id, database.table)
        now = ids.get(topic)
        if isinstance(found, StoreLook) and None not in (found.changelog, now) and found.changelog != now:
            yield fail(
                name,
                f"{database.path} was filled from {topic} with the id {found.changelog}; it was deleted and "
                f"created again, and has the id {now}",
                "A worker would not start on it. If the topic was deleted on purpose, delete the directory: "
                "the sessions in it begin anew.",
            )
        for source, before in database.sources.items():
            current = ids.get(source)
            if before is not None and current is not None and before != current:
                internal = [repartition_topic(application_id), *changelogs(application_id).values()]
                yield fail(
                    name,
                    f"{database.path} was built from {source} with the id {before}; it was deleted and "
                    f"created again, and has the id {current}",
                    "A worker would not start on it: it would take new records for ones that were scored "
                    "before. If nobody meant to, find out what the producers wrote before you go on. "
                    + how_to_begin_anew(application_id, internal, database.path.parent.parent),
                )


def size_checks(described: Iterable[ActualTopic]) -> Iterator[Check]:
    """Yield where the dead letters' topic takes less than the input's: such a letter would be cut."""
    sizes = {topic.name: topic.config.get(_LARGEST, "") for topic in described}
    letters, inputs = sizes.get(Topic.DEAD_LETTERS, ""), sizes.get(Topic.DECISION_LOGS, "")
    if letters.isdigit() and inputs.isdigit() and int(letters) <= int(inputs):
        yield warn(
            "topics",
            f"{Topic.DEAD_LETTERS} takes {letters} bytes, {Topic.DECISION_LOGS} {inputs}: a letter has more "
            "headers than its message, so the largest would be cut",
            f"Raise {_LARGEST} of {Topic.DEAD_LETTERS} well above that of {Topic.DECISION_LOGS}.",
        )
