"""Which topics the console reads, from where on, and which rows come from them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import Final, NamedTuple

from streams.console.read_model import tables
from streams.console.read_model.tables import RowTable
from streams.core.domain.topic import Topic


class ReadStart(Enum):
    """Where the reading of a topic begins."""

    NEWEST_FIRST = auto()
    """A few minutes ago; what came before is read backwards, as far as history goes."""
    FROM_BEGINNING = auto()
    """The topic is compacted or small, and what it holds counts whatever its age."""


#: How each topic is read.
READ_PLAN: Final[Mapping[Topic, ReadStart]] = MappingProxyType(
    dict.fromkeys(
        (
            Topic.SESSION_ALERTS,
            Topic.ENTROPY_ALERTS,
            Topic.ENRICHED,
            Topic.SHADOW_DIFFERENCES,
            Topic.DEAD_LETTERS,
        ),
        ReadStart.NEWEST_FIRST,
    )
    | dict.fromkeys(
        (
            Topic.SESSION_COMMANDS,
            Topic.SESSION_COMMAND_ACKS,
            Topic.CONSOLE_ACTIONS,
            Topic.INTERVENTION_POLICY,
            Topic.TOPOLOGY,
            Topic.SESSION_BUDGETS,
            Topic.SESSION_RESPONSES,
            Topic.AGENT_HEALTH,
            Topic.TASK_PROFILES,
            Topic.REDRIVEN,
            Topic.DETECTOR_CONFIG,
            Topic.SHADOW_CONFIG,
        ),
        ReadStart.FROM_BEGINNING,
    )
)


class TopicGroup(NamedTuple):
    """Topics whose records are folded into the same tables: if one is created again, all are read again."""

    topics: frozenset[Topic]
    tables: tuple[RowTable, ...]


SOURCES: Final = (
    TopicGroup(
        frozenset(
            {
                Topic.ENRICHED,
                Topic.SESSION_ALERTS,
                Topic.ENTROPY_ALERTS,
                Topic.TOPOLOGY,
                Topic.SESSION_BUDGETS,
                Topic.SESSION_RESPONSES,
                Topic.SESSION_COMMANDS,
                Topic.SESSION_COMMAND_ACKS,
            }
        ),
        (
            tables.SESSION,
            tables.EPISODE,
            tables.FINDING,
            tables.COMMAND,
            tables.ACK,
            tables.GUARD,
        ),
    ),
    TopicGroup(frozenset({Topic.CONSOLE_ACTIONS}), (tables.ACTION, tables.TRIAGE)),
    TopicGroup(frozenset({Topic.DEAD_LETTERS, Topic.REDRIVEN}), (tables.LETTER, tables.REDRIVEN)),
    TopicGroup(frozenset({Topic.AGENT_HEALTH}), (tables.HEALTH,)),
    TopicGroup(frozenset({Topic.TASK_PROFILES}), (tables.PROFILE,)),
    TopicGroup(frozenset({Topic.SHADOW_DIFFERENCES}), (tables.DIFFERENCE, tables.SHADOW)),
    TopicGroup(
        frozenset({Topic.DETECTOR_CONFIG, Topic.SHADOW_CONFIG, Topic.INTERVENTION_POLICY}), (tables.VERSION,)
    ),
)
