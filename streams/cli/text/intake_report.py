"""What was read, what was left out and what breaks the contract, in plain words on standard error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from schemas.reason import Reason
from streams.cli.text.screen import echo
from streams.core.domain.outcome import Rejected, Scored
from streams.core.domain.text.figures import count
from streams.core.domain.text.printable import printable
from streams.core.offline import Judgement
from streams.formats.adapters.adapter import IntakeReason
from streams.formats.intake import Intake, Share
from streams.formats.registry import FORMATS
from streams.worker.dead_letter import reason_for

MOST_KINDS: Final = 20
"""Kinds of which one record is named. A file of another format has the same problem in each line."""

_WITHOUT_AGENT: Final = "identity.agent_id: blank; the record is scored, but raises no entropy alert"


def reported(judgements: Iterator[Judgement]) -> Iterator[Judgement]:
    """Yield the same judgements; what breaks the contract is named on standard error."""
    named: set[tuple[str, tuple[str, ...]]] = set()
    others = 0
    try:
        for judgement in judgements:
            if (found := _found(judgement)) is not None:
                reason, problems, detail = found
                kind = reason, problems
                if kind in named or len(named) == MOST_KINDS:
                    others += 1
                else:
                    named.add(kind)
                    echo(_line(judgement, reason, problems, detail), err=True)
            yield judgement
    finally:
        if others:
            echo(
                f"{count(others, 'more record')} with such problems; --json names the problems of each",
                err=True,
            )


def _found(judgement: Judgement) -> tuple[str, tuple[str, ...], str] | None:
    match judgement.outcome:
        case Rejected(problems=problems, detail=detail):
            return _reason(problems), problems, detail
        case Scored(violations=problems) if problems:
            return Reason.SCHEMA_VIOLATION, problems, _WITHOUT_AGENT
        case _:
            return None


def _reason(problems: tuple[str, ...]) -> str:
    """What a worker writes on the dead letter; the problem of a record that cannot be read is its reason."""
    [first, *others] = problems
    return reason_for(problems) if others or first not in set(Reason) else first


def _line(judgement: Judgement, reason: str, problems: tuple[str, ...], detail: str) -> str:
    ids = (None if name is None else printable(name, 200) for name in judgement[1:3])
    session_id, event_id = map(json.dumps, ids)
    return (
        f"{reason} offset={judgement.offset} session_id={session_id} event_id={event_id} "
        f"problems={','.join(problems)} detail={json.dumps(detail)}"
    )


MOST_TYPES_NAMED: Final = 6
_DETAIL: Final = 200
_PROBLEMS: Final = {
    IntakeReason.UNREADABLE: "could not be read",
    IntakeReason.UNKNOWN_SHAPE: "shape unknown to this format",
    IntakeReason.ORPHAN_RESULT: "results without their call",
    IntakeReason.UNANSWERED: "calls without a result, not judged",
    IntakeReason.NO_CONTENT: "calls without captured arguments, which can raise scores and no verdict",
    IntakeReason.NO_PRICE: "models without a price, so sessions without a cost",
}
_OWN: Final = frozenset(each.name for each in FORMATS if each.own)


def report_intake(intake: Intake) -> None:
    """Write what was left out. Files in Eddy's own formats alone get a line only if they have problems."""
    for line in intake_lines(intake):
        echo(line, err=True)


def intake_lines(intake: Intake) -> Iterator[str]:
    """Yield a line for each format, and one for each problem."""
    foreign = {name: share for name, share in intake.shares.items() if name not in _OWN}
    shown = (
        intake.shares if foreign else {name: each for name, each in intake.shares.items() if each.troubles}
    )
    for name, share in shown.items():
        yield from _share(name, share)
    yield from _problems(intake.damaged)
    if intake.strangers:
        names = ", ".join(printable(name, _DETAIL) for name in intake.named)
        more = intake.strangers - len(intake.named)
        others = f" and {more:,} more" if more else ""
        yield f"{count(intake.strangers, 'file')} left out because no format fits: {names}{others}"
        yield from (f"  {printable(each, 2 * _DETAIL)}" for each in intake.known)


def _share(name: str, share: Share) -> Iterator[str]:
    ignored = share.ignored.most_common(MOST_TYPES_NAMED)
    types = ", ".join(f"{printable(kind, 60)} {number:,}" for kind, number in ignored)
    others = len(share.ignored) - len(ignored)
    more = f" and {count(others, 'other type')}" if others else ""
    without = f"; ignored, because they say nothing of a step: {types}{more}" if ignored else ""
    yield f"{name}: {count(share.files, 'file')}, {count(share.records, 'record')}{without}"
    yield from _problems(share)


def _problems(share: Share) -> Iterator[str]:
    for reason, trouble in share.troubles.items():
        where, _, detail = trouble.first
        place = printable(where, _DETAIL)
        file = "" if where == trouble.file else f" in {printable(trouble.file, _DETAIL)}"
        words = _PROBLEMS[IntakeReason(reason)]
        yield f"  {words}: {trouble.count:,}; the first: {place}{file}: {printable(detail, _DETAIL)}"
