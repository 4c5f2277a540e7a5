"""The echo: an intent that keeps coming back.

A detector as a contributor adds it: one module. The test puts it into `streams/core/detectors` as `echo`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from streams.core.detectors.detector import (
    Block,
    Detector,
    DetectorStanding,
    Eddy,
    Fields,
    Fired,
    Observation,
    Presentation,
    Rules,
    score_rule,
)
from streams.core.domain.decision import Decision
from streams.core.domain.level import Level
from streams.core.domain.settings.general import GeneralSettings
from streams.core.domain.settings.setting import OrderedGroup, setting, whole
from streams.core.domain.text.digest import MOST_JSON_BYTES, bounded
from streams.core.domain.witness import (
    NOTHING_SCORED,
    Obstacle,
    Reachability,
    RecordMaker,
    Witness,
    scored_status,
)


@dataclass(frozen=True, kw_only=True)
class EchoSettings(GeneralSettings):
    """What the echo remembers, and from which count on it fires."""

    ordered_groups: ClassVar[tuple[OrderedGroup, ...]] = (OrderedGroup(("echo_limit", "echo_window")),)

    echo_window: int = setting(6, whole(2, 1_000), "Intents that the echo remembers.")
    echo_limit: int = setting(3, whole(2, 1_000), "Equal intents in the window that are an echo.")


class EchoRules(Rules[EchoSettings]):
    """T1: can an intent come back often enough within the window?"""

    __slots__ = ()

    families: ClassVar[tuple[str, ...]] = ("T1",)

    def reachability(self, settings: EchoSettings) -> Iterator[Reachability]:
        """Yield the one row."""
        shortest = settings.echo_limit if settings.echo_limit <= settings.echo_window else None
        yield Reachability.of("T1", Level.WARNING, shortest, "echo_limit > echo_window")

    def witness(
        self, row: Reachability, records: int, settings: EchoSettings, maker: RecordMaker
    ) -> Witness | Obstacle:
        """Intend the same again and again."""
        status = scored_status(settings)
        if status is None:
            return NOTHING_SCORED
        return Witness(records, lambda number: maker.record(number, {"status": status}, intent="once more"))

    def fires(
        self, row: Reachability, decision: Decision, block: Mapping[str, Any], settings: EchoSettings
    ) -> bool:
        """Tell whether the intent is an echo."""
        return bool(block["echo"])


class EchoPresentation(Presentation):
    """How often the newest intent came."""

    __slots__ = ()

    def fired(self, block: Fields, tool: str) -> Iterator[Fired]:
        """Yield T1 for each record that is an echo."""
        if block["echo"]:
            yield Fired("T1", "WARNING", f"count {block['count']}, {tool}")

    def summary(self, block: Fields) -> str:
        """Return the count."""
        return f"the newest intent came {block['count']} times"


class EchoState(NamedTuple):
    """The newest intents, oldest first."""

    intents: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Echo(Detector[EchoState, EchoSettings]):
    """How often the newest `echo_window` records had the intent of this one.

    Looks at every scored record that has an intent.

    Source: a test.

    >>> EchoSettings().echo_limit
    3
    """

    name: ClassVar[str] = "echo"
    reads: ClassVar[tuple[str, ...]] = ("uniqueness",)
    rules = EchoRules()
    presentation = EchoPresentation()

    def fresh(self) -> EchoState:
        """Return a state without intents."""
        return EchoState()

    def restore(self, stored: Sequence[Any]) -> EchoState:
        """Read back a state."""
        return EchoState(*stored)

    def observe(
        self, state: EchoState, decision: Decision, eddy: Eddy, settings: EchoSettings
    ) -> Observation[EchoState] | None:
        """Count how often the intent came."""
        if decision.intent is None:
            return None
        intent = bounded(decision.intent)
        intents = [*state.intents, intent][-settings.echo_window :]
        count = intents.count(intent)
        uniqueness = eddy.get("uniqueness")
        score = None if uniqueness is None else uniqueness["score"]
        block: Block = {"count": count, "echo": count == settings.echo_limit, "score": score}
        return EchoState(intents), block, ()

    def most_bytes(self, settings: EchoSettings) -> int:
        """Return the bound of the window."""
        return settings.echo_window * MOST_JSON_BYTES

    def standing(self, state: EchoState, settings: EchoSettings) -> DetectorStanding:
        """Return how often the newest intent came, and its limit."""
        count = state.intents.count(state.intents[-1]) if state.intents else 0
        return DetectorStanding({"count": count}, (score_rule("T1", count, settings.echo_limit),))


DETECTOR = Echo()
