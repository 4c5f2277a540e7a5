"""What documents have of `topics.yaml`: tables in Markdown, each between two marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from topics.catalogue import Role, TopicSpec

RIGHTS_DOCUMENT = "docs/exactly-once.md"
BRIDGE_DOCUMENT = "docs/bridge.md"
CONTROL_DOCUMENT = "docs/control.md"
NOTIFY_DOCUMENT = "docs/notify.md"
TOPICS_DOCUMENT = "docs/getting-started.md"

_DAY_MS = 24 * 60 * 60 * 1000


def rights(topics: Iterable[TopicSpec]) -> list[str]:
    """Return the table of the rights that a worker needs, as lines of Markdown."""
    named = tuple(topics)
    read = _names(named, Role.INPUT, Role.SETTINGS)
    written = _names(named, Role.OUTPUT, Role.AGGREGATE, Role.DEAD_LETTERS)
    own = "`EDDY_TOPIC_PREFIX` + `EDDY_APPLICATION_ID`"
    return _rights(read, written, group=own, prefix=f"{own} + `-`")


def bridge_rights(topics: Iterable[TopicSpec]) -> list[str]:
    """Return the table of the rights that a bridge needs, as lines of Markdown."""
    source, letters = (topic for topic in topics if topic.role is Role.BRIDGE)
    own = "`EDDY_TOPIC_PREFIX` + `EDDY_APPLICATION_ID` + `-bridge`"
    written = f"`decision-logs`, `{letters.name}`"
    return _rights(f"`{source.name}`", written, group=own, prefix=f"{own} + `-`")


def control_rights(topics: Iterable[TopicSpec]) -> list[str]:
    """Return the table of the rights of a console, of `eddy session` and of a guard, as lines of Markdown."""
    named = tuple(topics)
    commands, acks, actions, policy, labels = (
        f"`{each.name}`" for each in named if each.role is Role.CONTROL
    )
    settings = _names(named, Role.SETTINGS)
    unread = [each for each in named if f"`{each.name}`" != labels]
    read = _names(unread, *(role for role in Role if role not in {Role.BRIDGE, Role.NOTIFY, Role.INTERNAL}))
    source = _names(named, Role.INPUT)
    redriven = _names(named, Role.TOOL)
    group = "`EDDY_TOPIC_PREFIX` + `EDDY_APPLICATION_ID`"
    return [
        "| for | resource | name | operations |",
        "|---|---|---|---|",
        f"| a console of viewers | topic | {read} | Read |",
        f"| a console of viewers | group | {group} | Describe |",
        (
            "| a console of operators, besides | topic "
            f"| {commands}, {actions}, {policy}, {labels}, {settings} | Write |"
        ),
        f"| a console that redrives, besides | topic | {source}, {redriven} | Write |",
        f"| a console for guards that use HTTP, besides | topic | {acks} | Write |",
        f"| eddy session | topic | {commands}, {actions} | Write |",
        f"| eddy session | topic | {commands}, {acks} | Read |",
        f"| eddy label | topic | {actions}, {labels} | Write |",
        "| eddy label | topic | `session-alerts` | Read |",
        f"| eddy evaluate --labels | topic | {labels} | Read |",
        f"| a guard that uses Kafka | topic | {commands}, {acks} | Read |",
        f"| a guard that uses Kafka | topic | {acks} | Write |",
    ]


def notify_rights(topics: Iterable[TopicSpec]) -> list[str]:
    """Return the table of the rights that a notifier needs, as lines of Markdown."""
    named = tuple(topics)
    letters, state = (f"`{each.name}`" for each in named if each.role is Role.NOTIFY)
    return [
        "| resource | name | operations |",
        "|---|---|---|",
        f"| topic | `session-alerts`, `session-labels`, {state} | Read |",
        f"| topic | {letters}, {state} | Write |",
        "| group | `EDDY_TOPIC_PREFIX` + `EDDY_NOTIFY_GROUP` | Read |",
    ]


def _rights(read: str, written: str, *, group: str, prefix: str) -> list[str]:
    return [
        "| resource | name | operations |",
        "|---|---|---|",
        f"| topic | {read} | Read |",
        f"| topic | {written} | Write, DescribeConfigs |",
        f"| topic, prefixed | {prefix} | Read, Write, DescribeConfigs |",
        f"| group | {group} | Read |",
        f"| transactional id, prefixed | {prefix} | Write, Describe |",
    ]


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
        BRIDGE_DOCUMENT: ("rights of a bridge", bridge_rights),
        CONTROL_DOCUMENT: ("rights of the control loop", control_rights),
        NOTIFY_DOCUMENT: ("rights of a notifier", notify_rights),
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


def _names(topics: Iterable[TopicSpec], *roles: Role) -> str:
    return ", ".join(f"`{topic.name}`" for topic in topics if topic.role in roles)


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
