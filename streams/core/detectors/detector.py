"""What every detector is, and what it may see and say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from streams.core.detectors.presentation import Presentation
from streams.core.detectors.rules import Rules
from streams.core.detectors.standing import DetectorStanding
from streams.core.domain.decision import Decision
from streams.core.domain.event import Finding
from streams.core.domain.level import Level
from streams.core.domain.settings.general import GeneralSettings

# A state is a NamedTuple of JSON-able values that no code changes in place, so that a session is stored and
# read back without converting anything.
S = TypeVar("S", bound=tuple[Any, ...])
# The settings a detector sees: its own, and by inheritance the general ones.
P = TypeVar("P", bound=GeneralSettings)
Block: TypeAlias = dict[str, Any]

# The block `eddy` of the enriched record as far as it is written: `step`, the number of the record among the
# scored ones of its session, and the blocks of the detectors that looked before. A detector reads another's
# result here and nowhere else.
Eddy: TypeAlias = Mapping[str, Any]

# What a detector makes of one record: its state from now on; its fields in `eddy.<name>`, JSON-able and
# fresh; what it has to tell, of which the pipeline makes events. A bare tuple, because each record makes one
# for each detector.
Observation: TypeAlias = tuple[S, Block, tuple[Finding, ...]]


class Layer(StrEnum):
    """Which records a detector is shown.

    SCORES (layer A): those whose status is in `score_statuses`; they count as steps. JUDGES (layer B): all.
    """

    SCORES = "A"
    JUDGES = "B"


class CloseReason(StrEnum):
    """Why a session ends."""

    EXPIRED = "expired"
    TERMINAL = "terminal"


class Detector(ABC, Generic[S, P]):
    """One small object with one verb. It holds nothing: settings and state are arguments.

    The state is an immutable value of bounded size. `observe` costs O(1) or O(window), never more with a
    longer history, and changes nothing it is given.

    Attributes:
        name: key of its block in `eddy` and of its state in the session.
        layer: which records it is shown.
        reads: names of the detectors whose blocks it reads; they look at a record before it. A block is null
            if the record is not one for its detector, and absent where a test shows `eddy` without it.
        rules: what it can fire by; None for one that only measures.
        presentation: its words; without any of its own, people do not hear of it.
    """

    __slots__ = ()

    name: ClassVar[str]
    layer: ClassVar[Layer] = Layer.SCORES
    reads: ClassVar[tuple[str, ...]] = ()
    rules: ClassVar[Rules[Any] | None] = None
    presentation: ClassVar[Presentation] = Presentation()

    @abstractmethod
    def fresh(self) -> S:
        """Return the state of a session nothing has been seen of."""

    def begin(self, settings: P) -> S:  # noqa: ARG002 - few settings hold from the beginning on
        """Return the state of a session that begins under these settings (the S of specification 4.1)."""
        return self.fresh()

    @abstractmethod
    def restore(self, stored: Sequence[Any]) -> S:
        """Return the state whose items were stored as a JSON array."""

    @abstractmethod
    def observe(self, state: S, decision: Decision, eddy: Eddy, settings: P) -> Observation[S] | None:
        """Look at the next record of a session. None: not a record for this detector, nothing changes."""

    def level(self, state: S) -> Level:  # noqa: ARG002 - most detectors have no level
        """Return how bad the session stands in the eyes of this detector."""
        return Level.NORMAL

    def standing(self, state: S, settings: P) -> DetectorStanding:  # noqa: ARG002 - some only measure
        """Return where the session stands after its last record: scores, and how near its rules are."""
        return DetectorStanding()

    def close(self, state: S, reason: CloseReason) -> tuple[Finding, ...]:  # noqa: ARG002 - most leave nothing open
        """Return what has to be told when the session ends in this state."""
        return ()

    @abstractmethod
    def most_bytes(self, settings: P) -> int:
        """Return how many bytes of JSON its windows take at most under these settings, 0 without a window."""
