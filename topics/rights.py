"""What each process of Eddy may do on brokers with access control: the least that it needs."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum, unique
from typing import NamedTuple

from topics.catalogue import Role, TopicSpec


@unique
class ResourceKind(StrEnum):
    """What a right is about, as Strimzi writes it."""

    TOPIC = "topic"
    GROUP = "group"
    TRANSACTIONAL_ID = "transactionalId"


class Right(NamedTuple):
    """What may be done with some resources.

    Attributes:
        kind: What they are.
        names: Their names, or with ``prefixed`` how their names begin.
        operations: As Kafka calls them. Read and Write include Describe.
        prefixed: Whether it is about all whose names begin so.
    """

    kind: ResourceKind
    names: tuple[str, ...]
    operations: tuple[str, ...]
    prefixed: bool = False


_READ, _WRITE, _DESCRIBE = ("Read",), ("Write",), ("Describe",)


def worker_rights(topics: Iterable[TopicSpec], job: str, own: str) -> list[Right]:
    """Return the rights of a worker.

    Args:
        topics: Those of the catalogue, under their names on the brokers.
        job: The id of the consumer group.
        own: How the names of what the job alone reads begin.
    """
    named = tuple(topics)
    written = _named(named, Role.OUTPUT, Role.AGGREGATE, Role.DEAD_LETTERS)
    return _of_job(_named(named, Role.INPUT, Role.SETTINGS), written, job, own)


def bridge_rights(topics: Iterable[TopicSpec], job: str, own: str) -> list[Right]:
    """Return the rights of a bridge, by the same arguments as `worker_rights`, with names of its own."""
    named = tuple(topics)
    spans, letters = _named(named, Role.BRIDGE)
    return _of_job((spans,), (*_named(named, Role.INPUT), letters), job, own)


def notifier_rights(topics: Iterable[TopicSpec], group: str) -> list[Right]:
    """Return the rights of a notifier; ``group`` is the id of its consumer group."""
    named = tuple(topics)
    letters, state = _named(named, Role.NOTIFY)
    return [
        _topics(_READ, _one(named, "SESSION_ALERTS"), _one(named, "SESSION_LABELS"), state),
        _topics(_WRITE, letters, state),
        Right(ResourceKind.GROUP, (group,), _READ),
    ]


def viewer_rights(topics: Iterable[TopicSpec], job: str) -> list[Right]:
    """Return the rights of a console whose users look and do nothing.

    Args:
        topics: Those of the catalogue, under their names on the brokers.
        job: The id of the consumer group of the workers.
    """
    unread = {Role.BRIDGE, Role.NOTIFY, Role.INTERNAL}
    read = [each.name for each in topics if each.role not in unread and each.constant != "SESSION_LABELS"]
    return [_topics(_READ, *read), Right(ResourceKind.GROUP, (job,), _DESCRIBE)]


def operator_rights(topics: Iterable[TopicSpec]) -> list[Right]:
    """Return what a console needs besides, whose users act."""
    named = tuple(topics)
    commands, _, actions, policy, labels = _named(named, Role.CONTROL)
    return [_topics(_WRITE, commands, actions, policy, labels, *_named(named, Role.SETTINGS))]


def redrive_rights(topics: Iterable[TopicSpec]) -> list[Right]:
    """Return what a console needs besides, whose users send dead letters again."""
    named = tuple(topics)
    return [_topics(_WRITE, *_named(named, Role.INPUT), *_named(named, Role.TOOL))]


def http_guard_rights(topics: Iterable[TopicSpec]) -> list[Right]:
    """Return what a console needs besides, to which guards talk by HTTP."""
    return [_topics(_WRITE, _named(tuple(topics), Role.CONTROL)[1])]


def guard_rights(topics: Iterable[TopicSpec]) -> list[Right]:
    """Return the rights of a guard that uses Kafka."""
    commands, acks, *_ = _named(tuple(topics), Role.CONTROL)
    return [_topics(_READ, commands, acks), _topics(_WRITE, acks)]


def forget_rights(topics: Iterable[TopicSpec], own: str) -> list[Right]:
    """Return the rights of who has sessions forgotten; the workers' own topics begin with ``own``."""
    named = tuple(topics)
    *_, actions, _, labels = _named(named, Role.CONTROL)
    about = ("SESSION_BUDGETS", "SESSION_RESPONSES", "TOPOLOGY", "SESSION_ALERTS", "ENTROPY_ALERTS")
    read = [_one(named, each) for each in about]
    return [
        _topics(_WRITE, *_named(named, Role.INPUT), actions, labels),
        _topics(_READ, *read, labels, *_named(named, Role.DEAD_LETTERS)),
        _topics(
            ("Describe", "DescribeConfigs"), *(each.name for each in named if each.role is not Role.INTERNAL)
        ),
        Right(ResourceKind.TOPIC, (own,), ("Read", "DescribeConfigs"), prefixed=True),
    ]


def _of_job(read: tuple[str, ...], written: tuple[str, ...], job: str, own: str) -> list[Right]:
    return [
        _topics(_READ, *read),
        _topics(("Write", "DescribeConfigs"), *written),
        Right(ResourceKind.TOPIC, (own,), ("Read", "Write", "DescribeConfigs"), prefixed=True),
        Right(ResourceKind.GROUP, (job,), _READ),
        Right(ResourceKind.TRANSACTIONAL_ID, (own,), ("Write", "Describe"), prefixed=True),
    ]


def _topics(operations: tuple[str, ...], *names: str) -> Right:
    return Right(ResourceKind.TOPIC, names, operations)


def _named(topics: Iterable[TopicSpec], *roles: Role) -> tuple[str, ...]:
    return tuple(each.name for each in topics if each.role in roles)


def _one(topics: Iterable[TopicSpec], constant: str) -> str:
    return next(each.name for each in topics if each.constant == constant)
