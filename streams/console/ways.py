"""Which topics the console reads, from where on, and which rows come from them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import Final, NamedTuple

from streams.console.read_model import tables
from streams.console.read_model.table import Table
from streams.core.domain.topic import Topic


class Way(Enum):
    """Where the reading of a topic begins."""

    NEWEST_FIRST = auto()
    """A few minutes ago; what came before is read backwards, as far as history goes."""
    FROM_BEGINNING = auto()
    """The topic is compacted or small, and what it holds counts whatever its age."""


#: How each topic is read.
WAYS: Final[Mapping[Topic, Way]] = MappingProxyType(
    dict.fromkeys(
        (
            Topic.SESSION_ALERTS,
            Topic.ENTROPY_ALERTS,
            Topic.ENRICHED,
            Topic.SHADOW_DIFFERENCES,
            Topic.DEAD_LETTERS,
        ),
        Way.NEWEST_FIRST,
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
        Way.FROM_BEGINNING,
    )
)


class Source(NamedTuple):
    """Topics whose records are folded into the same tables: if one is created again, all are read again."""

    topics: frozenset[Topic]
    tables: tuple[Table, ...]


SOURCES: Final = (
    Source(
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
        (tables.SESSION, tables.EPISODE, tables.FINDING, tables.COMMAND, tables.ACK, tables.GUARD),
    ),
    Source(frozenset({Topic.CONSOLE_ACTIONS}), (tables.ACTION, tables.TRIAGE)),
    Source(frozenset({Topic.DEAD_LETTERS, Topic.REDRIVEN}), (tables.LETTER, tables.REDRIVEN)),
    Source(frozenset({Topic.AGENT_HEALTH}), (tables.HEALTH,)),
    Source(frozenset({Topic.TASK_PROFILES}), (tables.PROFILE,)),
    Source(frozenset({Topic.SHADOW_DIFFERENCES}), (tables.DIFFERENCE, tables.SHADOW)),
    Source(
        frozenset({Topic.DETECTOR_CONFIG, Topic.SHADOW_CONFIG, Topic.INTERVENTION_POLICY}), (tables.VERSION,)
    ),
)
