"""Whether a session that owes its next step is silent for longer than is usual (specification 7.7). Pure.

No record says that no record comes, so a worker's clock decides when a session is told to be silent. What its
limit is, whether it owes a step, and that it speaks again, follows from records alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from streams.core.domain.decision import Decision
from streams.core.domain.event_kind import EventKind
from streams.core.domain.outcome import Finding
from streams.core.domain.settings.general import GeneralSettings

#: The phase of the event that a clock decides; the others end it.
SILENT: Final = "silent"

#: Name of the state among those of a session.
PACE: Final = "pace"

#: Gaps that a session needs before its own habit counts, and how much more patience it has until then.
FEWEST_GAPS: Final = 20
PATIENCE: Final = 4

#: The share of its gaps that are no longer than its habit.
SHARE: Final = 0.95

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_COUNT: Final = {letter: count for count, letter in enumerate(_LETTERS)}
_MOST: Final = len(_LETTERS) - 1
_BUCKETS: Final = 18
_SECOND_MS: Final = 1_000
_BEGINS: Final = frozenset({None, "", "task"})
_WORKED: Final = frozenset({"success", "failure"})


class Pace(NamedTuple):
    """How fast the steps of a session follow each other.

    Attributes:
        gaps: how often the step that was owed came within 1 s, 2 s, 4 s and so on, each twice the one before;
            a letter for each count. All are halved when one is at its most.
        owed: whether the newest record leaves the agent to act: a call that has ended, or one that has not.
        attended: whether a person has spoken after the first record; then the next step may wait for one.
        told: the limit, ms, with which the session was told to be silent; 0 while it is not.
    """

    gaps: str = ""
    owed: bool = False
    attended: bool = False
    told: int = 0

    @property
    def habit_ms(self) -> int | None:
        """The length, ms, that 95 of 100 gaps keep within; None before there are 20 gaps.

        >>> Pace("ATB").habit_ms, Pace("AT").habit_ms
        (2000, None)
        """
        counts = [_COUNT.get(letter, 0) for letter in self.gaps]
        enough = sum(counts)
        if enough < FEWEST_GAPS:
            return None
        seen = 0
        for bucket, count in enumerate(counts):
            seen += count
            if seen >= SHARE * enough:
                return _SECOND_MS << bucket
        raise AssertionError("a share of all is within all")

    def limit_ms(self, settings: GeneralSettings) -> int | None:
        """Return after how many ms the session counts as silent; None where it never does.

        >>> from streams.core.detectors.settings import DEFAULTS
        >>> Pace("ATB", owed=True).limit_ms(DEFAULTS), Pace(owed=True).limit_ms(DEFAULTS)
        (1200000, 4800000)
        """
        if not self.owed or not settings.silence_ms:
            return None
        if self.attended and not settings.silence_attended:
            return None
        least, habit = settings.silence_ms, self.habit_ms
        return PATIENCE * least if habit is None else max(least, settings.silence_habit * habit)

    def after(
        self, decision: Decision, gap_ms: int | None, settings: GeneralSettings
    ) -> tuple[Pace, Finding | None]:
        """Return the pace after the next record, and what is told if the session was silent before it.

        Args:
            decision: the next record of the session.
            gap_ms: between the timestamps of its last record and this one; None where the session begins.
            settings: the settings in force for the record.
        """
        turn = decision.known["meta"].get("user_turn")
        attended = self.attended or turn not in _BEGINS or (turn == "task" and gap_ms is not None)
        gaps, found = self.gaps, None
        if gap_ms is not None and self.owed:
            gaps = _counted(gaps, gap_ms)
            found = self._spoken(max(0, gap_ms), settings)
        return Pace(gaps, _owes(decision), attended), found

    def _spoken(self, gap_ms: int, settings: GeneralSettings) -> Finding | None:
        # By its records alone, too: a clock may have told it, and its worker may not have lived to remember.
        limit = self.told or (self.limit_ms(settings) if gap_ms > settings.silence_ms else None)
        if limit is None or not (self.told or gap_ms > limit):
            return None
        fields = {"phase": "spoke", "limit_ms": limit, "silent_ms": gap_ms, "decided_by": "record"}
        return Finding(EventKind.SILENT_SESSION, fields)

    def falling_silent(self, limit_ms: int) -> tuple[Pace, Finding]:
        """Return the pace of a session whose limit has passed, and what is told of it."""
        fields = {"phase": SILENT, "limit_ms": limit_ms, "habit_ms": self.habit_ms, "decided_by": "clock"}
        return self._replace(told=limit_ms), Finding(EventKind.SILENT_SESSION, fields)

    def ending(self, reason: str) -> Finding | None:
        """Return what is told if the session ends in its silence."""
        if not self.told:
            return None
        return Finding(EventKind.SILENT_SESSION, {"phase": "ended", "limit_ms": self.told, "reason": reason})


def pace_of(states: Mapping[str, Sequence[Any]]) -> Pace:
    """Return the pace among the states of a session, fresh when there is none.

    A session that an earlier version has begun may have heard a person then, so it is taken to be attended.
    """
    stored = states.get(PACE)
    if stored is None:
        return _UNKNOWN if states else _FRESH
    return stored if isinstance(stored, Pace) else Pace(*stored)


_FRESH: Final = Pace()
_UNKNOWN: Final = Pace(attended=True)


def _owes(decision: Decision) -> bool:
    """Tell whether the agent has to act next: not after an answer, nor where a person has to decide."""
    if decision.is_terminal or (decision.known.get("control") or _NOTHING).get("hitl_required"):
        return False
    status = decision.status
    return status == "pending" or (decision.kind == "tool" and status in _WORKED)


_NOTHING: Final[Mapping[str, Any]] = {}


def _counted(gaps: str, gap_ms: int) -> str:
    """Return the gaps with one more.

    >>> _counted("", 500), _counted("B", 3_000), _counted("_C", 0)
    ('B', 'BAB', 'gB')
    """
    bucket = min((max(0, gap_ms) // _SECOND_MS).bit_length(), _BUCKETS - 1)
    count = _COUNT.get(gaps[bucket], 0) if bucket < len(gaps) else 0
    if count == _MOST:
        gaps = "".join(_LETTERS[_COUNT.get(letter, 0) // 2] for letter in gaps)
        count //= 2
    padded = gaps.ljust(bucket, _LETTERS[0])
    return f"{padded[:bucket]}{_LETTERS[count + 1]}{padded[bucket + 1 :]}"
