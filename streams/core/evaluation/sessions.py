"""From judged records and label lines to the sessions to compare."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from streams.core.domain.outcome import Rejected, Scored
from streams.core.evaluation.evaluation import Evaluated
from streams.core.evaluation.labels import SessionLabel, session_label, source_of
from streams.core.evaluation.watch import DetectorWatch
from streams.core.offline import Judgement


class Gathered(NamedTuple):
    """The sessions that can be compared, and what was wrong with the others, a line each."""

    sessions: tuple[Evaluated, ...]
    problems: tuple[str, ...]


def gather(
    judgements: Iterable[Judgement],
    label_lines: Iterable[Mapping[str, Any]],
    untimed: Container[str] = (),
) -> Gathered:
    """Bring records and labels together. A session without a label line counts as unlabelled.

    The clocks of the sessions ``untimed`` are made up: their waits are not known in seconds.

    Left out, and named among the problems: labels without records, labels of another number of records, a
    second line that labels the same, a line that cannot be. Records that are refused raise nothing and are
    named, too.
    """
    watches: dict[str, DetectorWatch] = {}
    records, refused = 0, list[Rejected]()
    for judgement in judgements:
        records += 1
        if isinstance(judgement.outcome, Rejected):
            refused.append(judgement.outcome)
        if judgement.session_id is not None:
            watch = watches.setdefault(
                judgement.session_id, DetectorWatch(timed=judgement.session_id not in untimed)
            )
            match judgement.outcome:
                case Scored(decision=decision, enriched=enriched):
                    watch.add(decision, enriched["eddy"])
                case _:
                    watch.skip()
    labels, problems = _labels(label_lines)
    if refused:
        problems.append(_refusal(refused, records))
    sessions = []
    for session_id, watch in watches.items():
        label = labels.get(session_id) or SessionLabel(session_id, source_of(session_id))
        if (misfit := label.misfit(watch.records)) is None:
            sessions.append(Evaluated(label, watch))
        else:
            problems.append(f"{session_id}: {misfit}; left out")
    problems += [f"{name}: labels without records" for name in labels if name not in watches]
    return Gathered(tuple(sessions), tuple(problems))


def _refusal(refused: Sequence[Rejected], records: int) -> str:
    said = f"{len(refused)} of {records} records are refused, the first for {', '.join(refused[0].problems)}"
    if len(refused) < records:
        return said
    return f"{said}: neither events of trajectories nor decision logs. `eddy ingest` converts other formats"


def _labels(lines: Iterable[Mapping[str, Any]]) -> tuple[dict[str, SessionLabel], list[str]]:
    labels: dict[str, SessionLabel] = {}
    problems = []
    for line in lines:
        try:
            label = session_label(line)
            if label is None:
                problems.append("a label line without a session_id")
                continue
            known = labels.get(label.session_id)
            labels[label.session_id] = label if known is None else known.joined(label)
        except ValueError as error:
            problems.append(f"{line['session_id']}: {error}")
    return labels, problems
