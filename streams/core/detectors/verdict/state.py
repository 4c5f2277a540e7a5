"""What the verdict keeps of a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streams.core.detectors.verdict.streak import EACH, Circle, Moment, Moments, Streak
from streams.core.detectors.verdict.stuck import StoredStuck
from streams.core.domain.status import LETTERS

#: Records whose facts are kept one by one: as many as the longest cycle has that is compared whole.
RECENT = 5

#: Digits of a signature.
SIGNATURE = 16


class VerdictState(NamedTuple):
    """Counters that continue from record to record, and what they are compared with.

    The window keeps what was called and what came of it, and of other records only what a rule will ask for.
    Counters carry where they began, because counts are not capped by the window. Of a round, rows and cycles
    know the first record; the window knows all.

    Attributes:
        judged: number of records judged so far, those of rounds included; the newest of them has this number.
        steps: number of steps: records, and rounds as one.
        tokens: tokens of the session so far, of records not judged too.
        infra_streak: infrastructure errors since the last judged record.
        signatures, tools, outcomes: of the last `RECENT` judged records, oldest first. The signatures are one
            text; a tool is bounded, None without one; an outcome is a letter (`outcome_of`).
        moments: where these records stand, as `streams.core.detectors.verdict.streak` has it.
        newest_place: offset and timestamp of the newest judged record, empty before the first.
        past: what the records of the window did, as `streams.core.detectors.verdict.past` has it.
        broken: whether something of the newest round brought news, so that no row goes on from it.
        run: R1, records in a row with equal signature.
        cycles: R2, for each period from 2 to `RECENT` the records in a row that equal the one a period
            earlier, in the
            form of a `Streak` from one on; empty when the newest record closes no cycle of any period.
        trail: R2, marks of the newest records, oldest first.
        circle: R2, the longer cycle that the agent is on.
        waiting: R9, looks since the agent began to wait, in the form of a `Streak` from one on; its last
            field
            says whether the newest record is one.
        known_words: words of earlier results, as `streams.core.detectors.verdict.news` remembers them.
        heard: marks of what tools told, as there.
        acknowledged: whether the newest record is an action that was only acknowledged, and may come again.
        content_hash: of the newest judged record, bounded.
        failures: of each class of failure, the number of the newest record of it.
        last_act, last_wait: numbers of the newest record that acted and had not before, and that waited; 0
            before the
            first.
        idle, in_vain: commands that did nothing, and questions without an answer, since something new came.
        round: digest of the round of the newest judged record, empty without one.
        of_round: how many records of this round were judged.
        before_round: `stuck` before this round; the round counts once, as the step that brought most.
        least: points of this step.
        keys: what the records of the window fired with, oldest first: key of the rule to the number of the
            last such record and its episode.
        episode: the open one, `episode.Episode` as a list; None when none is open.
        stuck: R7, the score as `streams.core.detectors.verdict.stuck.Stuck` is stored.
    """

    judged: int = 0
    steps: int = 0
    tokens: float = 0
    infra_streak: int = 0
    signatures: str = ""
    tools: Sequence[str | None] = ()
    outcomes: str = ""
    moments: Moments = ()
    newest_place: Sequence[int] = ()
    past: str = ""
    broken: bool = False
    run: Streak = ()
    cycles: Sequence[Streak] = ()
    trail: str = ""
    circle: Circle = ()
    waiting: Streak = ()
    known_words: str = ""
    heard: str = ""
    acknowledged: bool = False
    content_hash: str | None = None
    failures: Mapping[str, int] = {}
    last_act: int = 0
    last_wait: int = 0
    idle: int = 0
    in_vain: int = 0
    round: str = ""
    of_round: int = 0
    before_round: StoredStuck = ()
    least: float = 0.0
    keys: Mapping[str, Sequence[Any]] = {}
    episode: Sequence[Any] | None = None
    stuck: StoredStuck = ()

    @property
    def newest(self) -> Moment:
        """Where the newest judged record stands, of which there must be one."""
        return self.moments[:EACH]

    @property
    def newest_offset(self) -> int:
        """The offset of the newest judged record, those of its round included."""
        return self.newest_place[0]

    @property
    def signature(self) -> str:
        """The signature of the newest judged record, empty before the first."""
        return self.signatures[-SIGNATURE:]

    def newest_signatures(self, records: int) -> list[str]:
        """Return the signatures of so many of the newest records, at least one, oldest first."""
        newest = self.signatures[-SIGNATURE * records :]
        return [newest[at : at + SIGNATURE] for at in range(0, len(newest), SIGNATURE)]

    def begun_again(self) -> VerdictState:
        """Return what is kept when a person has spoken: what repeats from here on is another matter."""
        return VerdictState(
            judged=self.judged,
            steps=self.steps,
            tokens=self.tokens,
            infra_streak=self.infra_streak,
            newest_place=self.newest_place,
            moments=self.newest,
            content_hash=self.content_hash,
            keys=self.keys,
            episode=self.episode,
        )


def outcome_of(status: str, *, polling: bool) -> str:
    """Return a status as one letter, in upper case for a record that waits.

    >>> outcome_of("failure", polling=False), outcome_of("skipped", polling=True)
    ('f', 'K')
    """
    letter = LETTERS[status]
    return letter.upper() if polling else letter


def any_failed(outcomes: str) -> bool:
    """Tell whether one of these records failed."""
    return "f" in outcomes or "F" in outcomes


def any_polling(outcomes: str) -> bool:
    """Tell whether one of these records waited."""
    return outcomes != outcomes.lower()
