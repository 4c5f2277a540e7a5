"""What other settings change: figures of the same sessions under two documents, pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from streams.core.evaluation.alarms import LIVE
from streams.core.evaluation.estimate import Estimate, Sides, difference, ratio, resamples
from streams.core.evaluation.evaluation import Evaluated, is_healthy
from streams.core.evaluation.first_alarm import MEDIAN, quantile_of, spared_share
from streams.core.evaluation.scores import counts_of, session_counts, total
from streams.core.evaluation.stuck import StuckReport, free_counts, seen, stuck_counts


@dataclass(frozen=True, slots=True)
class StuckChange:
    """What changes against labels that say since when an agent was stuck, as `StuckScores` has it.

    Attributes:
        found, false, precision, median_delay, spared: each under the one document less under the other.
    """

    found: Estimate
    false: Estimate
    precision: Estimate
    median_delay: Estimate
    spared: Estimate


@dataclass(frozen=True, slots=True)
class ScoreDifference:
    """What changes for one detector.

    Attributes:
        detector: name of the detector in `DETECTORS`.
        stuck: over the sessions that are labelled stuck or not; None for a detector that speaks later.
        precision, recall, f1: over the records of the labelled sessions.
        sessions_f1: over the labelled sessions.
        healthy, solved: such sessions with an alarm, under the first document and under the second.
    """

    detector: str
    stuck: StuckChange | None
    precision: Estimate
    recall: Estimate
    f1: Estimate
    sessions_f1: Estimate
    healthy: tuple[int, int]
    solved: tuple[int, int]


def differences(
    ours: Sequence[Evaluated],
    theirs: Sequence[Evaluated],
    detectors: Sequence[str],
    is_loop_free: Callable[[str], bool],
    least_repetitions: int = 1,
) -> tuple[ScoreDifference, ...]:
    """Compare the same sessions under two documents: ``ours`` less ``theirs``.

    Args:
        ours: the sessions under the one document, in any order.
        theirs: the sessions under the other.
        detectors: as for `streams.core.evaluation.evaluation.evaluate`, and so are the last two.
        is_loop_free: says which sources do not loop.
        least_repetitions: repetitions of a session that loops.

    Raises:
        ValueError: they are not the same sessions.
    """
    first, second = (sorted(each, key=lambda session: session.label.session_id) for each in (ours, theirs))
    if [each.label for each in first] != [each.label for each in second]:
        raise ValueError("the two sides hold different sessions")
    pairs = list(zip(first, second, strict=True))
    labelled = _sides(pairs, lambda each: each.label.repetitions is not None)
    healthy = _sides(pairs, lambda each: is_healthy(each.label, is_loop_free))
    solved = _sides(pairs, lambda each: each.label.solved is True)
    stuck = _sides(pairs, lambda each: each.label.stuck is not None and each.label.stuck.stuck is True)
    free = _sides(pairs, lambda each: each.label.stuck is not None and each.label.stuck.stuck is False)
    drawn = resamples(len(labelled.ours))

    def compared(detector: str) -> ScoreDifference:
        def raised(each: Evaluated) -> frozenset[int]:
            return each.watch.positions(detector)

        def alarmed(sides: Sides[Evaluated]) -> tuple[int, int]:
            return sum(map(bool, map(raised, sides.ours))), sum(map(bool, map(raised, sides.theirs)))

        records = labelled.of(lambda each: counts_of(raised(each), each.label.repetitions or frozenset()))
        sessions = labelled.of(
            lambda each: session_counts(raised(each), len(each.label.repetitions or ()) >= least_repetitions)
        )
        return ScoreDifference(
            detector,
            _stuck_change(stuck, free, detector) if detector in LIVE else None,
            difference(records, lambda each: total(each).precision, drawn),
            difference(records, lambda each: total(each).recall, drawn),
            difference(records, lambda each: total(each).f1, drawn),
            difference(sessions, lambda each: total(each).f1, drawn),
            alarmed(healthy),
            alarmed(solved),
        )

    return tuple(map(compared, detectors))


def _sides(
    pairs: Sequence[tuple[Evaluated, Evaluated]], belongs: Callable[[Evaluated], bool]
) -> Sides[Evaluated]:
    """Return the pairs of one group; both halves of a pair have the same label."""
    of = [(one, other) for one, other in pairs if belongs(one)]
    return Sides([one for one, _ in of], [other for _, other in of])


def _stuck_change(stuck: Sides[Evaluated], free: Sides[Evaluated], detector: str) -> StuckChange:
    def report(each: Evaluated) -> StuckReport:
        if each.label.stuck is None:
            raise ValueError(f"{each.label.session_id} is not labelled")
        return StuckReport(each.label.stuck, each.watch)

    found = stuck.of(lambda each: seen(report(each), lambda watch: watch.positions(detector)))
    false = free.of(lambda each: free_counts(report(each), lambda watch: watch.positions(detector)))
    counts = found.of(stuck_counts)
    waits = found.of(lambda each: None if each.wait is None else each.wait.records)
    every = Sides([*counts.ours, *false.ours], [*counts.theirs, *false.theirs])
    of_stuck, of_free = resamples(len(found.ours)), resamples(len(false.ours))
    of_every = resamples(len(every.ours))
    return StuckChange(
        difference(counts, lambda each: total(each).recall, of_stuck),
        difference(false, lambda each: ratio(total(each).false, len(each)), of_free),
        difference(every, lambda each: total(each).precision, of_every),
        difference(waits, quantile_of(MEDIAN), of_stuck),
        difference(found, lambda each: spared_share([session.spared for session in each]), of_stuck),
    )
