"""The door for gateways: whether a session's next call of a model may go through.

Two forms: `GET /sessions/{id}/verdict` answers with JSON, and `/authz/...` with a status, as nginx's
``auth_request`` and Envoy's ``ext_authz`` want it. Both need the token of an agent, as guards do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from aiohttp import web
from eddy_client.protocol import LEVELS, Action
from eddy_client.protocol import place as command_place

from streams.console.app import problem
from streams.console.console import Console
from streams.console.guard_api import GuardApi, WatchedSession, agent_asking, cut_off, foreign
from streams.console.read_model.model import ReadModel
from streams.console.read_model.rows import CommandRow
from streams.core.domain.level import Level
from streams.core.errors import ConfigurationError
from streams.core.policy.verdict_answer import VerdictAnswer, asked_level

SESSION_HEADER: Final = "X-Eddy-Session"
"""Names the session in a request to `/authz/`."""

DENY_HEADER: Final = "X-Eddy-Deny"
"""The level from which on calls are refused; it counts before `deny` in the query."""

_LONGEST_WAIT_S: Final = 30


def answer_of(model: ReadModel, session_id: str, commands: Iterable[CommandRow], now: int) -> VerdictAnswer:
    """Return how a session is, by what the console has read.

    Args:
        model: Read model of the console.
        session_id: id of the session.
        commands: Those that stand for it, of any scope.
        now: Time of the call, in milliseconds since 1970.
    """
    control, until = _control(commands, now)
    case = model.cases.get(session_id)
    if case is None:
        return VerdictAnswer(session_id, control=control, until=until)
    loops = [each for each in case.episodes.values() if each.open]
    worst = max(loops, key=lambda each: (Level(each.level).rank, each.last_ts), default=None)
    answer = VerdictAnswer(
        session_id,
        known=True,
        level=Level.NORMAL,
        control=control,
        until=until,
        ended=bool(case.session.ended),
        as_of=case.session.last_ts,
    )
    if worst is None:
        return answer
    return answer._replace(
        level=Level(worst.level),
        rule=worst.rule,
        since=worst.first_ts,
        tokens=worst.tokens,
        cost=worst.cost,
    )


def _control(commands: Iterable[CommandRow], now: int) -> tuple[str, int | None]:
    """Return what is asked of a session now, and until when: it counts here though no guard has obeyed."""
    newest: dict[str, CommandRow] = {}
    for row in sorted(commands, key=command_place):
        if row.action in LEVELS:
            newest[row.scope] = row
    in_force = [row for row in newest.values() if row.expires_at > now]
    if any(row.action == Action.ABORT for row in in_force):
        return "aborted", None
    pauses = [row.expires_at for row in in_force if row.action == Action.PAUSE]
    return ("paused", max(pauses)) if pauses else ("none", None)


class VerdictApi:
    """What gateways are answered with.

    Args:
        console: Parts that all screens share.
        door: Knows the commands, and whose session a token may ask about.
        model: Read model of the console.
        clock: Returns the time in milliseconds since 1970.
    """

    def __init__(self, console: Console, door: GuardApi, model: ReadModel, clock: Callable[[], int]) -> None:
        self._console, self._door, self._model, self._clock = console, door, model, clock

    def routes(self) -> Sequence[web.RouteDef]:
        """Return the routes for gateways, which `Access` lets agents through to."""
        authorizing = [web.route(method, "/authz/{tail:.*}", self._authorize) for method in ("GET", "POST")]
        return [web.get("/sessions/{id:.+}/verdict", self._verdict), *authorizing]

    def _found(
        self, request: web.Request, session_id: str
    ) -> tuple[VerdictAnswer, Level | None] | web.Response:
        door = self._door
        if not door.may(agent_asking(self._console, request), WatchedSession(session_id, None)):
            return foreign(self._console, request, session_id)
        if (silent := door.commanded.silent_ms()) is not None:
            return cut_off(self._console, request, silent)
        try:
            # The path that a proxy asks with may be that of its client; the header is the proxy's own.
            deny = asked_level(request.headers.get(DENY_HEADER) or request.query.get("deny"))
        except ValueError as error:
            raise ConfigurationError("deny is WARNING or LOOP; leave it out for neither.") from error
        rows = door.commanded.commands(session_id, door.commanded.agent_of(session_id))
        obeyed = [row for row in rows if door.refusal(row) is None]
        return answer_of(self._model, session_id, obeyed, self._clock()), deny

    async def _verdict(self, request: web.Request) -> web.Response:
        found = self._found(request, request.match_info["id"])
        if isinstance(found, web.Response):
            return found
        answer, deny = found
        return web.json_response(answer.fields(deny), headers=_KEPT)

    async def _authorize(self, request: web.Request) -> web.Response:
        session_id = request.headers.get(SESSION_HEADER, "")
        if not session_id:
            # To nginx anything but 401 and 403 is a failure of its own.
            return problem(
                self._console,
                request,
                403,
                "No session is named",
                f"The header {SESSION_HEADER} is missing.",
                "Let the gateway set it from the request that it holds.",
            )
        found = self._found(request, session_id)
        if isinstance(found, web.Response):
            return found
        answer, deny = found
        headers = {
            **_KEPT,
            "X-Eddy-Level": str(answer.level or "unknown"),
            "X-Eddy-Control": answer.control or "unknown",
        }
        if answer.refusal(deny) is None:
            return web.Response(headers=headers)
        if answer.until is not None:
            left = -(-(answer.until - self._clock()) // 1_000)
            headers["Retry-After"] = str(max(1, min(_LONGEST_WAIT_S, left)))
        return web.json_response(answer.fields(deny), status=403, headers=headers)


#: An answer may be kept for a second.
_KEPT: Final = {"Cache-Control": "private, max-age=1"}
