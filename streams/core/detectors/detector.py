"""What every detector is, may see and says: its block, its rules, its standing, its words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

from streams.core.domain.decision import Decision
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level
from streams.core.domain.outcome import Finding
from streams.core.domain.settings.general import GeneralSettings
from streams.core.domain.witness import Obstacle, Reachability, RecordMaker, Witness

Fields: TypeAlias = Mapping[str, Any]


class Meaning(NamedTuple):
    """What an event means to a person who follows a session.

    Attributes:
        alert: the name an alert is counted under; None for advice to the agent's runtime.
        level: the level of the session that an event of a judge explains; None for events of scores.
        news: whether it says more than that an earlier alert still holds.
        over: whether it reports an end.
        serious: whether advice is worth a person's time.
        fired: (rule, level) of an event by which a rule fires; None for other events.
        names_session: whether people should look at a session for this alert alone.
    """

    alert: str | None = None
    level: Level | None = None
    news: bool = True
    over: bool = False
    serious: bool = False
    fired: tuple[str, str] | None = None
    names_session: bool = True


class Fired(NamedTuple):
    """A rule that fired with a record, at a level, and on what evidence: one line, safe to print."""

    rule: str
    level: str
    evidence: str


class Presentation:
    """The words of one detector. Without words of its own, a detector is not mentioned.

    It holds nothing. What it returns is safe to print, whatever an agent wrote.

    Attributes:
        events: the kinds of events the detector emits.
    """

    __slots__ = ()

    events: ClassVar[tuple[EventKind, ...]] = ()

    def meaning(self, fields: Fields) -> Meaning:  # noqa: ARG002 - it depends on the event where it differs
        """Return what an event of this detector means."""
        return Meaning()

    def sentence(self, fields: Fields) -> str:
        """Return what an event of this detector says, in one line."""
        return str(fields["event_type"])

    def fired(self, block: Fields, tool: str) -> Iterable[Fired]:  # noqa: ARG002 - most fire by their events
        """Return the rules that fired with a record and made no event of their own.

        Args:
            block: of the detector in the block `eddy` of the record.
            tool: what the record called, in words.
        """
        return ()

    def summary(self, block: Fields) -> str:  # noqa: ARG002 - most blocks are not summed up
        """Return the scores of a block in one line; an empty text says nothing."""
        return ""

    def objection(self, block: Fields) -> str:  # noqa: ARG002 - most have none
        """Return what speaks against a calm verdict on the record; an empty text if nothing does."""
        return ""


def rule_name(rule: str, period: int | None) -> str:
    """Return the name of a rule; one that repeats several records has their number in it.

    >>> rule_name("R2", 3), rule_name("R1", 1), rule_name("R3", None)
    ('R2:period3', 'R1', 'R3')
    """
    return rule if period in (None, 1) else f"{rule}:period{period}"


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


# A state is a NamedTuple of JSON-able values that no code changes in place, so that a session is stored and
# read back without converting anything.
S = TypeVar("S", bound=tuple[Any, ...])
# The settings a detector sees: its own, and by inheritance the general ones.

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
