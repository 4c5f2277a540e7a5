"""Questions that need no detector: what a detector must beat to be worth its cost."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from streams.domain.decision import Decision

SAME_CALL: Final = "baseline"
SAME_RESULT: Final = "same-result-3"

BASELINES: Final = MappingProxyType(
    {
        SAME_CALL: "the same call as the record before",
        SAME_RESULT: "the same call and result, the third time in a row or later",
        "long-25": "the 25th record of the session, or a later one",
        "long-35": "the 35th record of the session, or a later one",
    }
)
"""What each one asks, by name."""
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
