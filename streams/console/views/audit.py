"""The audit: who did what at the console or a shell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson
from aiohttp import web

from streams.console.console import Console
from streams.console.inbox.terms import duration_of
from streams.console.read_model.model import ReadModel
from streams.console.read_model.rows import ActionRow, EpisodeRow
from streams.console.read_model.triage import request_asked, subject_of
from streams.console.view import newest_first
from streams.console.views.following import board_of
from streams.control.audit import AuditKind
from streams.core.domain.text.printable import printable
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError

_NO_EPISODE: Final = subject_of("")
KINDS: Final = tuple(map(str, AuditKind))


def action_list(model: ReadModel, query: Mapping[str, str], now: int) -> dict[str, Any]:
    """Return the actions that a query asks for, newest first.

    Args:
        model: Read model of the console.
        query: ``who``, a whole name; ``kind``; ``since``, a length of time such as 2h; ``cursor``.
        now: Time of the call, in milliseconds since 1970.

    Raises:
        ConfigurationError: names what is wrong with the query.
    """
    who, kind = query.get("who", "").strip(), query.get("kind", "").strip()
    if kind and kind not in KINDS:
        raise ConfigurationError(f'Unknown kind "{printable(kind, 40)}". Known are {", ".join(KINDS)}.')
    since = now - duration_of("since", query["since"].strip()) if query.get("since", "").strip() else None
    found = [
        row
        for row in model.ledger.actions.values()
        if (not who or row.who == who)
        and (not kind or row.kind == kind)
        and (since is None or row.at >= since)
    ]
    shown, paged = newest_first(found, lambda row: row.at, lambda row: row.id, query.get("cursor", ""))
    rows = [{**_row(row), "session_id": session_of(row, model.episode)} for row in shown]
    return {"rows": rows, **paged._asdict(), "kinds": KINDS}


_DID: Final = {
    "login": "logged in",
    "refused": "was refused",
    "settings": "changed the settings in force",
    "shadow": "changed the settings on trial",
    "redrive": "sent dead letters again",
    "policy": "changed the policy of interventions",
    "view_raw": "looked at the bytes of",
    "forget": "had forgotten",
}
#: What triage and commands do, by the word in their request.
_WORDS: Final = {
    "ack": "acknowledged",
    "unack": "took back a decision about",
    "snooze": "snoozed",
    "assign": "assigned",
    "note": "left a note on",
    "loop": "called a loop",
    "not_a_loop": "called no loop",
    "pause": "asked to pause",
    "resume": "asked to resume",
    "abort": "asked to end",
    "inject_message": "sent a message to",
    "raise_budget": "set limits for",
}


def did(kind: str, request: str | None) -> str:
    """Return what an action did, in words to which its target can be added; a later kind as it is called.

    >>> (
    ...     did("triage", '{"do": "ack"}'),
    ...     did("login", None),
    ...     did("command", '{"action": "pause"}'),
    ...     did("x", "{"),
    ... )
    ('acknowledged', 'logged in', 'asked to pause', 'x')
    """
    asked = request_asked(request)
    word = asked.get("do") or asked.get("action")
    return _WORDS.get(word if isinstance(word, str) else "") or _DID.get(kind, kind)


def session_of(row: ActionRow, episode: Callable[[str], EpisodeRow | None]) -> str | None:
    """Return the session that an action is about, None if it is about none, or about one that is not known.

    Args:
        row: Action of the audit.
        episode: Returns the episode with an id, as far as it is known.
    """
    match row.kind:
        case "command":
            is_one = request_asked(orjson.loads(row.body).get("request")).get("session_id") == row.target
            return row.target if is_one else None
        case "policy":
            of_episode = "episode_id" in request_asked(orjson.loads(row.body).get("request"))
            return row.target if of_episode else None
        case "triage":
            about = episode(row.target)
            if about is not None:
                return about.session_id
            return row.target.removeprefix(_NO_EPISODE) if row.target.startswith(_NO_EPISODE) else None
    return None


def _row(row: ActionRow) -> dict[str, Any]:
    said = orjson.loads(row.body)
    return {
        "id": row.id,
        "at": row.at,
        "who": row.who,
        "role": row.role,
        "via": said.get("via"),
        "kind": row.kind,
        "target": row.target,
        "why": row.why,
        "did": did(row.kind, said.get("request")),
        "request": said.get("request"),
        "result": row.result,
        "result_place": said.get("result_place"),
        "place": {"topic": str(Topic.CONSOLE_ACTIONS), "partition": row.partition, "offset": row.offset},
    }


def routes(console: Console) -> Sequence[web.RouteDef]:
    """Return the route of the list."""

    async def show(request: web.Request) -> web.Response:
        model, now, problem = board_of(console).model, console.clock(), ""
        try:
            found = action_list(model, request.query, now)
        except ConfigurationError as error:
            found, problem = action_list(model, {}, now), str(error)
        content = {**found, "query": dict(request.query), "problem": problem}
        return console.answer(request, "audit.html.j2", "audit", content)

    return [web.get("/audit", show)]
