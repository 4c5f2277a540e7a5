"""One line of the table of what can fire: a rule, a level, and the fewest records that lead there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self


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
