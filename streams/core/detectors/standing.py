"""Where a session stands in the eyes of one detector: what it scores, and how near its rules are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from streams.core.domain.level import Level


@dataclass(frozen=True, slots=True)
class RuleCount:
    """What a rule counts after the last record, and from which count on it fires.

    Attributes:
        rule: name of the rule that counts.
        count: what it counts, or its score; 0 if the last record does not count for it.
        warn: from what count or score on the rule gives WARNING.
        loop: from what count or score on it gives LOOP, None if it never does.
        level: what it gives now.
        tool: the tool it counts, None if it counts no tool or several.
        period: records of one repetition, None for a rule without repetitions.
    """

    rule: str
    count: float
    warn: float
    loop: float | None
    level: str
    tool: str | None = None
    period: int | None = None


class DetectorStanding(NamedTuple):
    """What a detector says of a session from its state alone, JSON-able.

    Attributes:
        scores: its scores after the last record by name, empty if it has none.
        rules: its rules that count something.
        episode: the open episode of a judge, with its ``level``; None if none is open.
    """

    scores: Mapping[str, Any] = {}
    rules: tuple[RuleCount, ...] = ()
    episode: Mapping[str, Any] | None = None


def score_rule(rule: str, count: int, limit: int, tool: str | None = None) -> RuleCount:
    """Return the count of a rule that has one limit and never gives LOOP.

    >>> score_rule("A3:test_fail_loop", 3, 3).level
    'WARNING'
    """
    level = Level.WARNING if count >= limit else Level.NORMAL
    return RuleCount(rule, count, limit, None, level.value, tool)
