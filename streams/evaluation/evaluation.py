"""The whole comparison: what detectors raise against what people marked, per source and in all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from streams.evaluation.alarm_rate import AlarmRate, alarm_rate
from streams.evaluation.contribution import Contribution, contributions
from streams.evaluation.counts import Counts, counts_of, total
from streams.evaluation.delay import Delay, delay
from streams.evaluation.intervals import resamples
from streams.evaluation.kind import Kind
from streams.evaluation.labels import SessionLabel
from streams.evaluation.scores import Scores, session_scores, step_scores
from streams.evaluation.watch import Watch

ALL: Final = "all"
"""Stands where the name of a source stands, for all of them."""


class Evaluated(NamedTuple):
    """One session: its label and what the detectors said."""

    label: SessionLabel
    watch: Watch


@dataclass(frozen=True, slots=True)
class Row:
    """What one detector is worth on some sessions.

    Attributes:
        detector: its name.
        steps: over the records of the labelled sessions.
        sessions: over the labelled sessions.
        healthy: alarms of the healthy sessions; every one of these is false.
        every: alarms of all sessions, labelled or not; which are false is unknown.
        delay: over the sessions with labelled repetitions.
        rules: what each of its rules brings, on the labelled and the healthy sessions.
        kinds: ``steps`` taken apart by the kind of the record.
    """

    detector: str
    steps: Scores
    sessions: Scores
    healthy: AlarmRate
    every: AlarmRate
    delay: Delay
    rules: tuple[Contribution, ...]
    kinds: Mapping[Kind, Counts]


@dataclass(frozen=True, slots=True)
class Part:
    """The rows for one source, or for all of them.

    Attributes:
        source: name of the data set, or `ALL`.
        sessions, records: what was read.
        labelled, transitions, repetitions: sessions with labels of people, and those labels.
        looping: labelled sessions with enough repetitions.
        healthy: labelled sessions without a repetition, and all sessions of the sources said to be loop-free.
        rows: one per detector.
    """

    source: str
    sessions: int
    records: int
    labelled: int
    transitions: int
    repetitions: int
    looping: int
    healthy: int
    rows: tuple[Row, ...]


def evaluate(
    sessions: Sequence[Evaluated],
    detectors: Sequence[str],
    is_loop_free: Callable[[str], bool],
    least_repetitions: int = 1,
) -> tuple[Part, ...]:
    """Compare, for all sessions together and then source by source in the order of their names.

    Args:
        sessions: what was read, in any order.
        detectors: names of `streams.evaluation.alarms.DETECTORS`.
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
) -> Part:
    labelled = [(watch, label.repetitions) for label, watch in sessions if label.repetitions is not None]
    healthy = [each.watch for each in sessions if is_healthy(each.label, is_loop_free)]
    looping = [len(marked) >= least for _, marked in labelled]
    drawn = resamples(len(labelled))

    def row(detector: str) -> Row:
        raised = [(watch.positions(detector), marked) for watch, marked in labelled]
        return Row(
            detector,
            step_scores([counts_of(*each) for each in raised], drawn),
            session_scores([bool(positions) for positions, _ in raised], looping, drawn),
            alarm_rate([watch.positions(detector) for watch in healthy]),
            alarm_rate([each.watch.positions(detector) for each in sessions]),
            delay(raised),
            contributions(
                [(watch.raised[detector], marked) for watch, marked in labelled],
                [watch.raised[detector] for watch in healthy],
            ),
            {
                kind: total(_of_kind(kind, watch, detector, marked) for watch, marked in labelled)
                for kind in Kind
            },
        )

    return Part(
        source,
        len(sessions),
        sum(each.watch.records for each in sessions),
        len(labelled),
        sum(each.label.transitions for each in sessions),
        sum(len(marked) for _, marked in labelled),
        sum(looping),
        len(healthy),
        tuple(row(detector) for detector in detectors),
    )


def _of_kind(kind: Kind, watch: Watch, detector: str, marked: frozenset[int]) -> Counts:
    of_kind = watch.kinds.get(kind, set())
    return counts_of(watch.positions(detector) & of_kind, marked & of_kind)


def is_healthy(label: SessionLabel, is_loop_free: Callable[[str], bool]) -> bool:
    """Tell whether a session is known not to loop: by its labels, and without labels by its source."""
    if label.repetitions is None:
        return is_loop_free(label.source)
    return not label.repetitions
