"""What shows that a rule can fire: its row of the table, and a sequence of records or what prevents it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias

from streams.core.domain.settings.general import GeneralSettings
from streams.core.domain.tool_class import PolicyMode, ToolClass


@dataclass(frozen=True, slots=True)
class Reachability:
    """Whether ``rule`` can reach ``level``.

    ``shortest`` is the least number of records that does it, None when none does. Then ``why`` names the
    settings in the way, and ``disabled`` tells that this is on purpose: otherwise it is worth a warning.
    ``counted`` says what the last record does, if ``shortest`` does not simply count records.
    """

    rule: str
    level: str
    shortest: int | None
    why: str = ""
    disabled: bool = False
    counted: str = ""

    @property
    def reachable(self) -> bool:
        """Whether any sequence of records gets there."""
        return self.shortest is not None

    @property
    def part(self) -> str:
        """What follows the colon in the name of the rule: a kind, a pattern, a period; else empty."""
        return self.rule.partition(":")[2]

    @classmethod
    def of(
        cls,
        rule: str,
        level: str,
        shortest: int | None,
        why: str,
        *,
        disabled: bool = False,
        counted: str = "",
    ) -> Self:
        """Return the row; ``why`` and ``disabled`` count only if no number of records gets there.

        >>> Reachability.of("A1", "LOOP", 5, "window too small").why
        ''
        """
        if shortest is None:
            return cls(rule, level, None, why, disabled)
        return cls(rule, level, shortest, counted=counted)


DecisionLog: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Witness:
    """A shortest sequence of records after which a rule fires, and not before.

    Attributes:
        records: how many there are.
        make: returns the record of a number, from 1, a DecisionLog (specification 2.1) that holds only what
            matters to the rule. Long sequences cost nothing until they are asked for.
    """

    records: int
    make: Callable[[int], DecisionLog]

    def values(self) -> Iterator[DecisionLog]:
        """Yield the records in order."""
        return map(self.make, range(1, self.records + 1))


@dataclass(frozen=True, slots=True)
class Obstacle:
    """No sequence makes the rule fire, though its own settings would allow one.

    Attributes:
        why: names the settings in the way.
        certain: whether no sequence can; else none was found among those that were tried.
    """

    why: str
    certain: bool = True


class RecordMaker(Protocol):
    """Makes the records of a witness so that no setting but the rule's own decides whether it fires."""

    def record(
        self,
        number: int,
        action: Mapping[str, str],
        *,
        intent: str | None = None,
        goal: str | None = None,
        state: Mapping[str, Any] | None = None,
        at_ms: int | None = None,
    ) -> DecisionLog:
        """Return the record of this number, from 1, with this `action`; without an intent, no cognition.

        It comes ``at_ms`` after the start; if that is not given, so that nothing counts as a pause.
        """

    def tool_name(
        self,
        classes: Collection[ToolClass] = ...,
        policies: Collection[PolicyMode | None] | None = None,
    ) -> str | None:
        """Return a tool name of one of the classes, under one of the policies (None: without one).

        Any class and any policy will do if they are not given. None when no such name was found.
        """


ANY_CLASS = frozenset(ToolClass)
NOTHING_SCORED = Obstacle("score_statuses is empty: no record is scored")

_STATUSES = ("success", "failure", "skipped", "pending")


def scored_status(settings: GeneralSettings) -> str | None:
    """Return a status whose records are scored, None when there is none."""
    return next((status for status in _STATUSES if status in settings.score_statuses), None)
