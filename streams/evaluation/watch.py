"""One session as the detectors saw it, record by record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from streams.domain.decision import Decision
from streams.domain.level import Level
from streams.evaluation.alarms import DETECTORS, EVIDENCE, fired
from streams.evaluation.baselines import Baselines
from streams.evaluation.kind import Kind, Kinds

#: Rules whose records need not have one tool.
_ANY_TOOL: Final = frozenset({"R2", "R6", "R7"})
# What these count is new nowhere, so the first record counted is a repetition too.
_ALL_REPEAT: Final = frozenset({"R6", "R7"})
# Records of versions before there was R7 have no block of it.
_NOT_TOLD: Final = {"points": 0}


class _Visible(NamedTuple):
    """A record the verdict judged: its position in the session, its tool, and whether it raised the score."""

    at: int
    tool: str | None
    raised: bool


class Watch:
    """Collects what every detector says about the records of one session.

    Attributes:
        records: number of records seen, those included that could not be judged.
        raised: for each detector and rule, the positions of the records on which it holds, from 0.
        kinds: for each kind of record, the positions of these records.
    """

    def __init__(self) -> None:
        self.records = 0
        self.raised: dict[str, dict[str, set[int]]] = {name: {} for name in DETECTORS}
        self.kinds: dict[Kind, set[int]] = {}
        self._kinds = Kinds()
        self._baselines = Baselines()
        self._judged: list[_Visible] = []

    def skip(self) -> None:
        """Take a record that was refused: it has its place, and there is no judgement on it."""
        self.records += 1
        self._baselines.skip()

    def add(self, decision: Decision, eddy: Mapping[str, Any]) -> None:
        """Take the next record with its block."""
        at = self.records
        self.records += 1
        for name, detector in DETECTORS.items():
            for rule in detector.rules(eddy):
                self._raise(name, rule, at)
        kind = self._kinds.next(decision)
        self.kinds.setdefault(kind, set()).add(at)
        for name in self._baselines.next(decision):
            self._raise(name, name, at)
        verdict = eddy.get("verdict")
        if verdict is not None and verdict["visible"]:
            self._judged.append(
                _Visible(at, decision.tool, (verdict.get("stuck") or _NOT_TOLD)["points"] > 0)
            )
            for reached in fired(eddy, Level.WARNING, Level.LOOP):
                for named in self._named(reached):
                    self._raise(EVIDENCE, reached["rule"], named)

    def positions(self, detector: str) -> frozenset[int]:
        """Return the records on which a detector holds, whatever the rule."""
        return frozenset().union(*self.raised[detector].values())

    def _raise(self, detector: str, rule: str, at: int) -> None:
        self.raised[detector].setdefault(rule, set()).add(at)

    def _named(self, reached: Mapping[str, Any]) -> list[int]:
        """Return the records that a rule calls repetitions: all of its pattern but the first instance.

        For n repetitions of p records that is the last p (n - 1); a rule that counts calls of one tool skips
        the records of other tools, and R7 those that did not raise its score. Which records R8 counts is not
        reported: it names the newest.
        """
        name, count, period = reached["rule"], reached["count"], reached["period"] or 1
        judged = self._judged
        if name == "R8":
            return [judged[-1].at]
        if name not in _ANY_TOOL:
            judged = [seen for seen in judged if seen.tool == judged[-1].tool]
        if name == "R7":
            judged = [seen for seen in judged if seen.raised]
        wanted = count if name in _ALL_REPEAT else period * (count - 1)
        return [seen.at for seen in judged[-wanted:]]
