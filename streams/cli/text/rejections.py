"""Records that break the contract: standard error names the first of each kind and counts the others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from schemas.reason import Reason
from streams.cli.text.screen import echo
from streams.core.domain.outcome import Rejected, Scored
from streams.core.domain.text.amounts import count
from streams.core.domain.text.printable import printable
from streams.core.offline import Judgement
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
