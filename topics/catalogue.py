"""The topics that there should be: `topics.yaml`, checked, as frozen values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum, unique
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from streams.core.errors import ConfigurationError

TOPICS_FILE = Path(__file__).parent / "topics.yaml"

_Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
_Name = Annotated[str, StringConstraints(pattern=re.compile(r"^[A-Za-z0-9._-]{1,249}$"))]
_Count = Annotated[int, Field(strict=True, ge=1)]
_Word = Annotated[str, StringConstraints(pattern=re.compile(r"^[a-z][a-z_]*$"))]
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]*")


@unique
class Role(StrEnum):
    """What a topic is for the job."""

    INPUT = "input"
    OUTPUT = "output"
    """A run writes to it, under the key of the record."""
    AGGREGATE = "aggregate"
    """The views across sessions."""
    SETTINGS = "settings"
    DEAD_LETTERS = "dead_letters"
    TOOL = "tool"
    """A command writes and reads it, workers do not."""
    BRIDGE = "bridge"
    """`eddy bridge` reads or writes it, the job does not."""
    CONTROL = "control"
    """People, the console and guards write it: what agents are asked to do. No worker does."""
    NOTIFY = "notify"
    """`eddy notify` alone reads and writes it."""
    INTERNAL = "internal"
    """The job alone reads it, and each job has its own."""


@dataclass(frozen=True, slots=True)
class EventSpec:
    """A kind of events.

    Attributes:
        kind: the `event_type`.
        alert_family: whether `alert_families` can switch it off; else it is always published.
        id_fields: the fields at the end of an event's id (specification 7.5).
    """

    kind: str
    alert_family: bool = False
    id_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """One topic as it should be.

    ``config`` holds Kafka's own names and units, values as text. ``value_schema`` is a subject of
    `schemas`, None where the value is not Avro. A topic that is ``co_partitioned_with`` another has its
    number of partitions. ``constant`` is its name in the code; ``schema_number`` is part of the bundled
    ids of its schema.
    """

    name: str
    partitions: int
    replicas: int
    config: Mapping[str, str] = field(hash=False)
    key: str
    value: str
    value_schema: str | None
    written_by: str
    owner: str
    why: str
    constant: str
    role: Role
    schema_number: int | None = None
    co_partitioned_with: str | None = None
    events: tuple[EventSpec, ...] = ()

    @property
    def internal(self) -> bool:
        """Whether the job alone reads it."""
        return self.role is Role.INTERNAL

    @property
    def compacted(self) -> bool:
        """Whether the newest record of a key is kept for ever or for longer than others."""
        return "compact" in self.config.get("cleanup.policy", "delete").split(",")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every topic, in the order of the file."""

    topics: tuple[TopicSpec, ...]

    def __getitem__(self, name: str) -> TopicSpec:
        for topic in self.topics:
            if topic.name == name:
                return topic
        raise KeyError(name)

    @classmethod
    def load(
        cls, file: Path = TOPICS_FILE, *, partitions: int | None = None, replicas: int | None = None
    ) -> Self:
        """Read and check the file.

        ``partitions`` and ``replicas`` replace the defaults of the file, for a cluster of another size. A
        topic with a number of its own keeps it. With fewer replicas ``min.insync.replicas`` becomes one
        less than there are (at least 1), so that one broker may be down.

        >>> Catalogue.load(replicas=1)["decision-logs"].config["min.insync.replicas"]
        '1'

        Raises:
            ConfigurationError: the file cannot be read or is wrong; the message names every place.
        """
        try:
            content = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise ConfigurationError(f"{file}: cannot be read as YAML: {error}") from error
        return cls.from_document(content, str(file), partitions=partitions, replicas=replicas)

    @classmethod
    def from_document(
        cls, document: Any, origin: str, *, partitions: int | None = None, replicas: int | None = None
    ) -> Self:
        """Check a document that has been read already; ``origin`` is how messages call it.

        Raises:
            ConfigurationError: as `load`.
        """
        try:
            parsed = _Document.model_validate(document)
        except ValidationError as error:
            places = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            raise ConfigurationError(f"{origin}: {places}") from error
        topics = tuple(_spec(entry, parsed.defaults, partitions, replicas) for entry in parsed.topics)
        problems = _problems(topics)
        if problems:
            raise ConfigurationError(f"{origin}: {'; '.join(problems)}")
        return cls(topics)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Defaults(_Strict):
    partitions: _Count
    replicas: _Count
    owner: _Text
    config: dict[_Text, str | int] = {}


