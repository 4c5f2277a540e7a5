"""Each route, asked by everyone who might, from everywhere they might."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest

from streams.console.auth.headers import CONTENT_SECURITY_POLICY, IMMUTABLE
from tests.unit.console.auth.door_server import (
    ACTIONS,
    AGENT,
    ANA,
    MINUTE_MS,
    OPEN,
    PAGES,
    VIC,
    VIEWERS_ACTIONS,
    Server,
    running,
    settings,
)

ROUTES = {
    **{("GET", path): "page" for path in PAGES},
    **{("HEAD", path): "page" for path in ("/alerts", "/record")},
    **{("GET", path): "open" for path in OPEN},
    **{("POST", path): "action" for path in ACTIONS},
    **{("POST", path): "viewer's action" for path in VIEWERS_ACTIONS},
    ("GET", "/api/guard/stream"): "guard",
    ("POST", "/api/guard/acks"): "guard",
    ("POST", "/nowhere"): "nowhere",
    ("PUT", "/alerts"): "no method",
    ("DELETE", "/actions/triage"): "no method",
}

#: What a request gets that comes from a page of the console, with the token of that page.
ALLOWED = {
    "page": {"nobody": 401, "viewer": 200, "operator": 200, "agent": 401},
    "open": {"nobody": 200, "viewer": 200, "operator": 200, "agent": 200},
    "action": {"nobody": 401, "viewer": 403, "operator": 200, "agent": 401},
    "viewer's action": {"nobody": 401, "viewer": 200, "operator": 200, "agent": 401},
    "guard": {"nobody": 401, "viewer": 401, "operator": 401, "agent": 200},
    "nowhere": {"nobody": 401, "viewer": 403, "operator": 404, "agent": 401},
    "no method": {"nobody": 401, "viewer": 403, "operator": 405, "agent": 401},
}
#: Cookies that are worth nothing.
BROKEN = ("expired", "tampered", "of another key", "logged out")
NEEDS_ORIGIN = {"action", "viewer's action", "nowhere", "no method"}

ORIGINS = {
    "same site": (True, {"Sec-Fetch-Site": "same-origin"}),
    "same origin": (True, {"Origin": "BASE"}),
    "another site": (False, {"Sec-Fetch-Site": "cross-site", "Origin": "BASE"}),
    "a neighbour": (False, {"Sec-Fetch-Site": "same-site", "Origin": "BASE"}),
    "an address typed": (False, {"Sec-Fetch-Site": "none"}),
    "another origin": (False, {"Origin": "https://evil.example"}),
    "another port": (False, {"Origin": "http://127.0.0.1:1"}),
    "hidden origin": (False, {"Origin": "null"}),
    "a program": (False, {}),
}
CSRFS = {
    "in the form": True,
    "in a header": True,
    "missing": False,
    "of another login": False,
    "of another user": False,
    "yesterday's": False,
    "garbage \udcff": False,
}


async def everyone(server: Server, folder: Path) -> dict[str, Mapping[str, str]]:
    """Return the headers of each who asks, and of those whose cookie is worth nothing."""
    expired = await server.cookie(ANA)
    server.clock.now += 12 * 60 * MINUTE_MS
    operator = await server.cookie(ANA)
    body, dot, mac = operator["Cookie"].partition(".")
    left = await server.cookie(ANA)
    gone = await server.ask("POST", "/logout", {**left, **server.origin}, csrf=await server.csrf(left))
    assert (gone.status, gone.headers["Location"]) == (303, "/login")
    async with running(settings(folder, console_secret="another key, as long as it has to be")) as other:
        foreign = await other.cookie(ANA)
    return {
        "nobody": {},
        "viewer": await server.cookie(VIC),
        "operator": operator,
        "agent": {"Authorization": f"Bearer {AGENT}"},
        "expired": expired,
        "tampered": {"Cookie": f"{body[:-2]}{'AA' if body[-2:] != 'AA' else 'BB'}{dot}{mac}"},
        "of another key": {
            "Cookie": operator["Cookie"].partition("=")[0] + "=" + foreign["Cookie"].partition("=")[2]
        },
        "logged out": left,
    }


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_each_route_answers_whom_it_should(
    server: Server, tmp_path: Path, method: str, path: str
) -> None:
    kind = ROUTES[method, path]
    people = await everyone(server, tmp_path)
    found, expected = {}, {}
    for who, (origin, (same, headers)) in product(people, ORIGINS.items()):
        server.clock.now += MINUTE_MS
        named = "nobody" if who in BROKEN else who
        csrf = await server.csrf(people[who]) if named in ("viewer", "operator") else "none"
        given = {name: value.replace("BASE", server.base) for name, value in headers.items()}
        answer = await server.ask(method, path, {**people[who], **given, "X-CSRF-Token": csrf})
        found[who, origin] = answer.status
        expected[who, origin] = 403 if kind in NEEDS_ORIGIN and not same else ALLOWED[kind][named]
    assert found == expected


@pytest.mark.parametrize("path", [*ACTIONS, *VIEWERS_ACTIONS, "/logout"])
async def test_an_action_needs_the_token_of_its_own_login(server: Server, path: str) -> None:
    first = await server.cookie(ANA)
    others = {
        "of another user": await server.csrf(await server.cookie(VIC)),
        "of another login": await server.csrf(await server.cookie(ANA)),
        "yesterday's": await server.csrf(first),
        "garbage \udcff": "garbage \udcff",
    }
    server.clock.now += 24 * 60 * MINUTE_MS
    operator = await server.cookie(ANA)
    found = {}
    for csrf in CSRFS:
        server.clock.now += MINUTE_MS
        token = others.get(csrf) or await server.csrf(operator)
        form = (
            {} if csrf in ("missing", "in a header") else {"csrf": token.encode("ascii", "replace").decode()}
        )
        header = {"X-CSRF-Token": token} if csrf == "in a header" else {}
        answer = await server.ask("POST", path, {**operator, **server.origin, **header}, **form)
        # A login that has ended takes no more tokens: log in again for the next.
        operator = await server.cookie(ANA) if path == "/logout" and answer.status == 303 else operator
        found[csrf] = answer.status in (200, 303)
    assert found == CSRFS


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8070", "127.0.0.1.evil.example", "0.0.0.0", "", "a b"]
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/alerts"),
        ("POST", "/login"),
        ("GET", "/metrics"),
        ("POST", "/actions/triage"),
        ("GET", "/api/guard/stream"),
    ],
)
async def test_a_site_that_has_pointed_its_own_name_here_is_refused(
    server: Server, host: str, method: str, path: str
) -> None:
    operator = await server.cookie(ANA)
    everything = {**operator, "Authorization": f"Bearer {AGENT}", "Origin": f"http://{host}"}
    answer = await server.ask(method, path, {**everything, "Host": host}, token=ANA)
    assert answer.status == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9", "[::1]:8070", "127.8.8.8"])
async def test_this_machine_has_several_names(server: Server, host: str) -> None:
    assert (await server.ask("GET", "/livez", {"Host": host})).status == 200


async def test_a_read_only_console_refuses_every_action_and_shows_every_page(tmp_path: Path) -> None:
    async with running(settings(tmp_path, console_read_only=True)) as server:
        operator = await server.cookie(ANA)
        csrf = await server.csrf(operator)
        for path in ACTIONS:
            refused = await server.ask("POST", path, {**operator, **server.origin}, csrf=csrf)
            assert (refused.status, '"urn:eddy:problem:read-only"' in refused.text) == (403, True)
        for path in (*PAGES, *OPEN):
            assert (await server.ask("GET", path, operator)).status == 200
        viewed = await server.ask("POST", "/live/views", {**operator, **server.origin}, csrf=csrf)
        assert viewed.status == 200
        agent = {"Authorization": f"Bearer {AGENT}"}
        assert (await server.ask("GET", "/api/guard/stream", agent)).status == 200
        assert (await server.ask("POST", "/api/guard/acks", agent)).status == 403


async def test_every_answer_tells_the_browser_what_it_may_do(server: Server) -> None:
    operator = await server.cookie(ANA)
    answers = {
        "page": await server.ask("GET", "/alerts", operator),
        "stream": await server.ask("GET", "/live", operator),
        "refusal": await server.ask("GET", "/alerts"),
        "way to the login": await server.ask("GET", "/alerts", {"Accept": "text/html"}),
        "login": await server.ask("GET", "/login"),
        "nowhere": await server.ask("GET", "/nowhere", operator),
        "no method": await server.ask(
            "PUT", "/alerts", {**operator, **server.origin, "X-CSRF-Token": await server.csrf(operator)}
        ),
        "too large": await server.ask(
            "POST", "/actions/triage", {**operator, **server.origin}, csrf="x" * 300_000
        ),
        "probe": await server.ask("GET", "/livez"),
        "asset": await server.ask("GET", "/static/5f/console.css"),
    }
    statuses = [200, 200, 401, 303, 200, 404, 405, 413, 200, 200]
    assert [answer.status for answer in answers.values()] == statuses
    for name, answer in answers.items():
        assert answer.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY, name
        assert answer.headers["Referrer-Policy"] == "no-referrer", name
        assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin", name
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin", name
        assert answer.headers["X-Content-Type-Options"] == "nosniff", name
        assert answer.headers["Cache-Control"] == (IMMUTABLE if name == "asset" else "no-store"), name
        assert answer.headers["Server"] == "eddy", name


async def test_a_program_gets_a_problem_and_a_person_a_page(server: Server) -> None:
    viewer = await server.cookie(VIC)
    asked = {**viewer, **server.origin}
    problem = await server.ask("POST", "/actions/triage", {**asked, "Accept": "application/json, text/html"})
    assert problem.headers["Content-Type"].startswith("application/problem+json")
    assert '"do": "Ask for the role' in problem.text
    page = await server.ask("POST", "/actions/triage", {**asked, "Accept": "text/html,*/*"})
    assert page.headers["Content-Type"].startswith("text/html")
    assert "<h1>Your role may not do this</h1>" in page.text


async def test_agents_may_hear_of_the_agents_of_their_line_only(server: Server) -> None:
    agent = server.access.agent_of(AGENT)
    assert agent is not None
    assert [agent.may_be(name) for name in ("coder-7", "coder-", "writer-1", "")] == [
        True,
        True,
        False,
        False,
    ]
    assert server.access.agent_of(ANA) is None
    assert server.access.agent_of("") is None


async def test_a_stream_ends_with_the_login_it_began_with(server: Server) -> None:
    operator = await server.cookie(ANA)
    csrf = await server.csrf(operator)
    [request] = server.seen
    assert server.access.still(request)
    await server.ask("POST", "/logout", {**operator, **server.origin}, csrf=csrf)
    assert not server.access.still(request)
