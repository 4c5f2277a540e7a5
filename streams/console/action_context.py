"""What every action has: its fields, who asked, what must be known of the sessions, audit and answer."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Protocol

import orjson
from aiohttp import web
from eddy_client.protocol import Scope

from streams.console.auth import Identity
from streams.console.auth.exchange import own_path
from streams.console.command_form import Form, LabelFacts, Who, form_of, one
from streams.console.console import Console, wants_json
from streams.console.read_model.control import Hold
from streams.console.read_model.model import ReadModel
from streams.console.read_model.seen import is_live
from streams.console.read_model.triage import NOT_A_LOOP, EpisodeSeen, subject_of
from streams.control.audit import uuid7
from streams.control.command import Issuer, IssuerKind
from streams.control.publisher import CommandPublisher, Place
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError


class SessionQueries(Protocol):
    """The part of the read model that actions ask."""

    def seen(self, subject: str) -> EpisodeSeen:
        """Return how an episode is now; one that is not known as if nothing had happened."""

    def facts(self, subject: str) -> LabelFacts:
        """Return what is known of an episode, or of session/ and a session."""

    def agent_of(self, session_id: str) -> str | None:
        """Return the agent that spoke last in a session; None if it is not known."""

    def is_called_wrong(self, subject: str) -> bool:
        """Tell whether somebody has said of an episode that it is not a loop."""

    def live(self, agent_id: str | None) -> int:
        """Return how many sessions of an agent are live, or of all for None."""

    def holds(self) -> Sequence[Hold]:
        """Return the holds in force."""


@dataclass(frozen=True, slots=True)
class ModelKnown:
    """Asks the read model.

    Attributes:
        model: Read model of the console.
        clock: Returns the time in milliseconds since 1970.
    """

    model: ReadModel
    clock: Callable[[], int]

    def seen(self, subject: str) -> EpisodeSeen:
        """Return how an episode is now."""
        return EpisodeSeen.of(self.model.episode(subject))

    def facts(self, subject: str) -> LabelFacts:
        """Return what is known of an episode, or of session/ and a session."""
        episode = self.model.episode(subject)
        session_id = subject.removeprefix(subject_of("")) if episode is None else episode.session_id
        if episode is None:
            return LabelFacts(session_id, self.agent_of(session_id))
        tools = dict.fromkeys(each for each in orjson.loads(episode.tools) if each)
        return LabelFacts(session_id, episode.agent_id, episode.rule, episode.level, tuple(tools))

    def agent_of(self, session_id: str) -> str | None:
        """Return the agent that spoke last in a session; None if it is not known."""
        case = self.model.cases.get(session_id)
        return None if case is None else case.session.agent_id

    def is_called_wrong(self, subject: str) -> bool:
        """Tell whether somebody has said of an episode that it is not a loop."""
        said = self.model.ledger.triage.get(subject)
        return said is not None and said.state == NOT_A_LOOP

    def live(self, agent_id: str | None) -> int:
        """Return how many sessions are live."""
        now = self.clock()
        if agent_id is None:
            return self.model.live(now)
        since = now - self.model.live_ms
        of_agent = (case for case in self.model.cases.values() if case.session.agent_id == agent_id)
        return sum(is_live(case, since) for case in of_agent)

    def holds(self) -> Sequence[Hold]:
        """Return the holds in force."""
        return self.model.holds_in_force(self.clock())


_CHANCE_BYTES: Final = 10


class Passed(Protocol):
    """Waits until the console has folded a record."""

    async def __call__(self, topic: Topic, partition: int, offset: int) -> bool:
        """Return whether that is so, after a short wait."""


@dataclass(frozen=True, slots=True)
class ActionContext:
    """What actions are done with.

    Attributes:
        publisher: Where commands and audit records are published.
        known: What is known of the sessions.
        passed: Waits for the console's own fold, so that who acts sees what they did.
        chance: Returns so many random bytes.
    """

    publisher: CommandPublisher
    known: SessionQueries
    passed: Passed
    chance: Callable[[int], bytes] = os.urandom

    def who(self, request: web.Request, now: int) -> Who:
        """Return who acts now."""
        who: Identity = request["who"]
        issuer = Issuer(kind=IssuerKind.OPERATOR, name=who.name, role=who.role, via=who.via)
        return Who(issuer=issuer, now=now, new_id=lambda: uuid7(now, self.chance(_CHANCE_BYTES)))

    def reached(self, form: Form) -> list[str | None]:
        """Return the agents that a form's commands reach; None for one that is not known, and for all."""
        scope = one(form, "scope") or Scope.SESSION
        if scope == Scope.SESSION:
            return [self.known.agent_of(session_id) for session_id in form.get("session_ids", ())]
        return [one(form, "agent_id") if scope == Scope.AGENT else None]

    async def visible(self, topic: Topic, places: Iterable[Place]) -> bool:
        """Tell whether the console's own fold has all of it, after a short wait."""
        newest: dict[int, int] = {}
        for partition, offset in places:
            newest[partition] = max(offset, newest.get(partition, offset))
        waits: list[Awaitable[bool]] = [
            self.passed(topic, partition, offset) for partition, offset in newest.items()
        ]
        return all(await asyncio.gather(*waits))


async def form_sent(request: web.Request) -> Form:
    """Return the fields of a request.

    Raises:
        ConfigurationError: the body is neither a form nor JSON.
    """
    if request.content_type == "application/json":
        try:
            return form_of(orjson.loads(await request.read()))
        except orjson.JSONDecodeError as error:
            raise ConfigurationError("The body is no JSON.") from error
    try:
        fields = await request.post()
    except (LookupError, ValueError) as error:  # a charset that is unknown, or is not that of the bytes
        raise ConfigurationError("The form cannot be read. Send it in UTF-8.") from error
    form: dict[str, list[str]] = {}
    for name, value in fields.items():
        if isinstance(value, str):
            form.setdefault(name, []).append(value)
    return form


def done(
    console: Console, request: web.Request, form: Form, content: dict[str, Any], page: str
) -> web.Response:
    """Return the answer: JSON, or the way to a page for a form without a script."""
    if wants_json(request):
        return web.json_response({"status": "accepted", **content})
    given = next(iter(form.get("next", ())), "")
    address = console.pages.url("") + own_path(given) if given else page
    return web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": address})
