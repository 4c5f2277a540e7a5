"""The one door of the console: every request goes through it before any route sees it."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from ipaddress import ip_network
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from streams.console.auth import headers, refusal
from streams.console.auth.cookie import cookie_name
from streams.console.auth.exchange import csrf_of, own_path, peer_of, remember, route_of, wants_page
from streams.console.auth.identity import Identity, Role, Through, is_of, through
from streams.console.auth.login import AccessPages, PlainPages, login_routes
from streams.console.auth.logins import Logins, TokenFile
from streams.console.auth.needs import Need, host_refusal, need_of, origin_refusal
from streams.console.auth.openid_login import IdentityProvider, OpenIdLogin
from streams.console.auth.policy import (
    AUDITED,
    COMMANDS,
    LOGINS,
    WHAT_IF,
    AccessPolicy,
    Rate,
    Rates,
    grants_of,
    place_of,
)
from streams.console.auth.refusal import AuthRefusal
from streams.console.auth.tokens import AgentToken, agents_of, people_of, whose
from streams.console.auth.trail import Audit, login_record, refusal_record
from streams.console.settings import ConsoleSettings
from streams.control.audit import AuditRecord, uuid7
from streams.core.errors import ConfigurationError, EddyError
from streams.observe.access import is_loopback

log = logging.getLogger(__name__)

_AUDIT_S: Final = 2.0


def _wall_clock() -> int:
    return int(time.time() * 1000)


class Access:
    """Says who asks, and refuses what they may not do.

    Args:
        policy: Rules that the operator has set.
        key: Signs cookies; the same for all instances behind one address.
        people, agents: The files of tokens; None if not set.
        provider: OpenID provider that people log in at; None if they do not.
        pages: Makes the pages for people who are not logged in.
        audit: Publishes logins and refusals; None publishes nothing.
        clock: Returns the time in milliseconds since 1970.
    """

    def __init__(
        self,
        policy: AccessPolicy,
        key: bytes,
        *,
        people: TokenFile | None = None,
        agents: TokenFile | None = None,
        provider: IdentityProvider | None = None,
        pages: AccessPages | None = None,
        audit: Audit | None = None,
        clock: Callable[[], int] = _wall_clock,
    ) -> None:
        self.policy = policy
        self.pages = pages or PlainPages(policy.base_path)
        known = provider.registration if provider is not None else None
        self._logins = Logins(policy, key, people, f"{known.issuer} {known.client_id}" if known else "")
        self._openid = OpenIdLogin(self, provider, self._logins, key) if provider is not None else None
        self._agents = agents
        self._audit = audit
        self._clock = clock
        self._rates = Rates()

    @classmethod
    def of(
        cls,
        settings: ConsoleSettings,
        *,
        pages: AccessPages | None = None,
        audit: Audit | None = None,
        clock: Callable[[], int] = _wall_clock,
    ) -> Access:
        """Make it from the settings.

        Raises:
            ConfigurationError: a file of tokens or an address is wrong, a package is missing, or other
                machines could come in without a login.
        """
        proxy_secret, secret = settings.console_proxy_secret, settings.console_secret
        provider = _provider(settings)
        policy = AccessPolicy(
            host=settings.console_host,
            base_path=settings.console_base_path,
            people=settings.console_tokens is not None,
            trusted=tuple(map(ip_network, settings.trusted_proxies)),
            proxy_secret=proxy_secret.get_secret_value() if proxy_secret else None,
            user_header=settings.console_proxy_user_header,
            groups_header=settings.console_proxy_groups_header,
            operator_groups=grants_of(settings.operator_groups, "EDDY_CONSOLE_OPERATOR_GROUPS"),
            viewer_groups=grants_of(settings.viewer_groups, "EDDY_CONSOLE_VIEWER_GROUPS"),
            openid=urlsplit(provider.registration.issuer).netloc if provider else "",
            address=settings.console_url,
            read_only=settings.console_read_only,
            login_ms=settings.console_login_hours * 3_600_000,
        ).checked()
        if (
            policy.trusted
            and not policy.viewer_groups
            and any(each.agents for each in policy.operator_groups)
        ):
            log.warning(
                "EDDY_CONSOLE_OPERATOR_GROUPS limits groups to agents, but without "
                "EDDY_CONSOLE_VIEWER_GROUPS everyone whom the proxy names sees all sessions"
            )
        people, agents = settings.console_tokens, settings.console_agent_tokens
        return cls(
            policy,
            secret.get_secret_value().encode() if secret else secrets.token_bytes(32),
            people=TokenFile(people, people_of, "EDDY_CONSOLE_TOKENS") if people else None,
            agents=TokenFile(agents, agents_of, "EDDY_CONSOLE_AGENT_TOKENS") if agents else None,
            provider=provider,
            pages=pages,
            audit=audit,
            clock=clock,
        )

    def protect(self, app: web.Application) -> None:
        """Put an application behind it: the middleware before all others, headers on every answer, routes."""
        app.middlewares.insert(0, self.middleware)
        app.on_response_prepare.append(self.add_headers)
        app.add_routes(self.routes())

    def routes(self) -> Sequence[web.RouteDef]:
        """Return the routes for logging in and out."""
        return [*login_routes(self), *(self._openid.routes() if self._openid is not None else ())]

    def link(self, address: str) -> str:
        """Return an address of the console, with a token that logs in once if people log in by link.

        Args:
            address: Address of the console, such as `http://127.0.0.1:8070`.
        """
        return f"{address}/login#t={self._logins.link_token()}" if self.policy.by_link else address

    def csrf(self, request: web.Request) -> str:
        """Return what each form of a page holds in its field `csrf`, or a script in `X-CSRF-Token`."""
        who: Identity = request["who"]
        return self._logins.csrf(who, self._clock())

    def agent_of(self, token: str) -> AgentToken | None:
        """Return the agent that has a token."""
        return whose(token, self._agents.listed().agents) if self._agents is not None else None

    def commands(self, count: int) -> AuthRefusal | None:
        """Count commands that an action is about to issue; refuse them if there were too many."""
        return self.limited(COMMANDS, "", count)

    def outside(self, request: web.Request, agents: Iterable[str | None]) -> AuthRefusal | None:
        """Refuse an action on sessions of agents that are not those of who acts.

        Args:
            request: Request as it came in.
            agents: The agent of each session; None for one that is not known, and for all agents.
        """
        who: Identity = request["who"]
        if all(is_of(who.stops, agent_id) for agent_id in agents):
            return None
        return refusal.wrong_team(who.stops)

    def judges(self, request: web.Request, records: int) -> AuthRefusal | None:
        """Count records that are about to be judged again for someone; refuse it if there were too many."""
        who: Identity = request["who"]
        return self.limited(WHAT_IF, _user(who), records)

    def still(self, request: web.Request) -> bool:
        """Tell whether someone may go on reading a stream that began with this request.

        A stream outlives its login: a person logs out, or loses their line in the file of tokens.
        """
        who: Identity | None = request.get("who")
        if who is not None and who.role is Role.AGENT:
            return self.agent(request) is not None
        return who is not None and self.identity(request) == who

    @property
    def middleware(self) -> Middleware:
        """Refuses, or lets the request through with `request["who"]`."""

        @web.middleware
        async def door(request: web.Request, handler: Handler) -> web.StreamResponse:
            try:
                refused = await self._refusal(request, need_of(request.method, route_of(request)))
                return await handler(request) if refused is None else await self.refuse(request, refused)
            except web.HTTPRequestEntityTooLarge:
                return await self.refuse(request, refusal.too_large())

        return door

    async def add_headers(self, request: web.Request, response: web.StreamResponse) -> None:
        """Add what every answer says to the browser. For `on_response_prepare`."""
        response.headers["Server"] = "eddy"
        if not self.through(request).secure and not is_loopback(request.url.host or ""):
            response.headers.setdefault("Referrer-Policy", headers.REFERRER_IN_THE_CLEAR)
        for name, value in headers.ALWAYS.items():
            response.headers.setdefault(name, value)

    async def refuse(
        self, request: web.Request, refused: AuthRefusal, page: str | None = None
    ) -> web.Response:
        """Answer with a refusal, and audit it.

        Args:
            request: Request as it came in.
            refused: Refusal that is to be sent.
            page: For people; None for the page that says only this.
        """
        asks_for_login = refused.kind == "not-logged-in" and request.method in ("GET", "HEAD")
        if not asks_for_login and not self._rates.take(AUDITED, "", self._clock()):
            who, target, peer = request.get("who"), _target(request), peer_of(request)
            await self._publish(refusal_record(self._id(), self._clock(), who, target, peer, refused))
        if wants_page(request):
            if asks_for_login and (self.policy.takes_tokens or self.policy.openid):
                return self._to_login(request)
            text = self.pages.refused(refused) if page is None else page
            answer = web.Response(text=text, content_type="text/html", status=refused.status)
        else:
            problem = refused.document()
            answer = web.json_response(
                problem, status=refused.status, content_type="application/problem+json"
            )
        if refused.retry_after_s:
            answer.headers["Retry-After"] = str(refused.retry_after_s)
        if refused.kind == "wrong-agent-token":
            answer.headers["WWW-Authenticate"] = "Bearer"
        return answer

    async def login(self, request: web.Request, token: str) -> str | AuthRefusal:
        """Take a token; return the value of a cookie."""
        if refused := self.limited(LOGINS, place_of(peer_of(request))):
            return refused
        begun = self._logins.begun(token, self._clock())
        if begun is None:
            return refusal.wrong_token()
        who, value = begun
        await self.admitted(request, who)
        return value

    async def admitted(self, request: web.Request, who: Identity, subject: str | None = None) -> None:
        """Audit that somebody came in.

        Args:
            request: Request that they came in by.
            who: With `via` as the login was.
            subject: What a provider knows the person by; None if they did not log in at one.
        """
        target, peer = _target(request), peer_of(request)
        await self._publish(login_record(self._id(), self._clock(), who, target, peer, subject))

    def now(self) -> int:
        """Return the time in milliseconds since 1970."""
        return self._clock()

    def logout(self, request: web.Request) -> None:
        """End a login."""
        self._logins.end(self._cookie(request), self._clock())

    def cookie_name(self, request: web.Request) -> str:
        """Return the name of the cookie for this request."""
        secure = self.through(request).secure
        return cookie_name(secure=secure, host=request.host, base_path=self.policy.base_path)

    def through(self, request: web.Request) -> Through:
        """Return what a trusted proxy says of the request."""
        return through(self.policy, peer_of(request), request.headers)

    def identity(self, request: web.Request) -> Identity | None:
        """Return who asks, by the proxy or the cookie."""
        return self.through(request).identity or self._logins.who(self._cookie(request), self._clock())

    def _cookie(self, request: web.Request) -> str | None:
        return request.cookies.get(self.cookie_name(request))

    async def _refusal(self, request: web.Request, need: Need) -> AuthRefusal | None:
        if refused := self._origin_refusal(request, need):
            return refused
        if need.role is Role.AGENT:
            return self._agent_refusal(request, need)
        who = self.identity(request)
        if who is not None:
            remember(request, who)
        if need.role is None:
            return None
        if who is not None:
            return await self._denial(request, need, who)
        outsider = self.through(request).outsider
        return refusal.no_group(outsider) if outsider else refusal.not_logged_in(self.policy)

    def _origin_refusal(self, request: web.Request, need: Need) -> AuthRefusal | None:
        host = request.headers.get("Host", "")
        if refused := host_refusal(self.policy, peer_of(request), host):
            return refused
        if not need.same_origin:
            return None
        return origin_refusal(
            secure=self.through(request).secure,
            host=host,
            origin=request.headers.get("Origin"),
            site=request.headers.get("Sec-Fetch-Site"),
        )

    async def _denial(self, request: web.Request, need: Need, who: Identity) -> AuthRefusal | None:
        if need.role is Role.OPERATOR and who.role is not Role.OPERATOR:
            return refusal.wrong_role(who.role, Role.OPERATOR)
        if not need.team and (who.stops if need.acts else who.sees) is not None:
            return refusal.wrong_team(who.stops if need.acts else who.sees)
        if need.acts and self.policy.read_only:
            return refusal.read_only()
        if need.csrf:
            token = await csrf_of(request)
            if token is None or not self._logins.has_csrf(token, who, self._clock()):
                return refusal.wrong_csrf()
        return self.limited(need.rate, _user(who)) if need.rate else None

    def _agent_refusal(self, request: web.Request, need: Need) -> AuthRefusal | None:
        agent = self.agent(request)
        if agent is None:
            return refusal.wrong_agent_token()
        remember(request, Identity(agent.name, Role.AGENT, "token", may_act=False))
        return refusal.read_only() if need.acts and self.policy.read_only else None

    def agent(self, request: web.Request) -> AgentToken | None:
        """Return the agent whose token a request has, as the file is now."""
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        return self.agent_of(token.strip()) if kind.lower() == "bearer" else None

    def limited(self, rate: Rate, key: str, count: int = 1) -> AuthRefusal | None:
        """Count something; refuse it if there was too much of it.

        Args:
            rate: Limit that is to be kept.
            key: Who is limited, such as an address.
            count: How many at once.
        """
        wait = self._rates.take(rate, key, self._clock(), count)
        return refusal.too_many(rate.words, -(-wait // 1000)) if wait else None

    def _to_login(self, request: web.Request) -> web.Response:
        path = own_path(request.raw_path)
        if request.headers.get("Sec-Fetch-Site") == "cross-site":
            # A link from another site comes without the cookie, which is SameSite=Strict.
            return web.Response(text=self.pages.arriving(path), content_type="text/html")
        to = str(request.rel_url.build(path="/login", query={"next": path}))
        return web.Response(status=303, headers={"Location": self.policy.base_path + to})

    async def _publish(self, record: AuditRecord) -> None:
        """Give a record to the audit. People can log in while Kafka is down: that is when they need to."""
        if self._audit is None:
            return
        try:
            await asyncio.wait_for(self._audit(record), _AUDIT_S)
        except (EddyError, TimeoutError) as error:
            log.warning(
                "The audit record of a %s was not written: %s", record.kind, str(error) or "no answer"
            )

    def _id(self) -> str:
        return uuid7(self._clock(), secrets.token_bytes(10))


def _provider(settings: ConsoleSettings) -> IdentityProvider | None:
    if settings.console_openid_issuer is None:
        return None
    if find_spec("authlib") is None or find_spec("joserfc") is None:
        raise ConfigurationError(
            "EDDY_CONSOLE_OPENID_ISSUER needs Authlib, which is missing: install the extra `openid` of Eddy, "
            "as in pip install 'eddy-streams[openid]'."
        )
    # Only here: it takes Authlib, which those who do not log in at a provider need not have.
    from streams.console.auth.provider import OpenIdProvider  # noqa: PLC0415

    return OpenIdProvider.of(settings)


def _user(who: Identity) -> str:
    return f"{who.via} {who.name}"


def _target(request: web.Request) -> str:
    return f"{request.method} {request.path[:200]}"
