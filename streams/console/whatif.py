"""The same session under other settings, and what a pause would have saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from streams.console.view import RecordStep
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.decision import Decision
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level
from streams.core.domain.outcome import Scored
from streams.core.domain.record import Record
from streams.core.domain.session import Session
from streams.core.errors import ConfigurationError
from streams.core.pipeline import admit, step
from streams.core.settings_document import MEANINGS, resolve, to_document
from streams.operate.explain.explanation import meaning, sentence

MOST_RECORDS: Final = 2_000
"""Records of a session that are judged again; of more, the newest."""


class Slider(NamedTuple):
    """A setting that a person can move.

    Attributes:
        name: Name of the setting it moves.
        lowest, highest, unit: the ends of the slider, and how far one move goes.
        rule: which rule it decides.
    """

    name: str
    lowest: float
    highest: float
    unit: float
    rule: str

    def content(self, settings: DetectionSettings) -> dict[str, Any]:
        """Return what a page shows of it."""
        value = to_document(settings)[self.name]
        return {**self._asdict(), "meaning": MEANINGS[self.name], "value": value}


SLIDERS: Final = (
    Slider("identical_warn", 2, 12, 1, "R1"),
    Slider("identical_loop", 2, 15, 1, "R1"),
    Slider("cycle_warn", 2, 10, 1, "R2"),
    Slider("cycle_loop", 2, 12, 1, "R2"),
    Slider("stuck_warn", 0.5, 8, 0.25, "R7"),
    Slider("stuck_loop", 0.5, 8, 0.25, "R7"),
    Slider("waiting_warn_minutes", 1, 120, 1, "R9"),
    Slider("waiting_loop_minutes", 1, 600, 1, "R9"),
    Slider("entropy_window_size", 2, 20, 1, "A1"),
)
"""Those of the rules that people ask about most."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A session, judged again.

    Attributes:
        levels: the level of each step under the changed settings; None where the verdict is not told.
        published: the level that was published.
        events: what is told of episodes: `n`, the number of the step, and `what`.
        first_loop, first_published_loop: number of the first step at LOOP.
        differing: how many steps have another level.
        began_with: number of the first step that was judged.
    """

    levels: tuple[str | None, ...]
    published: tuple[str | None, ...]
    events: tuple[Mapping[str, Any], ...]
    first_loop: int | None
    first_published_loop: int | None
    differing: int
    began_with: int

    def content(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "levels": list(self.levels),
            "published": list(self.published),
            "events": list(self.events),
            "first_loop": self.first_loop,
            "first_published_loop": self.first_published_loop,
            "differing": self.differing,
            "began_with": self.began_with,
        }


def changed(settings: DetectionSettings, changes: Mapping[str, object]) -> DetectionSettings:
    """Return the settings with changes.

    Raises:
        ConfigurationError: names each change that is not acceptable.
    """
    resolved, warnings = resolve({**to_document(settings), **changes}, settings, settings.version)
    if warnings:
        problems = "; ".join(f"{warning.setting}: {warning.problem}" for warning in warnings)
        raise ConfigurationError(f"These settings are not possible: {problems}.")
    return resolved


def judge_again(steps: Sequence[RecordStep], settings: DetectionSettings) -> WhatIf:
    """Judge the steps of a session from the first one at hand.

    Args:
        steps: Those at hand, oldest first.
        settings: Settings to judge the steps under.
    """
    used = steps[-MOST_RECORDS:]
    published = tuple(_level(each.record) for each in used)
    levels: list[str | None] = []
    events: list[Mapping[str, Any]] = []
    state: Session | None = None
    for each in used:
        known = {name: value for name, value in each.record.items() if name != "eddy"}
        admitted = admit(Record(each.partition, each.offset, known["session_id"], None, known), settings)
        assert isinstance(admitted, Decision)  # it was admitted when it was published
        state, outcome = step(state, admitted, settings)
        assert isinstance(outcome, Scored)
        levels.append(_level(outcome.enriched))
        events += [
            {
                "n": each.number,
                "what": sentence(event.fields),
                "level": event.fields["level"],
                "over": meaning(event.fields).over,
            }
            for event in outcome.events
            if event.fields["event_type"] == EventKind.LOOP_EPISODE and meaning(event.fields).news
        ]
    numbers = [each.number for each in used]
    return WhatIf(
        tuple(levels),
        published,
        tuple(events),
        _first_loop(numbers, levels),
        _first_loop(numbers, published),
        sum(new != old for new, old in zip(levels, published, strict=True)),
        numbers[0] if numbers else 1,
    )


class Saved(NamedTuple):
    """What would not have been spent; the cost is None where it is not known."""

    tokens: int
    cost: float | None


def counterfactual(events: Sequence[Mapping[str, Any]]) -> Saved:
    """Return what an episode has spent since it was first told: what a pause then would have saved.

    Args:
        events: Those of one episode, oldest first, at least one.
    """
    first, newest = events[0], events[-1]
    costs = first["cost_since_onset"], newest["cost_since_onset"]
    cost = None if None in costs else round(costs[1] - costs[0], 4)
    return Saved(newest["tokens_since_onset"] - first["tokens_since_onset"], cost)


def _level(record: Mapping[str, Any]) -> str | None:
    level: str | None = (record["eddy"].get("verdict") or {}).get("level")
    return level


def _first_loop(numbers: Sequence[int], levels: Sequence[str | None]) -> int | None:
    return next((number for number, level in zip(numbers, levels, strict=True) if level == Level.LOOP), None)
