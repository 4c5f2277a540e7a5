"""A server behind the door, with every kind of route a console has, and those who ask it."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp
from aiohttp import web

from streams.console.auth import Access
from streams.console.auth.headers import IMMUTABLE
from streams.console.settings import ConsoleSettings
from streams.control.audit import AuditRecord

MINUTE_MS = 60_000

ANA, VIC, AGENT = "ana-token-of-an-operator", "vic-token-of-a-viewer", "token-of-coder-7"
SECRET = "a-key-for-cookies-of-32-characters"
PROXY_SECRET = "a-secret-of-the-proxy"

PAGES = (
    "/", "/alerts", "/sessions", "/session", "/map", "/health", "/health/agent", "/health/tool", "/settings",
    "/settings/history", "/settings/diff", "/settings/propose", "/dead-letters", "/dead-letter", "/job",
    "/commands", "/policy", "/audit", "/licenses", "/record", "/live",
)  # fmt: skip
ACTIONS = (
    "/actions/triage", "/actions/commands", "/actions/settings/check", "/actions/settings/backtest",
    "/actions/settings/shadow", "/actions/settings/shadow/clear", "/actions/settings/apply",
    "/actions/dead-letters/redrive", "/actions/policy",
)  # fmt: skip
VIEWERS_ACTIONS = ("/live/views",)
OPEN = ("/livez", "/readyz", "/metrics", "/static/5f/console.css")


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class Clock:
    """Milliseconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_760_000_000_000

    def __call__(self) -> int:
        return self.now


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str


class Asking:
    """A client with a network address of its own; it keeps no cookie unless a test gives it."""

    def __init__(self, base: str, address: str) -> None:
        self._session = aiohttp.ClientSession(
            base,
            connector=aiohttp.TCPConnector(local_addr=(address, 0), force_close=True),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def __call__(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, **form: str
    ) -> Answer:
        async with self._session.request(
            method, path, headers=headers, data=form or None, allow_redirects=False
        ) as answer:
            return Answer(answer.status, answer.headers.copy(), await answer.text())

    async def close(self) -> None:
        await self._session.close()


class Server:
    """A running server: what it keeps, and how to ask it."""

    def __init__(
        self, access: Access, clock: Clock, audited: list[AuditRecord], seen: list[web.Request], base: str
    ) -> None:
        self.access = access
        self.clock = clock
        self.audited = audited
        self.base = base
        self.origin = {"Origin": base}
        self.others: dict[str, Asking] = {}
        #: Requests for pages, as the routes saw them.
        self.seen = seen

    def from_address(self, address: str) -> Asking:
        """Return a client at an address of this machine."""
        if address not in self.others:
            self.others[address] = Asking(self.base, address)
        return self.others[address]

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, **form: str
    ) -> Answer:
        return await self.from_address("127.0.0.1")(method, path, headers, **form)

    async def cookie(self, token: str, origin: Mapping[str, str] | None = None) -> dict[str, str]:
        """Log in; return the header that browsers then send."""
        self.clock.now += MINUTE_MS
        answer = await self.ask("POST", "/login", origin or self.origin, token=token)
        assert answer.status == 303, answer
        return {"Cookie": answer.headers["Set-Cookie"].partition(";")[0]}

    async def csrf(self, who: Mapping[str, str]) -> str:
        """Return the token in the forms of somebody's pages."""
        answer = await self.ask("GET", "/alerts", who)
        assert answer.status == 200, answer
        return answer.text


def settings(folder: Path, **given: object) -> ConsoleSettings:
    """Return settings with people and agents, without what this machine's environment sets."""
    people, agents = folder / "people", folder / "agents"
    people.write_text(f"# who may\nana:operator:{digest(ANA)}\n\nvic:viewer:{digest(VIC)}\n")
    agents.write_text(f"coder:coder-*:{digest(AGENT)}\n")
    defaults = {
        "console_tokens": people,
        "console_agent_tokens": agents,
        "console_secret": SECRET,
    }
    return ConsoleSettings(_env_file=None, **{**defaults, **given})  # type: ignore[call-arg, arg-type]


@asynccontextmanager
async def running(given: ConsoleSettings) -> AsyncIterator[Server]:
    """Run a server on this machine."""
    clock, audited = Clock(), list[AuditRecord]()

    async def audit(record: AuditRecord) -> None:
        audited.append(record)

    access = Access.of(given, audit=audit, clock=clock)
    app = web.Application(client_max_size=256 * 1024)
    seen: list[web.Request] = []
    app.add_routes(_routes(access, seen))
    access.protect(app)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server = Server(access, clock, audited, seen, f"http://127.0.0.1:{runner.addresses[0][1]}")
    try:
        yield server
    finally:
        for client in server.others.values():
            await client.close()
        await runner.cleanup()


def _routes(access: Access, seen: list[web.Request]) -> list[web.RouteDef]:
    async def page(request: web.Request) -> web.Response:
        seen.append(request)
        return web.Response(text=access.csrf(request))

    async def action(request: web.Request) -> web.Response:
        return web.Response(text=f"done by {request['who'].name} with {len(await request.read())} bytes")

    async def anyone(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def asset(_: web.Request) -> web.Response:
        return web.Response(text="body {}", headers={"Cache-Control": IMMUTABLE})

    async def listening(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        await stream.write(b": here\n\n")
        return stream

    async def guard(request: web.Request) -> web.Response:
        return web.Response(text=request["who"].name)

    return [
        *(web.get(path, page) for path in PAGES if path != "/live"),
        *(web.post(path, action) for path in (*ACTIONS, *VIEWERS_ACTIONS)),
        *(web.get(path, anyone) for path in OPEN if not path.startswith("/static/")),
        web.get("/static/{build}/{name:.+}", asset),
        web.get("/live", listening),
        web.get("/api/guard/stream", guard),
        web.post("/api/guard/acks", guard),
    ]
