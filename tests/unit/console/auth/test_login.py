"""Logging in: by a link, by a token; and how a login ends."""

import logging
from pathlib import Path

import pytest

from streams.control.audit import AuditRecord
from streams.core.errors import InfrastructureError
from tests.unit.console.auth.door_server import (
    AGENT,
    ANA,
    MINUTE_MS,
    PROXY_SECRET,
    SECRET,
    VIC,
    Server,
    digest,
    running,
    settings,
)

PAGE = {"Accept": "text/html"}


async def test_a_link_logs_one_person_in_once(tmp_path: Path) -> None:
    async with running(settings(tmp_path, console_tokens=None)) as server:
        link = server.access.link(server.base)
        address, _, token = link.partition("/login#t=")
        assert address == server.base
        operator = await server.cookie(token)
        assert (await server.ask("GET", "/alerts", operator)).status == 200
        done = await server.ask(
            "POST", "/actions/triage", {**operator, **server.origin}, csrf=await server.csrf(operator)
        )
        assert done.text.startswith("done by local ")
        again = await server.ask("POST", "/login", server.origin, token=token)
        assert (again.status, "A link works once" in again.text) == (401, True)
        assert server.access.link(server.base) != link


async def test_there_is_no_link_where_people_have_tokens(server: Server) -> None:
    assert server.access.link(server.base) == server.base


async def test_a_cookie_of_a_link_is_worth_nothing_once_people_have_tokens(tmp_path: Path) -> None:
    async with running(settings(tmp_path, console_tokens=None)) as by_link:
        operator = await by_link.cookie(by_link.access.link("").removeprefix("/login#t="))
    async with running(settings(tmp_path)) as server:
        value = operator["Cookie"].partition("=")[2]
        name = (await server.cookie(ANA))["Cookie"].partition("=")[0]
        assert (await server.ask("GET", "/alerts", {"Cookie": f"{name}={value}"})).status == 401


async def test_the_cookie_is_for_this_console_only_and_no_script_reads_it(server: Server) -> None:
    answer = await server.ask("POST", "/login", server.origin, token=f" {ANA}\n")
    name, _, attributes = answer.headers["Set-Cookie"].partition("=")
    assert name == f"eddy-{server.base.rpartition(':')[2]}"
    assert set(attributes.split("; ")[1:]) == {"HttpOnly", "Max-Age=43200", "Path=/", "SameSite=Strict"}


@pytest.mark.parametrize(
    ("asked", "opened"),
    [
        ("/session?id=s-1&tab=steps", "/session?id=s-1&tab=steps"),
        ("/", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/a\r\nSet-Cookie: eddy=1", "/"),
        ("", "/"),
    ],
)
async def test_a_login_opens_the_page_that_was_asked_for_and_no_other_site(
    server: Server, asked: str, opened: str
) -> None:
    answer = await server.ask("POST", "/login", server.origin, token=ANA, next=asked)
    assert (answer.status, answer.headers["Location"]) == (303, opened)


async def test_a_page_asks_a_person_to_log_in_and_remembers_itself(server: Server) -> None:
    answer = await server.ask("GET", "/session?id=a%26b&tab=steps", PAGE)
    assert (answer.status, answer.headers["Location"]) == (
        303,
        "/login?next=/session?id%3Da%2526b%26tab%3Dsteps",
    )
    form = await server.ask("GET", answer.headers["Location"], PAGE)
    assert 'name="next" value="/session?id=a%26b&amp;tab=steps"' in form.text


async def test_a_link_from_another_site_opens_the_page_with_the_cookie_that_was_not_sent(
    server: Server,
) -> None:
    elsewhere = {**PAGE, "Sec-Fetch-Site": "cross-site"}
    answer = await server.ask("GET", "/session?id=s-1", elsewhere)
    assert (answer.status, 'content="0; url=/session?id=s-1"' in answer.text) == (200, True)
    tricked = await server.from_address("127.0.0.1")("GET", server.base + "//evil.example/x", elsewhere)
    assert 'content="0; url=/"' in tricked.text


async def test_who_is_logged_in_is_not_asked_again(server: Server) -> None:
    answer = await server.ask("GET", "/login?next=/map", await server.cookie(VIC))
    assert (answer.status, answer.headers["Location"]) == (303, "/map")


async def test_everything_is_below_the_base_path(tmp_path: Path) -> None:
    async with running(settings(tmp_path, console_base_path="/eddy")) as server:
        answer = await server.ask("GET", "/map", PAGE)
        assert answer.headers["Location"] == "/eddy/login?next=/map"
        form = await server.ask("GET", "/login?next=/map", PAGE)
        assert 'action="/eddy/login"' in form.text
        done = await server.ask("POST", "/login", server.origin, token=ANA, next="/map")
        assert done.headers["Location"] == "/eddy/map"


async def test_a_login_ends_with_the_line_of_its_token(server: Server, tmp_path: Path) -> None:
    people = tmp_path / "people"
    operator, viewer = await server.cookie(ANA), await server.cookie(VIC)
    people.write_text(f"ana:viewer:{digest(ANA)}\nvic:viewer:{digest('another token')}\n")
    asked = {**operator, **server.origin}
    demoted = await server.ask("POST", "/actions/triage", asked, csrf=await server.csrf(operator))
    assert (demoted.status, "You are viewer" in demoted.text) == (403, True)
    assert (await server.ask("GET", "/alerts", viewer)).status == 401
    people.unlink()
    assert (await server.ask("GET", "/alerts", operator)).status == 401


async def test_a_login_goes_to_other_instances_with_the_same_secret(tmp_path: Path) -> None:
    async with running(settings(tmp_path)) as first, running(settings(tmp_path)) as second:
        value = (await first.cookie(ANA))["Cookie"].partition("=")[2]
        name = (await second.cookie(VIC))["Cookie"].partition("=")[0]
        csrf = await second.csrf({"Cookie": f"{name}={value}"})
        assert csrf == await first.csrf({"Cookie": f"eddy-{first.base.rpartition(':')[2]}={value}"})


@pytest.mark.parametrize(
    "sent",
    [
        {"Content-Type": "application/json"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "multipart/form-data"},
        {"Content-Type": "application/x-www-form-urlencoded; charset=nonsense"},
        {"Content-Type": "application/x-www-form-urlencoded; charset=utf-16"},
        {"Content-Type": ""},
    ],
    ids=str,
)
async def test_what_is_no_form_is_no_login(server: Server, sent: dict[str, str]) -> None:
    answer = await server.ask("POST", "/login", {**server.origin, **sent}, token=ANA)
    assert answer.status == 401


async def test_five_logins_a_minute_from_an_address_whatever_it_says_of_itself(server: Server) -> None:
    for attempt in range(5):
        forged = {**server.origin, "X-Forwarded-For": f"10.0.0.{attempt}"}
        assert (await server.ask("POST", "/login", forged, token="wrong")).status == 401
    # The right token must not help either: else a guess costs nothing.
    refused = await server.ask("POST", "/login", {**server.origin, **PAGE}, token=ANA)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "60")
    neighbour = server.from_address("127.0.0.2")
    assert (await neighbour("POST", "/login", server.origin, token=ANA)).status == 303
    server.clock.now += MINUTE_MS
    assert (await server.ask("POST", "/login", server.origin, token=ANA)).status == 303


