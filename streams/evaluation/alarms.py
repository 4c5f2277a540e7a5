"""Who says what about a record: the detectors that can be asked, read from the block `eddy`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from streams.domain.level import Level
from streams.evaluation.baselines import BASELINES

Block: TypeAlias = Mapping[str, Any]
Rules: TypeAlias = tuple[str, ...]
"""The rules that hold on one record, none when nothing is raised."""

EVIDENCE: Final = "evidence"


class Detector(NamedTuple):
    """A question that every record of a session answers.

    Attributes:
        asks: the question, for people.
        rules: which rules hold, from the block `eddy` of the record. `Watch` answers for those that need
            more than one record; theirs gives none.
    """

    asks: str
    rules: Callable[[Block], Rules]


def _severity(*levels: Level) -> Callable[[Block], Rules]:
    def rules(eddy: Block) -> Rules:
        block = eddy.get("uniqueness")
        return ("A1",) if block is not None and block["severity"] in levels else ()

    return rules


def _repeat(eddy: Block) -> Rules:
    block = eddy.get("repeat")
    return ("A2",) if block is not None and block["repeat_count"] >= block["threshold"] else ()


def _patterns(eddy: Block) -> Rules:
    block = eddy.get("patterns")
    return tuple(block["matched"]) if block is not None else ()


def _loop(eddy: Block) -> Rules:
    block = eddy.get("loop")
    if block is None:
        return ()
    return tuple(name for name, found in block["all_detections"].items() if found is not None)


def _drift(eddy: Block) -> Rules:
    block = eddy.get("drift")
    return ("A5",) if block is not None and block["level"] != "CONTINUE" else ()


def fired(eddy: Block, *levels: Level) -> tuple[Mapping[str, Any], ...]:
    """Return the rules of the verdict that reached one of the levels on this record, as it reports them."""
    block = eddy.get("verdict")
    if block is None or not block["visible"]:
        return ()
    return tuple(rule for rule in block["fired"] or () if rule["level"] in levels)


def _raw(*levels: Level) -> Callable[[Block], Rules]:
    def rules(eddy: Block) -> Rules:
        # Several periods of one rule may hold at once.
        return tuple(dict.fromkeys(rule["rule"] for rule in fired(eddy, *levels)))

    return rules


def _episode(*levels: Level) -> Callable[[Block], Rules]:
    def rules(eddy: Block) -> Rules:
        block = eddy.get("verdict")
        return ("episode",) if block is not None and block["level"] in levels else ()

    return rules


def _seen_before(eddy: Block) -> Rules:
    block = eddy.get("verdict")
    if block is None or block["repeat_distance"] is None:
        return ()
    return ("next",) if block["repeat_distance"] == 1 else ("returning",)


def _stuck_step(eddy: Block) -> Rules:
    block = eddy.get("verdict")
    step = None if block is None else block.get("stuck")
    return (step["kind"],) if step is not None and step["points"] > 0 else ()


def _none(eddy: Block) -> Rules:  # noqa: ARG001 - every detector is asked alike
    return ()


_RAISED = (Level.WARNING, Level.LOOP)

DETECTORS: Final = MappingProxyType(
    {
        **{name: Detector(asks, _none) for name, asks in BASELINES.items()},
        "seen-before": Detector("the same call and result stood in the verdict's window", _seen_before),
        "stuck-step": Detector("a step that raises the stuck score, whatever the score is", _stuck_step),
        "entropy-warning": Detector("A1 at WARNING or LOOP", _severity(*_RAISED)),
        "entropy-loop": Detector("A1 at LOOP", _severity(Level.LOOP)),
        "repeat": Detector("A2: the run has reached its threshold", _repeat),
        "patterns": Detector("A3: the record completes a pattern", _patterns),
        "loop": Detector("A4: any of its four detectors", _loop),
        "drift": Detector("A5: any level above CONTINUE", _drift),
        "verdict-warning": Detector("a rule of the verdict at WARNING or LOOP here", _raw(*_RAISED)),
        "verdict-loop": Detector("a rule of the verdict at LOOP here", _raw(Level.LOOP)),
        "episode-warning": Detector("an episode is open", _episode(*_RAISED)),
        "episode-loop": Detector("an episode is open at LOOP", _episode(Level.LOOP)),
        EVIDENCE: Detector("named a repetition by verdict-warning, here or later", _none),
    }
)
"""By name, in the order of the tables."""
LIVE: Final = tuple(name for name in DETECTORS if name != EVIDENCE)
"""Those that say what they say when the record comes: only they have a delay."""
