"""What the verdict keeps of a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streams.detectors.verdict.moments import EACH, Moments
from streams.detectors.verdict.streak import Moment, Streak
from streams.detectors.verdict.stuck import StoredStuck
from streams.domain.status import LETTERS

#: Records whose facts are kept one by one: as many as the longest cycle has.
RECENT = 5

#: Digits of a signature.
SIGNATURE = 16


class VerdictState(NamedTuple):
    """Counters that continue from record to record, and what they are compared with.

    The window keeps all signatures, and of other records only what a rule will ask for.
    Counters carry where they began, because counts are not capped by the window.

    Attributes:
        judged: number of records judged so far; the newest of them has this number.
        tokens: tokens of the session so far, of records not judged too.
        infra_streak: infrastructure errors since the last judged record.
        signatures, tools, outcomes: of the last `RECENT` judged records, oldest first. The signatures are one
            text; a tool is bounded, None without one; an outcome is a letter (`outcome_of`).
        moments: where these records stand, as `streams.detectors.verdict.moments` has it.
        past: what the records of the window did, as `streams.detectors.verdict.past` has it.
        run: R1, records in a row with equal signature.
        cycles: R2, for each period from 2 the records in a row that equal the one a period earlier, in the
            form of a `Streak` from one on; empty when the newest record closes no cycle of any period.
        errors: R3, of each tool whose last call failed and is in the window, `same_error.Failure` as a list.
        same_results: R4, records in a row with one result.
        near_duplicates: R5, records in a row that hardly differ.
        call, result, content_hash, argument_marks, result_marks: of the newest judged record. ``call`` is the
            digest of its call when a row of R4 may go on from it, else empty; so are the marks when none of
            R5 may. ``result`` is a digest.
        keys: what the records of the window fired with, oldest first: key of the rule to the number of the
            last such record and its episode.
        episode: the open one, `episode.Episode` as a list; None when none is open.
        nothing_new: R6, records in a row that were all in the window before, in the form of a `Streak` from
            one on.
        plain: whether the arguments of the newest judged record have one form, canonical and loose.
        last_write: number of the newest judged record that wrote something with success, 0 before the first.
        stuck: R7, the score as `streams.detectors.verdict.stuck.Stuck` is stored.
        stalled: R8, steps that told nothing new, in the form of a `Streak` from one on; its last field says
            whether the newest judged record is one of them.
        round: digest of the round of the newest judged record, empty without one.
    """

    judged: int = 0
    tokens: float = 0
    infra_streak: int = 0
    signatures: str = ""
    tools: Sequence[str | None] = ()
    outcomes: str = ""
    moments: Moments = ()
    past: str = ""
    run: Streak = ()
    cycles: Sequence[Streak] = ()
    errors: Mapping[str, Sequence[Any]] = {}
    same_results: Streak = ()
    near_duplicates: Streak = ()
    call: str = ""
    result: str | None = None
    content_hash: str | None = None
    argument_marks: str = ""
    result_marks: str = ""
    keys: Mapping[str, Sequence[Any]] = {}
    episode: Sequence[Any] | None = None
    nothing_new: Streak = ()
    plain: bool = False
    last_write: int = 0
    stuck: StoredStuck = ()
    stalled: Streak = ()
    round: str = ""

    @property
    def newest(self) -> Moment:
        """Where the newest judged record stands, of which there must be one."""
        return self.moments[:EACH]

    @property
    def signature(self) -> str:
        """The signature of the newest judged record, empty before the first."""
        return self.signatures[-SIGNATURE:]

    def newest_signatures(self, records: int) -> list[str]:
        """Return the signatures of so many of the newest records, at least one, oldest first."""
        newest = self.signatures[-SIGNATURE * records :]
        return [newest[at : at + SIGNATURE] for at in range(0, len(newest), SIGNATURE)]


def outcome_of(status: str, *, polling: bool) -> str:
    """Return a status as one letter, in upper case for a tool that polls.

    >>> outcome_of("failure", polling=False), outcome_of("skipped", polling=True)
    ('f', 'K')
    """
    letter = LETTERS[status]
    return letter.upper() if polling else letter


def any_failed(outcomes: str) -> bool:
    """Tell whether one of these records failed."""
    return "f" in outcomes or "F" in outcomes


def any_polling(outcomes: str) -> bool:
    """Tell whether one of these records is of a tool that polls."""
    return outcomes != outcomes.lower()
