"""What the code and the documents derive from `topics.yaml`: names, routes, ids, schema numbers, tables.

The core reads no files, so it gets modules that are written from the catalogue. `python -m topics` writes
them, and a test compares them with the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from topics.catalogue import Catalogue, EventSpec, Role, TopicSpec
from topics.documents import renewed

#: What each place is made of, by its path in the repository.
TOPIC_MODULE = "streams/core/domain/topic.py"
EVENT_MODULE = "streams/core/domain/event_kind.py"
SCHEMA_MODULE = "schemas/numbers.py"

_HEAD = "# Written by `python -m topics` from topics/topics.yaml: change that file, not this one."


def derived(catalogue: Catalogue, documents: Mapping[str, str]) -> dict[str, str]:
    """Return the whole text of each place.

    Args:
        catalogue: The topics.
        documents: The texts of documents that are derived in part, by path.
    """
    return {
        TOPIC_MODULE: topic_module(catalogue.topics),
        EVENT_MODULE: event_module(catalogue.topics),
        SCHEMA_MODULE: schema_module(catalogue.topics),
        **{path: renewed(path, text, catalogue.topics) for path, text in documents.items()},
    }


def topic_module(topics: Iterable[TopicSpec]) -> str:
    """Return the module of topic names."""
    named = [topic for topic in topics if not topic.internal or topic.constant == "REPARTITION"]
    names = [f'    {topic.constant} = "{topic.name}"' for topic in named]
    return _module(
        '"""The topics Eddy reads and writes, by name (specification 1.7)."""',
        "from enum import StrEnum",
        "class Topic(StrEnum):",
        '    """A topic name. Settings of the topics themselves are in `topics/topics.yaml`.',
        "",
        "    `REPARTITION` belongs to one job: on the brokers its name begins with the application id.",
        '    """',
        "",
        *names,
        "",
        "",
        "#: What a run may publish, dead letters aside; all of it under the key of the record.",
        *_tuple("OUTPUTS", named, Role.OUTPUT),
        "",
        "#: The views across sessions.",
        *_tuple("AGGREGATES", named, Role.AGGREGATE),
        "",
        "#: What a worker reads besides its input.",
        *_tuple("SETTINGS", named, Role.SETTINGS),
        "",
        "#: What people, the console and guards write and read, and no worker.",
        *_tuple("CONTROL", named, Role.CONTROL),
    )


def event_module(topics: Iterable[TopicSpec]) -> str:
    """Return the module of event kinds."""
    kinds = [(event, topic) for topic in topics for event in topic.events]
    families = [f"    EventKind.{event.kind.upper()}," for event, _ in kinds if event.alert_family]
    return _module(
        '"""The kinds of events, and where each goes (specification 7.1, 7.4, 7.5)."""',
        "from collections.abc import Mapping\nfrom enum import StrEnum\n"
        "from types import MappingProxyType\n\nfrom streams.core.domain.topic import Topic",
        "class EventKind(StrEnum):",
        '    """The `event_type` of an event. Members are in the order in which one record emits them."""',
        "",
        *(f'    {event.kind.upper()} = "{event.kind}"' for event, _ in kinds),
        "",
        "",
        "#: The topic of each kind.",
        "TOPIC_OF: Mapping[EventKind, Topic] = MappingProxyType(",
        "    {",
        *(f"        EventKind.{event.kind.upper()}: Topic.{topic.constant}," for event, topic in kinds),
        "    }",
        ")",
        "",
        "#: The kinds that the setting `alert_families` can switch off; all others are always published.",
        "ALERT_FAMILIES = (",
        *families,
        ")",
        "",
        "#: The fields at the end of an event's id.",
        "ID_FIELDS: Mapping[EventKind, tuple[str, ...]] = MappingProxyType(",
        "    {",
        *(f"        EventKind.{event.kind.upper()}: {_fields(event)}," for event, _ in kinds),
        "    }",
        ")",
    )


def schema_module(topics: Iterable[TopicSpec]) -> str:
    """Return the module of the numbers of subjects."""
    numbered = sorted((topic.schema_number, topic) for topic in topics if topic.schema_number is not None)
    inputs = [f'"{topic.value_schema}"' for _, topic in numbered if topic.role is Role.INPUT]
    control = [f'    "{topic.value_schema}",' for _, topic in numbered if topic.role is Role.CONTROL]
    return _module(
        '"""The subjects of the bundled schemas, and the numbers that are part of their ids."""',
        "",
        "SUBJECT_NUMBERS = {",
        *(f'    "{topic.value_schema}": {number},' for number, topic in numbered),
        "}",
        "",
        "#: The subjects that producers write with.",
        f"INPUT_SUBJECTS = ({', '.join(inputs)},)",
        "",
        "#: The subjects of the control loop: people, the console and guards write them, no worker does.",
        "CONTROL_SUBJECTS = (",
        *control,
        ")",
    )


def _fields(event: EventSpec) -> str:
    inside = ", ".join(f'"{name}"' for name in event.id_fields)
    return f"({inside},)" if len(event.id_fields) == 1 else f"({inside})"


def _tuple(name: str, topics: Iterable[TopicSpec], role: Role) -> list[str]:
    """The lines of a tuple of topics. It is a tuple with one topic too, and ruff leaves it as it is."""
    return [f"{name} = (", *(f"    Topic.{topic.constant}," for topic in topics if topic.role is role), ")"]


def _module(docstring: str, imports: str, *lines: str) -> str:
    parts = [docstring, _HEAD, "from __future__ import annotations"]
    head = "\n\n".join([*parts, *([imports] if imports else [])])
    gap = "\n\n\n" if lines[0].startswith("class ") else "\n\n"
    return head + gap + "\n".join(lines) + "\n"