class _Event(_Strict):
    kind: _Word
    alert_family: bool = False
    id_fields: tuple[_Word, ...] = ()


class _Entry(_Strict):
    name: _Name
    constant: _Text | None = None
    role: Role
    partitions: _Count | None = None
    replicas: _Count | None = None
    config: dict[_Text, str | int] = {}
    key: _Text
    value: _Text
    value_schema: _Text | None
    schema_number: _Count | None = None
    events: tuple[_Event, ...] = ()
    written_by: _Text
    owner: _Text | None = None
    why: _Text
    co_partitioned_with: _Name | None = None


class _Document(_Strict):
    defaults: _Defaults
    topics: list[_Entry]


def _spec(entry: _Entry, defaults: _Defaults, partitions: int | None, replicas: int | None) -> TopicSpec:
    config = {name: str(value) for name, value in (defaults.config | entry.config).items()}
    copies = entry.replicas or replicas or defaults.replicas
    in_sync = config.get("min.insync.replicas")
    if in_sync is not None and in_sync.isdigit() and int(in_sync) >= copies:
        config["min.insync.replicas"] = str(max(1, copies - 1))
    return TopicSpec(
        name=entry.name,
        partitions=entry.partitions or partitions or defaults.partitions,
        replicas=copies,
        config=MappingProxyType(dict(sorted(config.items()))),
        key=entry.key,
        value=entry.value,
        value_schema=entry.value_schema,
        written_by=entry.written_by,
        owner=entry.owner or defaults.owner,
        why=entry.why,
        constant=entry.constant or re.sub(r"\W", "_", entry.name).upper(),
        role=entry.role,
        schema_number=entry.schema_number,
        co_partitioned_with=entry.co_partitioned_with,
        events=tuple(EventSpec(event.kind, event.alert_family, event.id_fields) for event in entry.events),
    )


def _problems(topics: tuple[TopicSpec, ...]) -> list[str]:
    by_name = {topic.name: topic for topic in topics}
    problems = [f"{name} is there twice" for name in _twice(topic.name for topic in topics)]
    problems += [f"{kind} is there twice" for kind in _twice(e.kind for t in topics for e in t.events)]
    problems += [f"constant {name} is given twice" for name in _twice(t.constant for t in topics)]
    problems += [
        f"{topic.name} needs a constant of A to Z, 0 to 9 and _, not {topic.constant}"
        for topic in topics
        if not _CONSTANT.fullmatch(topic.constant)
    ]
    numbers = [topic.schema_number for topic in topics if topic.schema_number is not None]
    problems += [f"schema_number {number} is given twice" for number in _twice(numbers)]
    problems += [
        f"{topic.name} needs schema_number with value_schema, and neither without the other"
        for topic in topics
        if (topic.value_schema is None) != (topic.schema_number is None)
    ]
    for topic in topics:
        if topic.co_partitioned_with is None:
            continue
        other = by_name.get(topic.co_partitioned_with)
        if other is None:
            problems.append(
                f"{topic.name} is co-partitioned with {topic.co_partitioned_with}, which is missing"
            )
        elif other.partitions != topic.partitions:
            problems.append(
                f"{topic.name} has {topic.partitions} partitions, but {other.partitions} are needed"
                f" to be co-partitioned with {other.name}"
            )
    return problems


def _twice(values: Iterable[Hashable]) -> list[Hashable]:
    return [value for value, count in Counter(values).items() if count > 1]
