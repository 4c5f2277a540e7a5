"""The list of dead letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from streams.console.console import Console
from streams.console.inbox.terms import duration_of
from streams.console.read_model.model import ReadModel
from streams.console.read_model.rows import LetterRow
from streams.console.view import newest_first
from streams.console.views.following import board_of
from streams.core.domain.text.printable import printable
from streams.core.errors import ConfigurationError

#: The filter of a fate, and how a fate begins that it lets pass.
FATES: Final = {"none": "", "sent": "sent", "uncertain": "uncertain"}


def letter_list(model: ReadModel, query: Mapping[str, str], now: int) -> dict[str, Any]:
    """Return the dead letters that a query asks for, newest first, and how many of them each reason has.

    Args:
        model: Read model of the console.
        query: ``reason``; ``session``, a whole id; ``since``, a length of time such as 2h; ``fate``, one of
            `FATES`; ``cursor``. The counts are of every reason.
        now: Time of the call, in milliseconds since 1970.

    Raises:
        ConfigurationError: names what is wrong with the query.
    """
    found = _found(model, query, now)
    counts = Counter(row.reason for row in found)
    chosen = _of_reason(found, query)
    shown, paged = newest_first(chosen, lambda row: row.ts, place_of, query.get("cursor", "").strip())
    return {
        "rows": [letter_row(model, row) for row in shown],
        **paged._asdict(),
        "reasons": [{"reason": name, "count": count} for name, count in counts.most_common()],
        "all": len(found),
        "fates": list(FATES),
    }


def places(model: ReadModel, query: Mapping[str, str], now: int) -> list[tuple[int, int]]:
    """Return partition and offset of every letter that a query asks for, as `letter_list`, newest first."""
    found = sorted(_of_reason(_found(model, query, now), query), key=lambda row: (-row.ts, row[:2]))
    return [(row.partition, row.offset) for row in found]


def _found(model: ReadModel, query: Mapping[str, str], now: int) -> list[LetterRow]:
    given = {name: value.strip() for name, value in query.items()}
    session_id, fate = given.get("session", ""), given.get("fate", "")
    if fate and fate not in FATES:
        raise ConfigurationError(f'Unknown fate "{printable(fate, 40)}". Known are {", ".join(FATES)}.')
    since = now - duration_of("since", given["since"]) if given.get("since") else None
    return [
        row
        for row in model.ledger.letters.values()
        if (not session_id or row.session_id == session_id)
        and (since is None or row.ts >= since)
        and (not fate or _has_fate(model.ledger.fate(row), fate))
    ]


def _of_reason(found: list[LetterRow], query: Mapping[str, str]) -> list[LetterRow]:
    reason = query.get("reason", "").strip()
    return [row for row in found if not reason or row.reason == reason]


def place_of(row: LetterRow) -> str:
    """Return the place of a letter as addresses have it."""
    return f"{row.partition}:{row.offset}"


def _has_fate(found: str, wanted: str) -> bool:
    return found.startswith(FATES[wanted]) if FATES[wanted] else not found


def letter_row(model: ReadModel, row: LetterRow) -> dict[str, Any]:
    """Return what the list says of a letter."""
    return {
        "at": place_of(row),
        "ts": row.ts,
        "reason": row.reason,
        "problems": row.problems.split(",") if row.problems else [],
        "session_id": row.session_id,
        "source": row.source,
        "size": row.size,
        "cut": row.cut,
        "stage": row.stage,
        "fate": model.ledger.fate(row),
    }


def routes(console: Console) -> Sequence[web.RouteDef]:
    """Return the route of the list."""

    async def show(request: web.Request) -> web.Response:
        model, now, problem = board_of(console).model, console.clock(), ""
        try:
            found = letter_list(model, request.query, now)
        except ConfigurationError as error:
            found, problem = letter_list(model, {}, now), str(error)
        content = {**found, "query": dict(request.query), "problem": problem}
        return console.answer(request, "dead_letters.html.j2", "dead-letters", content)

    return [web.get("/dead-letters", show)]
