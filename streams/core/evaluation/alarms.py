"""Who says what about a record: the detectors that can be asked, and questions that need no detector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from streams.core.domain.decision import Decision
from streams.core.domain.level import Level

SAME_CALL: Final = "baseline"
SAME_RESULT: Final = "same-result-3"
LENGTHS: Final = MappingProxyType({"long-25": 25, "long-35": 35})
"""The first record, from 1, on which a question about the length of a session is answered with yes."""
_TIMES: Final = 3


class Baselines:
    """Answers for the records of one session, in order."""

    def __init__(self) -> None:
        self._records = 0
        self._call: str | None = None
        self._signature: str | None = None
        self._run = 0

    def skip(self) -> None:
        """Take a record that was refused: the session is longer by it."""
        self._records += 1

    def next(self, decision: Decision) -> tuple[str, ...]:
        """Return the names of those that hold on the next record."""
        self._records += 1
        same_call = decision.call == self._call
        self._run = self._run + 1 if decision.signature == self._signature else 1
        self._call, self._signature = decision.call, decision.signature
        return (
            *((SAME_CALL,) if same_call else ()),
            *((SAME_RESULT,) if self._run >= _TIMES else ()),
            *(name for name, length in LENGTHS.items() if self._records >= length),
        )


Block: TypeAlias = Mapping[str, Any]
Rules: TypeAlias = tuple[str, ...]
"""The rules that hold on one record, none when nothing is raised."""

EVIDENCE: Final = "evidence"


class AlarmDetector(NamedTuple):
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
        SAME_CALL: AlarmDetector("the same call as the record before", _none),
        SAME_RESULT: AlarmDetector("the same call and result, the third time in a row or later", _none),
        **{
            name: AlarmDetector(f"the {length}th record of the session, or a later one", _none)
            for name, length in LENGTHS.items()
        },
        "seen-before": AlarmDetector("the same call and result stood in the verdict's window", _seen_before),
        "stuck-step": AlarmDetector("a step that raises the stuck score, whatever the score is", _stuck_step),
        "entropy-warning": AlarmDetector("A1 at WARNING or LOOP", _severity(*_RAISED)),
        "entropy-loop": AlarmDetector("A1 at LOOP", _severity(Level.LOOP)),
        "repeat": AlarmDetector("A2: the run has reached its threshold", _repeat),
        "patterns": AlarmDetector("A3: the record completes a pattern", _patterns),
        "loop": AlarmDetector("A4: any of its four detectors", _loop),
        "drift": AlarmDetector("A5: any level above CONTINUE", _drift),
        "verdict-warning": AlarmDetector("a rule of the verdict at WARNING or LOOP here", _raw(*_RAISED)),
        "verdict-loop": AlarmDetector("a rule of the verdict at LOOP here", _raw(Level.LOOP)),
        "episode-warning": AlarmDetector("an episode is open", _episode(*_RAISED)),
        "episode-loop": AlarmDetector("an episode is open at LOOP", _episode(Level.LOOP)),
        EVIDENCE: AlarmDetector("named a repetition by verdict-warning, here or later", _none),
    }
)
"""By name, in the order of the tables."""
LIVE: Final = tuple(name for name in DETECTORS if name != EVIDENCE)
"""Those that say what they say when the record comes: only they have a delay."""
