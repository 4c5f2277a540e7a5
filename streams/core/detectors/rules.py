"""The rules of a detector: by what it fires, whether it can, and a sequence that shows it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from streams.core.domain.decision import Decision
from streams.core.domain.reachability import Reachability
from streams.core.domain.settings.general import GeneralSettings
from streams.core.domain.witness import Obstacle, RecordMaker, Witness

P = TypeVar("P", bound=GeneralSettings)


class Rules(ABC, Generic[P]):
    """What a detector can fire by. `streams.core.proof` runs the witness of each row through the pipeline.

    Attributes:
        families: the names of the rules, each up to its colon if it has parts.
    """

    __slots__ = ()

    families: ClassVar[tuple[str, ...]]

    @abstractmethod
    def reachability(self, settings: P) -> Iterator[Reachability]:
        """Yield a row for each rule and level (specification 4.3)."""

    @abstractmethod
    def witness(self, row: Reachability, records: int, settings: P, maker: RecordMaker) -> Witness | Obstacle:
        """Return the shortest sequence that makes the rule reach its level.

        It has as many ``records`` as the row says. Specification 4.3 counts three rules differently, and
        their sequences may be longer: an escalation (A3), a response (A5), and a WARNING of R7 whose limits
        are close.
        """

    @abstractmethod
    def fires(self, row: Reachability, decision: Decision, block: Mapping[str, Any], settings: P) -> bool:
        """Tell whether a record that got this block made the rule fire at its level."""
