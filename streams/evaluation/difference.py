"""What other settings change: figures of the same sessions under two documents, pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from streams.evaluation.counts import Counts, counts_of, total
from streams.evaluation.evaluation import Evaluated, is_healthy
from streams.evaluation.intervals import Interval, percentiles, redrawn, resamples
from streams.evaluation.scores import session_counts

Figure = Callable[[Counts], float | None]


@dataclass(frozen=True, slots=True)
class Change:
    """A figure under one document less that under the other, and its interval; None where one has none.

    Both figures of a resample are of the same sessions, so the interval says how far the change depends on
    which sessions were recorded. One that does not reach 0 is a change worth the name.
    """

    value: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Difference:
    """What changes for one detector.

    Attributes:
        detector: its name.
        precision, recall, f1: over the records of the labelled sessions.
        sessions_f1: over the labelled sessions.
        healthy: healthy sessions with an alarm, under the first document and under the second.
    """

    detector: str
    precision: Change
    recall: Change
    f1: Change
    sessions_f1: Change
    healthy: tuple[int, int]


def differences(
    ours: Sequence[Evaluated],
    theirs: Sequence[Evaluated],
    detectors: Sequence[str],
    is_loop_free: Callable[[str], bool],
    least_repetitions: int = 1,
) -> tuple[Difference, ...]:
    """Compare the same sessions under two documents: ``ours`` less ``theirs``.

    Args:
        ours: the sessions under the one document, in any order.
        theirs: the sessions under the other.
        detectors: as for `streams.evaluation.evaluation.evaluate`, and so are the last two.
        is_loop_free: says which sources do not loop.
        least_repetitions: repetitions of a session that loops.

    Raises:
        ValueError: they are not the same sessions.
    """
    first, second = (sorted(each, key=lambda session: session.label.session_id) for each in (ours, theirs))
    if [each.label for each in first] != [each.label for each in second]:
        raise ValueError("the two sides hold different sessions")
    labelled = [at for at, each in enumerate(first) if each.label.repetitions is not None]
    healthy = [at for at, each in enumerate(first) if is_healthy(each.label, is_loop_free)]
    drawn = resamples(len(labelled))

    def difference(detector: str) -> Difference:
        records, sessions, alarmed = [], [], []
        for side in (first, second):
            raised = [(side[at].watch.positions(detector), side[at].label.repetitions) for at in labelled]
            pairs = [(positions, marked or frozenset()) for positions, marked in raised]
            records.append([counts_of(*pair) for pair in pairs])
            sessions.append([session_counts(at, len(marked) >= least_repetitions) for at, marked in pairs])
            alarmed.append(sum(bool(side[at].watch.positions(detector)) for at in healthy))
        return Difference(
            detector,
            _change(lambda counts: counts.precision, records, drawn),
            _change(lambda counts: counts.recall, records, drawn),
            _change(lambda counts: counts.f1, records, drawn),
            _change(lambda counts: counts.f1, sessions, drawn),
            (alarmed[0], alarmed[1]),
        )

    return tuple(map(difference, detectors))


def _change(figure: Figure, sides: Sequence[Sequence[Counts]], drawn: Sequence[Sequence[int]]) -> Change:
    ours, theirs = sides
    resampled = zip(redrawn(ours, drawn), redrawn(theirs, drawn), strict=True)
    return Change(
        _less(figure(total(ours)), figure(total(theirs))),
        percentiles(_less(figure(one), figure(other)) for one, other in resampled),
    )


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other
