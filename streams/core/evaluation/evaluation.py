"""The whole comparison: what detectors raise against what is known of the sessions, per source and in all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, NamedTuple

from streams.core.evaluation.alarms import LIVE
from streams.core.evaluation.estimate import Estimate, bootstrapped, proportion, ratio, resamples
from streams.core.evaluation.first_alarm import (
    Delay,
    RightToStop,
    delay,
    right_to_stop,
    spared,
    spared_share,
    wait,
)
from streams.core.evaluation.labels import SessionLabel
from streams.core.evaluation.scores import (
    Counts,
    RuleContribution,
    Scores,
    contributions,
    counts_of,
    session_scores,
    step_scores,
)
from streams.core.evaluation.stuck import StuckReport, StuckScores, StuckSessions
from streams.core.evaluation.watch import CallKind, DetectorWatch

ALL: Final = "all"
"""Stands where the name of a source stands, for all of them."""


class Evaluated(NamedTuple):
    """One session: its label and what the detectors said."""

    label: SessionLabel
    watch: DetectorWatch


class AlarmRate(NamedTuple):
    """Alarms of some sessions.

    Attributes:
        sessions: how many there were.
        alarmed: those with at least one alarm.
        alarms: alarms in all; records in a row that hold one up are one alarm.
        alarmed_share: share of sessions with an alarm. Sessions are independent, so with Wilson's interval.
        alarms_per_session: mean number of alarms of a session, bootstrapped.
    """

    sessions: int
    alarmed: int
    alarms: int
    alarmed_share: Estimate
    alarms_per_session: Estimate


class SessionGroup:
    """Some sessions as the detectors saw them.

    Attributes:
        watches: what the detectors said about each session.
    """

    def __init__(self, watches: Sequence[DetectorWatch]) -> None:
        self.watches = watches
        self._drawn = resamples(len(watches))

    def rate(self, detector: str) -> AlarmRate:
        """Return how often these sessions raise an alarm."""
        raised = [watch.positions(detector) for watch in self.watches]
        alarms = [sum(at - 1 not in positions for at in positions) for positions in raised]
        alarmed = sum(map(bool, alarms))
        return AlarmRate(
            len(alarms),
            alarmed,
            sum(alarms),
            proportion(alarmed, len(alarms)),
            bootstrapped(alarms, lambda each: ratio(sum(each), len(each)), self._drawn),
        )

    def spared(self, detector: str) -> Estimate:
        """Return the share of their records that come after the first alarm of the session."""
        return self._share(detector, lambda watch: dict.fromkeys(range(watch.records), 1))

    def tokens_spared(self, detector: str) -> Estimate:
        """Return the same share of the tokens that their records used; no figure if no record says."""
        return self._share(detector, lambda watch: watch.tokens)

    def _share(self, detector: str, amounts: Callable[[DetectorWatch], Mapping[int, float]]) -> Estimate:
        first = [min(watch.positions(detector), default=None) for watch in self.watches]
        each = [*map(spared, map(amounts, self.watches), first)]
        return bootstrapped(each, spared_share, self._drawn)


@dataclass(frozen=True, slots=True)
class DetectorRow:
    """What one detector is worth on some sessions.

    Attributes:
        detector: name of the detector in `DETECTORS`.
        stuck: over the sessions that are labelled stuck or not; None for a detector that speaks later.
        stuck_by_rule: the same for each of its rules, if it has several.
        solved: alarms of the sessions that solved their task.
        failed: alarms of those that did not.
        failed_spared: share of the records of failed sessions that come after the first alarm of theirs; None
            for a detector that speaks later.
        failed_tokens_spared: the same share of the tokens that these records used.
        right_to_stop: whether the first alarm came when the reward rose no further, over the alarmed sessions
            with rewards; None for a detector that speaks later.
        steps: over the records of the sessions with labelled transitions.
        sessions: over these sessions, each of them counted once.
        healthy: alarms of the healthy sessions; every one of these is false.
        every: alarms of all sessions, labelled or not; which are false is unknown.
        delay: over the sessions with labelled repetitions.
        rules: what each of its rules brings, on the labelled and the healthy sessions.
        kinds: ``steps`` taken apart by the kind of the record.
    """

    detector: str
    stuck: StuckScores | None
    stuck_by_rule: Mapping[str, StuckScores]
    solved: AlarmRate
    failed: AlarmRate
    failed_spared: Estimate | None
    failed_tokens_spared: Estimate | None
    right_to_stop: RightToStop | None
    steps: Scores
    sessions: Scores
    healthy: AlarmRate
    every: AlarmRate
    delay: Delay
    rules: tuple[RuleContribution, ...]
    kinds: Mapping[CallKind, Scores]


@dataclass(frozen=True, slots=True)
class SourceRows:
    """The rows for one source, or for all of them.

    Attributes:
        source: name of the data set, or `ALL`.
        sessions, records: how many sessions and records were read.
        stuck, free, disputed: sessions that readers call stuck, not stuck, or disagree about.
        solved, failed: sessions whose end is known.
        failed_with_tokens: failed sessions of which a record says how many tokens it used.
        rewarded: sessions with labelled rewards.
        labelled, transitions, repetitions: sessions with labels of people, and those labels.
        looping: labelled sessions with enough repetitions.
        healthy: labelled sessions without a repetition, and all sessions of the sources said to be loop-free.
        rows: one row for each detector.
    """

    source: str
    sessions: int
    records: int
    stuck: int
    free: int
    disputed: int
    solved: int
    failed: int
    failed_with_tokens: int
    rewarded: int
    labelled: int
    transitions: int
    repetitions: int
    looping: int
    healthy: int
    rows: tuple[DetectorRow, ...]


def evaluate(
    sessions: Sequence[Evaluated],
    detectors: Sequence[str],
    is_loop_free: Callable[[str], bool],
    least_repetitions: int = 1,
) -> tuple[SourceRows, ...]:
    """Compare, for all sessions together and then source by source in the order of their names.

    Args:
        sessions: what was read, in any order.
        detectors: names of the detectors to compare, out of `streams.core.evaluation.alarms.DETECTORS`.
        is_loop_free: says for a source whether its unlabelled sessions are known not to loop. An unlabelled
            session of another source is neither looping nor healthy.
        least_repetitions: labelled repetitions from which on a session counts as looping.
    """
    ordered = sorted(sessions, key=lambda session: session.label.session_id)
    sources = sorted({session.label.source for session in ordered})
    parts = [(ALL, ordered)] if len(sources) != 1 else []
    parts += [(name, [each for each in ordered if each.label.source == name]) for name in sources]
    return tuple(_part(name, of, detectors, is_loop_free, least_repetitions) for name, of in parts)


def _part(
    source: str,
    sessions: Sequence[Evaluated],
    detectors: Sequence[str],
    is_loop_free: Callable[[str], bool],
    least: int,
) -> SourceRows:
    labelled = [(watch, label.repetitions) for label, watch in sessions if label.repetitions is not None]
    looping = [len(marked) >= least for _, marked in labelled]
    by_label = StuckSessions(
        [StuckReport(label.stuck, watch) for label, watch in sessions if label.stuck is not None]
    )
    every = SessionGroup([each.watch for each in sessions])
    healthy = SessionGroup([each.watch for each in sessions if is_healthy(each.label, is_loop_free)])
    solved, failed = (
        SessionGroup([watch for label, watch in sessions if label.solved is end]) for end in (True, False)
    )
    rewarded = [(label.rewards, watch) for label, watch in sessions if label.rewards is not None]
    drawn = resamples(len(labelled))
    repeating = [(watch, min(marked)) for watch, marked in labelled if marked]
    repeating_drawn = resamples(len(repeating))

    def row(detector: str) -> DetectorRow:
        raised = [(watch.positions(detector), marked) for watch, marked in labelled]
        live = detector in LIVE
        return DetectorRow(
            detector,
            by_label.scores(lambda watch: watch.positions(detector)) if live else None,
            _by_rule(by_label, detector) if live else {},
            solved.rate(detector),
            failed.rate(detector),
            failed.spared(detector) if live else None,
            failed.tokens_spared(detector) if live else None,
            _right_to_stop(rewarded, detector) if live else None,
            step_scores([counts_of(*each) for each in raised], drawn),
            session_scores([bool(positions) for positions, _ in raised], looping, drawn),
            healthy.rate(detector),
            every.rate(detector),
            delay(
                [wait(watch.positions(detector), onset, watch.seconds) for watch, onset in repeating],
                repeating_drawn,
            ),
            contributions(
                [(watch.raised[detector], marked) for watch, marked in labelled],
                [watch.raised[detector] for watch in healthy.watches],
            ),
            {
                kind: step_scores([_of_kind(kind, detector, *each) for each in labelled], drawn)
                for kind in CallKind
            },
        )

    return SourceRows(
        source,
        len(sessions),
        sum(each.watch.records for each in sessions),
        len(by_label.stuck),
        len(by_label.free),
        by_label.disputed,
        len(solved.watches),
        len(failed.watches),
        sum(bool(watch.tokens) for watch in failed.watches),
        len(rewarded),
        len(labelled),
        sum(each.label.transitions for each in sessions),
        sum(len(marked) for _, marked in labelled),
        sum(looping),
        len(healthy.watches),
        tuple(row(detector) for detector in detectors),
    )


def _right_to_stop(
    rewarded: Sequence[tuple[Sequence[float | None], DetectorWatch]], detector: str
) -> RightToStop:
    raised = [(rewards, watch.positions(detector)) for rewards, watch in rewarded]
    return right_to_stop((rewards, min(positions)) for rewards, positions in raised if positions)


def _by_rule(by_label: StuckSessions, detector: str) -> dict[str, StuckScores]:
    """Score each rule of a detector that has several."""
    rules = sorted(
        {rule for each in (*by_label.stuck, *by_label.free) for rule in each.watch.raised[detector]}
    )
    return {rule: by_label.scores(_of_rule(detector, rule)) for rule in rules} if len(rules) > 1 else {}


def _of_rule(detector: str, rule: str) -> Callable[[DetectorWatch], AbstractSet[int]]:
    return lambda watch: watch.raised[detector].get(rule, frozenset())


def _of_kind(kind: CallKind, detector: str, watch: DetectorWatch, marked: frozenset[int]) -> Counts:
    of_kind = watch.kinds.get(kind, set())
    return counts_of(watch.positions(detector) & of_kind, marked & of_kind)


def is_healthy(label: SessionLabel, is_loop_free: Callable[[str], bool]) -> bool:
    """Tell whether a session is known not to loop: by its labels, and without labels by its source."""
    if label.repetitions is None:
        return is_loop_free(label.source)
    return not label.repetitions
