"""One session as the detectors saw it, record by record."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from streams.core.domain.decision import Decision
from streams.core.domain.level import Level
from streams.core.evaluation.alarms import DETECTORS, EVIDENCE, Baselines, fired


class CallKind(StrEnum):
    """How a call stands to those before it. The first that applies."""

    FIRST = "first"
    """Nothing came before it."""
    SAME_CALL = "same call"
    """The record before made the same call."""
    RETURNING = "returning"
    """An earlier record of the session made the same call; other work came between."""
    SAME_TOOL = "same tool"
    """The record before called the same tool with other arguments; without a tool, had another intent."""
    OTHER = "other tool"
    """The record before called another tool."""


class CallKinds:
    """Tells the kinds of the records of one session, in order."""

    def __init__(self) -> None:
        self._calls: set[str] = set()
        self._previous: Decision | None = None

    def next(self, decision: Decision) -> CallKind:
        """Return the kind of the next record."""
        previous, self._previous = self._previous, decision
        known = decision.call in self._calls
        self._calls.add(decision.call)
        if previous is None:
            return CallKind.FIRST
        if decision.call == previous.call:
            return CallKind.SAME_CALL
        if known:
            return CallKind.RETURNING
        return CallKind.SAME_TOOL if decision.tool == previous.tool else CallKind.OTHER


#: Rules whose records need not have one tool.
_ANY_TOOL: Final = frozenset({"R2"})
# What these count is new nowhere, so the first record counted is a repetition too.
_ALL_REPEAT: Final = frozenset({"R7"})
# Records of versions before there was R7 have no block of it.
_NOT_TOLD: Final = {"points": 0}


class _Judged:
    """Positions of the records that the verdict judged: all, those of each tool, those that raised the score.

    Sorted as they come, since a rule may name all of a long session's at each of its records.
    """

    def __init__(self) -> None:
        self.every: list[int] = []
        self.raising: list[int] = []
        self.of_newest_tool: list[int] = []
        self._of_tool: dict[str | None, list[int]] = {}

    def add(self, at: int, tool: str | None, *, raised: bool) -> None:
        """Take the next one."""
        self.of_newest_tool = self._of_tool.setdefault(tool, [])
        for positions in (self.every, self.of_newest_tool, *([self.raising] if raised else ())):
            positions.append(at)


class DetectorWatch:
    """Collects what every detector says about the records of one session.

    Attributes:
        records: number of records seen, those included that could not be judged.
        raised: for each detector and rule, the positions of the records on which it holds, from 0.
        kinds: for each kind of record, the positions of these records.
        tokens: tokens that a record used, by its position, of the records that say so.

    Args:
        timed: False if the clock of the records is made up, so that it tells no seconds.
    """

    def __init__(self, *, timed: bool = True) -> None:
        self.records = 0
        self.raised: dict[str, dict[str, set[int]]] = {name: {} for name in DETECTORS}
        self.kinds: dict[CallKind, set[int]] = {}
        self.tokens: dict[int, float] = {}
        self._timed = timed
        self._times: dict[int, int] = {}
        self._kinds = CallKinds()
        self._baselines = Baselines()
        self._judged = _Judged()

    def skip(self) -> None:
        """Take a record that was refused: it has its place, and there is no judgement on it."""
        self.records += 1
        self._baselines.skip()

    def add(self, decision: Decision, eddy: Mapping[str, Any]) -> None:
        """Take the next record with its block."""
        at = self.records
        self.records += 1
        if self._timed:
            self._times[at] = decision.timestamp
        if (tokens := decision.state_delta.get("tokens_consumed")) is not None:
            self.tokens[at] = tokens
        for name, detector in DETECTORS.items():
            for rule in detector.rules(eddy):
                self._raise(name, rule, at)
        kind = self._kinds.next(decision)
        self.kinds.setdefault(kind, set()).add(at)
        for name in self._baselines.next(decision):
            self._raise(name, name, at)
        verdict = eddy.get("verdict")
        if verdict is not None and verdict["visible"]:
            raised = (verdict.get("stuck") or _NOT_TOLD)["points"] > 0
            self._judged.add(at, decision.tool, raised=raised)
            for reached in fired(eddy, Level.WARNING, Level.LOOP):
                self._raise(EVIDENCE, reached["rule"], *self._named(reached))

    def positions(self, detector: str) -> frozenset[int]:
        """Return the records on which a detector holds, whatever the rule."""
        return frozenset().union(*self.raised[detector].values())

    def seconds(self, first: int, last: int) -> float | None:
        """Return the event time from one record to another; None where a time is not known.

        0 if the later one has the earlier time: agents on several machines have several clocks.
        """
        begin, end = self._times.get(first), self._times.get(last)
        return None if begin is None or end is None else max(0, end - begin) / 1000

    def _raise(self, detector: str, rule: str, *positions: int) -> None:
        self.raised[detector].setdefault(rule, set()).update(positions)

    def _named(self, reached: Mapping[str, Any]) -> list[int]:
        """Return the records that a rule calls repetitions: all of its pattern but the first instance.

        For n repetitions of p records that is the last p (n - 1); a rule that counts calls of one tool skips
        the records of other tools, and R7 those that did not raise its score.
        """
        name, count, period = reached["rule"], reached["count"], reached["period"] or 1
        judged = self._judged
        wanted = count if name in _ALL_REPEAT else period * (count - 1)
        match name:
            case "R7":
                return judged.raising[-wanted:]
            case _ if name in _ANY_TOOL:
                return judged.every[-wanted:]
            case _:
                return judged.of_newest_tool[-wanted:]
