"""What documents have of `topics.yaml`: tables in Markdown, each between two marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from topics.catalogue import Role, TopicSpec
from topics.rights import (
    ResourceKind,
    Right,
    bridge_rights,
    forget_rights,
    guard_rights,
    http_guard_rights,
    notifier_rights,
    operator_rights,
    redrive_rights,
    viewer_rights,
    worker_rights,
)

RIGHTS_DOCUMENT = "docs/exactly-once.md"
BRIDGE_DOCUMENT = "docs/bridge.md"
CONTROL_DOCUMENT = "docs/control.md"
NOTIFY_DOCUMENT = "docs/notify.md"
TOPICS_DOCUMENT = "docs/getting-started.md"

_DAY_MS = 24 * 60 * 60 * 1000


_JOB = "EDDY_TOPIC_PREFIX + EDDY_APPLICATION_ID"
"""Names that settings make are written as sums of them."""

_HEAD = ("| resource | name | operations |", "|---|---|---|")


def rights(topics: Iterable[TopicSpec]) -> list[str]:
    """Return the table of the rights that a worker needs, as lines of Markdown."""
    return [*_HEAD, *map(_row, worker_rights(topics, _JOB, f"{_JOB} + -"))]


def _bridge(topics: Iterable[TopicSpec]) -> list[str]:
    own = f"{_JOB} + -bridge"
    return [*_HEAD, *map(_row, bridge_rights(topics, own, f"{own} + -"))]


def _notifier(topics: Iterable[TopicSpec]) -> list[str]:
    return [*_HEAD, *map(_row, notifier_rights(topics, "EDDY_TOPIC_PREFIX + EDDY_NOTIFY_GROUP"))]


def _control(topics: Iterable[TopicSpec]) -> list[str]:
    """Return the table of the rights of a console, of commands and of a guard, as lines of Markdown."""
    named = tuple(topics)
    commands, acks, actions, _, labels = (each.name for each in named if each.role is Role.CONTROL)
    topic, read, write = ResourceKind.TOPIC, ("Read",), ("Write",)
    needed: Mapping[str, Iterable[Right]] = {
        "a console of viewers": viewer_rights(named, _JOB),
        "a console of operators, besides": operator_rights(named),
        "a console that redrives, besides": redrive_rights(named),
        "a console for guards that use HTTP, besides": http_guard_rights(named),
        "eddy session": [Right(topic, (commands, actions), write), Right(topic, (commands, acks), read)],
        "eddy label": [Right(topic, (actions, labels), write), Right(topic, ("session-alerts",), read)],
        "eddy forget": forget_rights(named, f"{_JOB} + -"),
        "eddy evaluate --labels": [Right(topic, (labels,), read)],
        "a guard that uses Kafka": guard_rights(named),
    }
    return [
        "| for | resource | name | operations |",
        "|---|---|---|---|",
        *(f"| {who} {_row(right)}" for who, each in needed.items() for right in each),
    ]


def _row(right: Right) -> str:
    kind = "transactional id" if right.kind is ResourceKind.TRANSACTIONAL_ID else right.kind
    names = ", ".join(f"`{each.replace(' + ', '` + `')}`" for each in right.names)
    return f"| {kind}{', prefixed' if right.prefixed else ''} | {names} | {', '.join(right.operations)} |"


def topic_table(topics: Iterable[TopicSpec]) -> list[str]:
    """Return the table of all topics but those that are internal to a job, as lines of Markdown."""
    return [
        "| topic | key | events | partitions | keeps | written by |",
        "|---|---|---|---|---|---|",
        *(
            f"| `{topic.name}` | {topic.key} | {_kinds(topic)}"
            f" | {topic.partitions} | {_keeps(topic)} | {topic.written_by} |"
            for topic in topics
            if not topic.internal
        ),
    ]


#: The document of each table, what its mark calls it, and what makes it.
_TABLES: Mapping[str, tuple[str, Callable[[Iterable[TopicSpec]], list[str]]]] = MappingProxyType(
    {
        RIGHTS_DOCUMENT: ("rights of a worker", rights),
        BRIDGE_DOCUMENT: ("rights of a bridge", _bridge),
        CONTROL_DOCUMENT: ("rights of the control loop", _control),
        NOTIFY_DOCUMENT: ("rights of a notifier", _notifier),
        TOPICS_DOCUMENT: ("topics", topic_table),
    }
)
DOCUMENTS = tuple(_TABLES)


def renewed(path: str, document: str, topics: Iterable[TopicSpec]) -> str:
    """Return a document with its table as the topics give it now.

    Raises:
        ValueError: the document does not have the marks of its table exactly once.
    """
    name, table = _TABLES[path]
    mark = f"<!-- {name}: `python -m topics` -->"
    lines = [mark, *table(topics), "<!-- end -->"]

    def indented(found: re.Match[str]) -> str:
        return "\n".join(f"{found[1]}{line}" for line in lines)

    text, places = re.subn(rf"( *){re.escape(mark)}\n.*?<!-- end -->", indented, document, flags=re.DOTALL)
    if places != 1:
        raise ValueError(f"{path} has the marks of the table '{name}' {places} times, 1 is needed")
    return text


def _kinds(topic: TopicSpec) -> str:
    return ", ".join(f"`{event.kind}`" for event in topic.events) or "-"


def _keeps(topic: TopicSpec) -> str:
    age = _days(topic, "retention.ms")
    if not topic.compacted:
        return age or "as long as the brokers' default"
    if every := _days(topic, "min.compaction.lag.ms"):
        return f"every record for {every}, then the newest of each key"
    return "the newest of each key" + (f", for {age}" if age else "")


def _days(topic: TopicSpec, entry: str) -> str | None:
    value = topic.config.get(entry)
    if value is None:
        return None
    days = int(value) / _DAY_MS
    return f"{days:g} day" if days == 1 else f"{days:g} days"
