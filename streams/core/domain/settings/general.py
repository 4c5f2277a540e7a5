"""What holds for all detectors alike: which records count, what is published, how long a state is kept."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from streams.core.domain.event_kind import ALERT_FAMILIES
from streams.core.domain.level import Level
from streams.core.domain.settings.setting import OrderedGroup, flag, number, setting, subset, whole, word

_YEAR_MS = 31_536_000_000
_DAY_MS = 86_400_000
_HOUR_MS = 3_600_000
_MINUTE_MS = 60_000

STATUSES = ("success", "failure", "pending", "skipped")
"""The statuses of an action (specification 2.1)."""

_FAMILIES = tuple(kind.value for kind in ALERT_FAMILIES)


class NodeStateSource(StrEnum):
    """What colours the node of a session (specification 7.3)."""

    uniqueness = "uniqueness"
    verdict = "verdict"
    max = "max"


@dataclass(frozen=True, kw_only=True)
class GeneralSettings:
    """The settings that every detector may read.

    ``version`` counts documents; 0 is the built-in defaults before any document (specification 4.4).
    """

    ordered_groups: ClassVar[tuple[OrderedGroup, ...]] = (OrderedGroup(("handover_warn", "handover_loop")),)
    """Settings of this class, not of its bases, whose values must rise together (specification 4.2)."""

    version: int = 0

    score_statuses: tuple[str, ...] = setting(
        ("success", "failure", "pending", "skipped"),
        subset(STATUSES),
        "Statuses of the records that the scores count.",
    )
    session_ttl_ms: int = setting(
        _DAY_MS,
        whole(0, _YEAR_MS),
        "Silence after which a session's state is removed, ms; 0 keeps it for ever.",
    )
    state_grace_ms: int = setting(
        _DAY_MS, whole(0, _YEAR_MS), "How late a record may be and still find its session's state, ms."
    )
    max_future_ms: int = setting(
        _HOUR_MS, whole(0, _YEAR_MS), "How far a record may be ahead of its Kafka timestamp, ms; 0 is off."
    )
    alert_families: tuple[str, ...] = setting(
        _FAMILIES,
        subset(_FAMILIES),
        "Events that are published as alerts.",
    )
    alert_every_record: bool = setting(
        True, flag(), "Publish an entropy alert for each LOOP record, not only on entry."
    )
    alert_heartbeat_records: int = setting(
        10, whole(0, 100_000), "LOOP records between two repeats of an alert; 0 repeats none."
    )
    topology_every_record: bool = setting(
        True, flag(), "Publish the state of a bad node with each record, not only on change."
    )
    node_state_source: NodeStateSource = setting(
        NodeStateSource.uniqueness,
        word(NodeStateSource),
        "What colours a session's node: the ratio, the verdict, or the worse of both.",
    )
    episode_min_level: Level = setting(
        Level.LOOP, word((Level.WARNING, Level.LOOP)), "Level from which on an episode is published."
    )
    handover_warn: int = setting(
        3, whole(2, 16), "Rounds of two sessions that hand each other the same task, for WARNING."
    )
    handover_loop: int = setting(
        6, whole(2, 16), "Rounds of two sessions that hand each other the same task, for LOOP."
    )
    silence_ms: int = setting(
        20 * _MINUTE_MS,
        whole(0, _YEAR_MS),
        "How long a session that owes a step is quiet at least until it counts as silent, ms; 0 is off.",
    )
    silence_habit: int = setting(
        4, whole(2, 1_000), "Times the gap that 95 of 100 steps of a session keep within until it is silent."
    )
    silence_attended: bool = setting(
        False,
        flag(),
        "Tell the silence of sessions in which a person has spoken after the first record, too.",
    )
    spend_tokens_per_minute: int = setting(
        0,
        whole(0, 10**12),
        "Tokens a minute, in the mean of five minutes, that are too many; 0 is off.",
    )
    spend_cost: float = setting(
        0.0,
        number(0.0, 1e9),
        "Cost of a session, in the currency of its producer, that is too much; 0 is off.",
    )
    spend_times_kind: int = setting(
        10,
        whole(0, 1_000),
        "Times the tokens of a mean completed task of its type that are too many; 0 is off.",
    )