async def test_thirty_actions_a_minute_for_each_user(server: Server) -> None:
    operator = await server.cookie(ANA)
    asked = {**operator, **server.origin, "X-CSRF-Token": await server.csrf(operator)}
    assert [(await server.ask("POST", "/actions/triage", asked)).status for _ in range(31)] == [200] * 30 + [
        429
    ]
    # Another login of the same user is the same user.
    again = await server.ask("POST", "/login", server.origin, token=ANA)
    cookie = {"Cookie": again.headers["Set-Cookie"].partition(";")[0]}
    asked = {**cookie, **server.origin, "X-CSRF-Token": await server.csrf(cookie)}
    assert (await server.ask("POST", "/actions/triage", asked)).status == 429


async def test_three_hundred_commands_a_minute_from_a_console(server: Server) -> None:
    assert server.access.commands(299) is None
    assert server.access.commands(1) is None
    refused = server.access.commands(1)
    assert refused is not None
    assert (refused.status, refused.retry_after_s) == (429, 60)


async def test_logins_and_refusals_are_audited_and_pages_that_ask_for_a_login_are_not(server: Server) -> None:
    viewer = await server.cookie(VIC)
    await server.ask("POST", "/login", server.origin, token="wrong")
    await server.ask("GET", "/alerts", PAGE)
    await server.ask("POST", "/actions/commands", {**viewer, **server.origin}, csrf=await server.csrf(viewer))
    await server.ask("POST", "/actions/commands", {**viewer, "Origin": "https://evil.example"})
    told = [(each.kind, each.who, each.role, each.via, each.target, each.result) for each in server.audited]
    assert told == [
        ("login", "vic", "viewer", "token", "POST /login", "accepted"),
        ("refused", "unknown", None, None, "POST /login", "refused"),
        ("refused", "vic", "viewer", "cookie", "POST /actions/commands", "refused"),
        ("refused", "unknown", None, None, "POST /actions/commands", "refused"),
    ]
    assert server.audited[2].why == "You are viewer; this needs operator."
    assert server.audited[3].request == '{"peer": "127.0.0.1", "type": "urn:eddy:problem:wrong-origin"}'
    assert len({each.id for each in server.audited}) == 4


async def test_a_flood_of_refusals_does_not_fill_the_audit(server: Server) -> None:
    for _ in range(70):
        await server.ask("POST", "/actions/triage")
    assert len(server.audited) == 60


async def test_people_can_log_in_while_the_audit_cannot_be_written(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_: AuditRecord) -> None:
        raise InfrastructureError("No broker answers.")

    server.access._audit = fail
    assert (await server.cookie(ANA))["Cookie"]
    assert "The audit record of a login was not written: No broker answers." in caplog.text


async def test_no_log_and_no_audit_has_a_secret(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    given = settings(tmp_path, console_trusted_proxies="127.0.0.1/32", console_proxy_secret=PROXY_SECRET)
    async with running(given) as server:
        operator = await server.cookie(ANA)
        csrf = await server.csrf(operator)
        await server.ask("POST", "/login", server.origin, token="a-wrong-token")
        await server.ask("POST", "/actions/triage", {**operator, **server.origin}, csrf=csrf + "0")
        await server.ask("GET", "/alerts", {"X-Eddy-Proxy-Secret": PROXY_SECRET, "X-Forwarded-User": "eve"})
        await server.ask("GET", "/api/guard/stream", {"Authorization": f"Bearer {AGENT}x"})
        (tmp_path / "people").write_text(f"ana:operator:{ANA}\nvic:viewer:{digest(VIC)}\n")
        await server.ask("GET", "/alerts", operator)
        link = server.access.link(server.base)
        written = caplog.text + repr(server.audited) + repr(given)
    assert "EDDY_CONSOLE_TOKENS: line 1: it must end with the SHA-256 of the token" in caplog.text
    cookie = operator["Cookie"].partition("=")[2]
    for secret in (
        ANA,
        SECRET,
        PROXY_SECRET,
        AGENT,
        "a-wrong-token",
        cookie,
        csrf,
        link.partition("#t=")[2] or "-",
    ):
        assert secret == "-" or secret not in written
