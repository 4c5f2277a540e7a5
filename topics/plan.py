"""What to change so that the topics there are become those there should be. Never deletes, never shrinks.

Pure: what the broker has goes in as `ActualTopic`, the changes come out as values for others to apply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from topics.catalogue import Catalogue, Role, TopicSpec

_LISTS = frozenset({"cleanup.policy"})
"""Configs whose order means nothing: brokers may give them back in another one."""

_RAISED = frozenset({"max.message.bytes", "retention.ms"})
"""Configs that operators may raise where the catalogue's value is not enough."""


@dataclass(frozen=True, slots=True)
class ActualTopic:
    """One topic as the broker describes it.

    ``config`` holds the entries in force, brokers' defaults among them; ``overridden`` names those that
    are set on the topic itself.
    """

    name: str
    partitions: int
    replicas: int
    config: Mapping[str, str] = field(hash=False)
    overridden: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """The topic is missing."""

    topic: TopicSpec


@dataclass(frozen=True, slots=True)
class AlterConfig:
    """Some config entries differ.

    ``entries`` are (name, value now or None, wanted value) of all that shall be set on the topic, sorted by
    name, also of those that stay as they are: Kafka's AlterConfigs takes back whatever it is not given.
    """

    topic: str
    entries: tuple[tuple[str, str | None, str], ...]

    @property
    def differing(self) -> tuple[tuple[str, str | None, str], ...]:
        """Those of the entries that change."""
        return tuple(entry for entry in self.entries if not _same(*entry))


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """The topic has too few partitions, and more of them do no harm."""

    topic: str
    now: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A difference that is left alone, and why."""

    topic: str
    why: str


Change = CreateTopic | AlterConfig | AddPartitions | Refused


def plan(desired: Catalogue, actual: Iterable[ActualTopic]) -> tuple[Change, ...]:
    """Return the changes in the order of the catalogue; none when all is as it should be.

    Topics that the catalogue does not know are ignored.
    """
    existing = {topic.name: topic for topic in actual}
    changes: list[Change] = []
    for topic in desired.topics:
        found = existing.get(topic.name)
        if found is None:
            changes.append(_create(topic, existing))
        else:
            changes.extend(_differences(topic, found, desired))
    return tuple(changes)


def render(changes: Iterable[Change]) -> list[str]:
    """Return the plan as lines, one for each thing that changes or is refused."""
    lines = [line for change in changes for line in _lines(change)]
    return lines or ["Nothing to do: the topics are as they should be."]


def _create(topic: TopicSpec, existing: Mapping[str, ActualTopic]) -> Change:
    source = existing.get(topic.co_partitioned_with or "")
    if source is not None and source.partitions != topic.partitions:
        return Refused(
            topic.name,
            f"it would get {topic.partitions} partitions, but {source.name} has {source.partitions},"
            f" and the two must have the same: give `--partitions {source.partitions}`",
        )
    return CreateTopic(topic)


def _differences(topic: TopicSpec, found: ActualTopic, desired: Catalogue) -> Iterable[Change]:
    kept = {name: found.config[name] for name in found.overridden if name in found.config}
    raised = {
        name for name in _RAISED & kept.keys() & topic.config.keys() if _more(kept[name], topic.config[name])
    }
    wanted = sorted({**kept, **topic.config, **{name: kept[name] for name in raised}}.items())
    alter = AlterConfig(topic.name, tuple((name, found.config.get(name), value) for name, value in wanted))
    if alter.differing:
        yield alter
    if found.partitions < topic.partitions:
        why = _growing_harms(topic, desired)
        numbers = f"it has {found.partitions} partitions, {topic.partitions} are wanted, but "
        yield (
            Refused(topic.name, numbers + why)
            if why
            else AddPartitions(topic.name, found.partitions, topic.partitions)
        )
    elif found.partitions > topic.partitions:
        yield Refused(
            topic.name,
            f"it has {found.partitions} partitions, {topic.partitions} are wanted, but Kafka cannot remove"
            f" any: give `--partitions {found.partitions}`",
        )
    if found.replicas != topic.replicas:
        yield Refused(
            topic.name,
            f"replicas {found.replicas} instead of {topic.replicas}: that is a reassignment of data,"
            f" done with kafka-reassign-partitions; to keep them, set EDDY_REPLICAS={found.replicas}",
        )


def _growing_harms(topic: TopicSpec, desired: Catalogue) -> str | None:
    """Say why more partitions would do harm; None when they would not."""
    if topic.co_partitioned_with is not None:
        return f"it must keep the same number as {topic.co_partitioned_with}, whose sessions it follows"
    followers = [other for other in desired.topics if other.co_partitioned_with == topic.name]
    changelogs = [other.name for other in followers if other.internal]
    if changelogs:
        return (
            f"the state of its sessions is kept by partition in {', '.join(changelogs)}: with more partitions"
            " a session would go to one that does not have its state. Create a topic under a new name with"
            " enough partitions and move the producers there"
        )
    if topic.role is Role.CONTROL:
        return "later records of a key would go to another partition, and readers would not see their order"
    if topic.compacted:
        return "it is compacted: the newest record of a key would stay in the old partition for ever"
    return None


def _same(name: str, now: str | None, wanted: str) -> bool:
    if now is not None and name in _LISTS:
        return sorted(part.strip() for part in now.split(",")) == sorted(wanted.split(","))
    return now == wanted


def _more(now: str, wanted: str) -> bool:
    """Tell whether a number is larger than what is wanted; -1 is without an end."""
    return now == "-1" or (now.isdigit() and wanted.isdigit() and int(now) > int(wanted))


def _lines(change: Change) -> Iterable[str]:
    match change:
        case CreateTopic(topic):
            yield f"+ create {topic.name}: {topic.partitions} partitions, {topic.replicas} replicas"
            for name, value in topic.config.items():
                yield f"      {name} = {value}"
        case AlterConfig(name):
            for entry, now, wanted in change.differing:
                yield f"~ alter {name}: {entry} {'(default)' if now is None else now} -> {wanted}"
        case AddPartitions(name, now, wanted):
            yield f"~ grow {name}: {now} -> {wanted} partitions"
        case Refused(name, why):
            yield f"! refused {name}: {why}"
