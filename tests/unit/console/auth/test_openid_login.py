"""Logging in at a provider: who comes in, as what, and what of a provider or a stranger is not believed."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlsplit

import pytest
from aiohttp import web
from joserfc import jws, jwt
from joserfc.jwk import OctKey

from streams.console.auth import openid_login
from streams.console.auth import provider as provider_module
from streams.console.auth.identity import Role
from streams.console.auth.openid import ProviderError, Registration, endpoints_of
from streams.console.auth.policy import OPENID
from streams.control.audit import AuditKind, Result
from streams.core.errors import ConfigurationError
from tests.unit.console.auth.door_server import Answer, Server, running, settings
from tests.unit.console.auth.provider_server import (
    CLIENT,
    CLIENT_SECRET,
    Provider,
    brought,
    new_key,
    provider_on,
)

PUBLIC = "https://eddy.example"
PAGE = {"Accept": "text/html", "Host": "eddy.example"}


class Clocks:
    """The time of the provider, which is that of the console once there is one."""

    def __init__(self) -> None:
        self.server: Server | None = None

    def __call__(self) -> int:
        assert self.server is not None
        return self.server.clock.now


@pytest.fixture
async def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
async def provider(clocks: Clocks) -> AsyncIterator[Provider]:
    async with provider_on(clocks) as running_provider:
        yield running_provider


@pytest.fixture
async def door(tmp_path: Path, provider: Provider, clocks: Clocks) -> AsyncIterator[Server]:
    async with running(openid_settings(tmp_path, provider.issuer)) as server:
        clocks.server = server
        yield server


def openid_settings(folder: Path, issuer: str, **given: object) -> Any:
    plain = {
        "console_tokens": None,
        "console_openid_issuer": issuer,
        "console_openid_client_id": CLIENT,
        "console_openid_client_secret": CLIENT_SECRET,
        "console_url": PUBLIC,
        "console_operator_groups": "sre",
        "console_viewer_groups": "staff",
    }
    return settings(folder, **{**plain, **given})


class Browser:
    """Keeps cookies as a browser does, and remembers where it was sent."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.cookies: dict[str, str] = {}

    async def get(self, path: str, **headers: str) -> Answer:
        sent = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = await self._server.ask("GET", path, {**PAGE, "Cookie": sent, **headers})
        for line in answer.headers.getall("Set-Cookie", []):  # type: ignore[attr-defined]
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies.pop(name, None)
            if value.strip('"'):
                self.cookies[name] = value
        return answer

    async def begin(self, continue_at: str = "/alerts") -> dict[str, str]:
        """Press the button; return what the provider is asked."""
        answer = await self.get(f"/login/openid?next={continue_at}")
        assert answer.status == 303, answer
        return dict(parse_qsl(urlsplit(answer.headers["Location"]).query))

    async def come(self, provider: Provider, **claims: Any) -> Answer:
        """Log in at the provider and come back."""
        return await self.get(brought(provider.logs_in(await self.begin(), **claims)))

    async def role(self) -> str:
        """Return who the console takes the browser for."""
        answer = await self.get("/alerts")
        if answer.status != 200:
            return str(answer.status)
        who = self._server.seen[-1]["who"]
        return f"{who.name} {who.role} {who.may_act}"


@pytest.fixture
def browser(door: Server) -> Browser:
    return Browser(door)


async def test_a_person_who_is_asked_to_log_in_finds_the_provider_and_ends_where_they_wanted(
    door: Server, browser: Browser, provider: Provider
) -> None:
    asked = await browser.get("/alerts?tab=watching")
    assert (asked.status, asked.headers["Location"]) == (303, "/login?next=/alerts?tab%3Dwatching")
    page = await browser.get(asked.headers["Location"])
    name = urlsplit(provider.issuer).netloc
    assert f'href="/login/openid?next=%2Falerts%3Ftab%3Dwatching">Log in with {name}</a>' in page.text
    assert "password" not in page.text

    sent = await browser.begin("%2Falerts%3Ftab%3Dwatching")
    assert all([sent.pop("code_challenge"), sent.pop("nonce"), sent["state"]])
    told = provider.logs_in({**sent, **await browser.begin("/alerts?tab=watching")}, groups=["sre"])
    assert {name: sent[name] for name in sent if name != "state"} == {
        "tenant": "1",
        "client_id": CLIENT,
        "response_type": "code",
        "redirect_uri": f"{PUBLIC}/login/openid/callback",
        "scope": "openid profile email",
        "code_challenge_method": "S256",
    }
    back = await browser.get(brought(told), **{"Sec-Fetch-Site": "cross-site"})
    assert back.status == 200
    assert 'content="0; url=/alerts?tab=watching"' in back.text
    assert await browser.role() == "7 operator True"


@pytest.mark.parametrize(
    ("claims", "role"),
    [
        ({"groups": ["sre", "other"]}, "7 operator True"),
        ({"groups": ["staff"]}, "7 viewer False"),
        ({"groups": "staff", "preferred_username": "ana"}, "ana viewer False"),
        (
            {"groups": ["staff"], "email": "ana@x.example", "email_verified": True},
            "ana@x.example viewer False",
        ),
        ({"groups": ["staff"], "email": "boss@x.example"}, "7 viewer False"),
        ({"groups": ["staff"], "preferred_username": "\u202eana\n"}, "\\u202eana viewer False"),
    ],
)
async def test_groups_give_the_role_and_what_is_verified_the_name(
    browser: Browser, provider: Provider, claims: dict[str, Any], role: str
) -> None:
    assert (await browser.come(provider, **claims)).status == 200
    assert await browser.role() == role


async def test_who_is_in_no_group_is_told_so_and_does_not_come_in(
    door: Server, browser: Browser, provider: Provider
) -> None:
    answer = await browser.come(provider, groups=["SRE", {"staff": 1}], preferred_username="mallory")
    assert answer.status == 403
    assert "name no group of mallory" in answer.text
    assert browser.cookies == {}
    assert door.audited[-1].result is Result.REFUSED
    assert "mallory" in str(door.audited[-1].why)


async def test_a_login_is_audited_with_what_the_provider_knows_the_person_by(
    door: Server, browser: Browser, provider: Provider
) -> None:
    await browser.come(provider, sub="u-17", groups=["sre"], preferred_username="ana")
    [record] = door.audited
    assert (record.kind, record.who, record.via, record.role) == (
        AuditKind.LOGIN,
        "ana",
        "openid",
        Role.OPERATOR,
    )
    assert json.loads(record.request or "") == {"peer": "127.0.0.1", "subject": "u-17"}


async def test_the_secret_goes_to_the_provider_as_it_wants_it(browser: Browser, provider: Provider) -> None:
    await browser.come(provider, groups=["sre"])
    shown = base64.b64decode(provider.redeemed[-1]["authorization"].removeprefix("Basic ")).decode()
    assert [unquote_plus(part) for part in shown.split(":")] == [CLIENT, CLIENT_SECRET]
    assert "client_secret" not in provider.redeemed[-1]


@pytest.mark.parametrize(
    ("supported", "secret", "form"),
    [
        (["client_secret_post"], CLIENT_SECRET, {"client_id": CLIENT, "client_secret": CLIENT_SECRET}),
        (None, None, {"client_id": CLIENT}),
    ],
)
async def test_a_client_shows_its_secret_in_the_form_or_is_public(
    tmp_path: Path,
    provider: Provider,
    clocks: Clocks,
    supported: Any,
    secret: str | None,
    form: dict[str, str],
) -> None:
    provider.metadata["token_endpoint_auth_methods_supported"] = supported
    given = openid_settings(tmp_path, provider.issuer, console_openid_client_secret=secret)
    async with running(given) as server:
        clocks.server = server
        browser = Browser(server)
        assert (await browser.come(provider, groups=["sre"])).status == 200
    assert provider.redeemed[-1]["authorization"] == ""
    assert {name: provider.redeemed[-1][name] for name in form} == form


async def test_groups_that_the_token_leaves_out_are_asked_for(browser: Browser, provider: Provider) -> None:
    provider.userinfo = {"sub": "7", "groups": ["sre"]}
    assert (await browser.come(provider)).status == 200
    assert await browser.role() == "7 operator True"


async def test_groups_may_stand_in_an_object(tmp_path: Path, provider: Provider, clocks: Clocks) -> None:
    given = openid_settings(tmp_path, provider.issuer, console_openid_groups_claim="realm_access.roles")
    async with running(given) as server:
        clocks.server = server
        browser = Browser(server)
        await browser.come(provider, realm_access={"roles": ["staff"]})
        assert await browser.role() == "7 viewer False"


LIES: dict[str, dict[str, Any]] = {
    "for another audience": {"aud": "grafana"},
    "for several audiences, to another party": {"aud": [CLIENT, "grafana"], "azp": "grafana"},
    "for several audiences, to nobody named": {"aud": [CLIENT, "grafana"]},
    "of another issuer": {"iss": "https://evil.example"},
    "of another login": {"nonce": "made-up"},
    "without a nonce": {"nonce": None},
    "that has ended": {"exp": 1_000},
    "without an end": {"exp": None},
    "that is not valid yet": {"nbf": 9_999_999_999},
    "of nobody": {"sub": None},
    "of a number": {"sub": 7},
    "of a blank": {"sub": " "},
    "of another access token": {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
    "with an end that is no number": {"exp": "soon"},
    "with a beginning that is no number": {"iat": {}},
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_token_that_is_not_for_this_login_lets_nobody_in(
    door: Server, browser: Browser, provider: Provider, lie: str
) -> None:
    answer = await browser.come(provider, **{"groups": ["sre"], **LIES[lie]})
    assert (answer.status, browser.cookies) == (502, {})
    assert await browser.role() == "303"
    assert door.audited[-1].result is Result.REFUSED


async def test_the_clocks_may_differ_by_a_minute(browser: Browser, provider: Provider, door: Server) -> None:
    now = door.clock.now // 1000
    assert (await browser.come(provider, groups=["sre"], exp=now - 50)).status == 200
    assert (await browser.come(provider, groups=["sre"], exp=now - 70)).status == 502


def _alg_none(token: str) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    return f"{head}.{token.split('.')[1]}."


@pytest.mark.parametrize("forged", ["none", "secret", "other key", "no token", "five parts"])
async def test_a_token_that_the_provider_has_not_signed_lets_nobody_in(
    browser: Browser, provider: Provider, forged: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = provider.token

    def token(asked: dict[str, str]) -> str:
        written = honest(asked)
        match forged:
            case "none":
                return _alg_none(written)
            case "secret":
                body = jwt.decode(written, provider.key).claims
                return jwt.encode({"alg": "HS256"}, body, OctKey.import_key(CLIENT_SECRET))
            case "other key":
                body = jwt.decode(written, provider.key).claims
                return jwt.encode({"alg": "RS256", "kid": "first"}, body, new_key("first"))
            case "five parts":
                return "a.b.c.d.e"
        return ""

    monkeypatch.setattr(provider, "token", token)
    answer = await browser.come(provider, groups=["sre"])
    assert (answer.status, await browser.role()) == (502, "303")


async def test_new_keys_of_the_provider_count_at_once_and_old_ones_an_hour_at_most(
    door: Server, browser: Browser, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = 0.0
    measured_by(door, monkeypatch, lambda: passed)
    assert (await browser.come(provider, groups=["sre"])).status == 200
    first, provider.key = provider.key, new_key("second")
    provider.named = [provider.key]
    # Made-up keys do not make the console ask all the time.
    assert (await browser.come(provider, groups=["sre"])).status == 502
    assert provider.asked.count("/keys") == 1
    passed = 11.0
    assert (await browser.come(provider, groups=["sre"])).status == 200
    assert provider.asked.count("/keys") == 2

    provider.key, provider.named = first, [first]
    passed += 11.0
    assert (await browser.come(provider, groups=["sre"])).status == 200
    stolen, provider.named = first, [new_key("third")]
    provider.key = stolen
    assert (await browser.come(provider, groups=["sre"])).status == 200
    passed += 3_601.0
    assert (await browser.come(provider, groups=["sre"])).status == 502


def measured_by(server: Server, monkeypatch: pytest.MonkeyPatch, elapsed: Callable[[], float]) -> None:
    """Let a test say how old what the provider has said is."""
    for kept in (door_provider(server)._endpoints, door_provider(server)._keys):
        monkeypatch.setattr(kept, "_monotonic", elapsed)


def door_provider(server: Server) -> Any:
    openid = server.access._openid
    assert openid is not None
    return openid._provider


def big() -> web.Response:
    return web.Response(body=b'{"sub": "7"}' + b" " * (2 << 20), content_type="application/json")


def packed() -> web.Response:
    return web.Response(body=gzip.compress(b"{}"), headers={"Content-Encoding": "gzip"})


def elsewhere() -> web.Response:
    return web.Response(status=302, headers={"Location": "/elsewhere"})


INSTEAD: dict[str, Any] = {
    "nothing": lambda: web.Response(text=""),
    "a page": lambda: web.Response(text="<html>", content_type="text/html"),
    "a list": lambda: web.json_response([]),
    "too much": big,
    "packed": packed,
    "an error": lambda: web.json_response({"error": "\x1b[2Jserver_error"}, status=500),
    "another place": elsewhere,
    "deep": lambda: web.Response(text="[" * 100_000, content_type="application/json"),
}


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/keys", "/token", "/userinfo"])
@pytest.mark.parametrize("instead", INSTEAD)
async def test_whatever_a_provider_answers_the_console_goes_on(
    door: Server, browser: Browser, provider: Provider, path: str, instead: str
) -> None:
    provider.instead[path] = INSTEAD[instead]
    answer = await browser.get("/login/openid")
    if answer.status == 303:
        asked = dict(parse_qsl(urlsplit(answer.headers["Location"]).query))
        answer = await browser.get(brought(provider.logs_in(asked)))
    assert answer.status == 502
    assert "\x1b" not in answer.text
    # And once it is well again, people come in.
    provider.instead.clear()
    assert (await browser.come(provider, groups=["sre"])).status == 200
    assert await browser.role() == "7 operator True"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("issuer", "https://evil.example"),
        ("issuer", None),
        ("authorization_endpoint", "http://evil.example/authorize"),
        ("authorization_endpoint", "javascript:alert(1)"),
        ("token_endpoint", None),
        ("token_endpoint", "https://ana:secret@id.example/token"),
        ("jwks_uri", 7),
        ("userinfo_endpoint", "file:///etc/passwd"),
        ("code_challenge_methods_supported", ["plain"]),
        ("token_endpoint_auth_methods_supported", ["private_key_jwt"]),
    ],
)
async def test_a_provider_that_says_of_itself_what_cannot_be_is_not_visited(
    browser: Browser, provider: Provider, name: str, value: Any
) -> None:
    provider.metadata[name] = value
    assert (await browser.get("/login/openid")).status == 502


async def test_userinfo_of_another_person_lets_nobody_in(browser: Browser, provider: Provider) -> None:
    provider.userinfo = {"sub": "8", "groups": ["sre"]}
    assert (await browser.come(provider)).status == 502


async def test_who_comes_from_another_provider_is_not_believed(browser: Browser, provider: Provider) -> None:
    told = provider.logs_in(await browser.begin(), groups=["sre"])
    assert (await browser.get(brought({**told, "iss": "https://evil.example"}))).status == 502
    told = provider.logs_in(await browser.begin(), groups=["sre"])
    assert (await browser.get(brought({**told, "iss": provider.issuer}))).status == 200


async def test_a_provider_that_names_itself_has_to(
    door: Server, browser: Browser, provider: Provider
) -> None:
    provider.metadata["authorization_response_iss_parameter_supported"] = True
    assert (await browser.come(provider, groups=["sre"])).status == 502


async def test_one_answer_of_a_slow_provider_is_enough_for_all_who_wait(
    door: Server, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.held = asyncio.Event()
    waiting = [asyncio.create_task(Browser(door).get("/login/openid")) for _ in range(5)]
    await provider.visited.wait()
    waiting.pop().cancel()
    provider.held.set()
    assert [answer.status for answer in await asyncio.gather(*waiting)] == [303] * 4
    assert provider.asked == ["/.well-known/openid-configuration"]

    provider.held = asyncio.Event()
    monkeypatch.setattr(provider_module, "_TIMEOUT_S", 0.05)
    answer = await Browser(door).come(provider, groups=["sre"])
    assert (answer.status, "gave no answer within 0.05 s" in answer.text) == (502, True)
    provider.held.set()


async def test_a_login_is_finished_once_in_the_browser_that_began_it_and_soon(
    door: Server, browser: Browser, provider: Provider
) -> None:
    told = provider.logs_in(await browser.begin(), groups=["sre"])
    # Somebody who is sent here by the login of another is not logged in as them.
    victim = Browser(door)
    assert (await victim.get(brought(told))).status == 400
    assert (await victim.role(), victim.cookies) == ("303", {})
    assert (await browser.get(brought({**told, "state": told["state"][:-1] + "."}))).status == 400

    kept = dict(browser.cookies)
    assert (await browser.get(brought(told))).status == 200
    for code in (told["code"], "made-up"):
        browser.cookies = kept
        assert (await browser.get(brought({**told, "code": code}))).status == 400
    assert len(provider.redeemed) == 1

    late = provider.logs_in(await browser.begin(), groups=["sre"])
    door.clock.now += 600_001
    assert (await browser.get(brought(late))).status == 400
    for odd in ({}, {"state": ""}, {"state": "é" * 9}, {"state": "x" * 20_000}):
        assert (await browser.get(brought(odd))).status in (400, 414)


async def test_two_tabs_may_log_in_at_the_same_time(browser: Browser, provider: Provider) -> None:
    one, two = await browser.begin("/alerts"), await browser.begin("/sessions")
    assert "url=/alerts" in (await browser.get(brought(provider.logs_in(one, groups=["sre"])))).text
    assert "url=/sessions" in (await browser.get(brought(provider.logs_in(two, groups=["sre"])))).text


async def test_a_refusal_of_the_provider_is_shown_and_not_obeyed(
    door: Server, browser: Browser, provider: Provider
) -> None:
    asked = await browser.begin()
    said = "<script>alert(1)</script>\u202e"
    answer = await browser.get(
        brought({"state": asked["state"], "error": "access_denied", "error_description": said})
    )
    assert answer.status == 403
    assert "It says: access_denied &lt;script&gt;alert(1)&lt;/script&gt;\\u202e." in answer.text
    assert door.audited[-1].result is Result.REFUSED


async def test_it_leads_to_no_other_site(browser: Browser, provider: Provider) -> None:
    asked = await browser.begin("//evil.example")
    back = await browser.get(brought(provider.logs_in(asked, groups=["sre"])))
    assert 'content="0; url=/"' in back.text


async def test_cookies_are_for_tls_where_the_console_is_reached_by_it(
    door: Server, browser: Browser, provider: Provider
) -> None:
    answer = await browser.get("/login/openid")
    [begun] = answer.headers.getall("Set-Cookie")  # type: ignore[attr-defined]
    assert begun.startswith("__Host-eddy-login-")
    assert {"HttpOnly", "Secure", "SameSite=Lax", "Path=/", "Max-Age=600"} <= set(begun.split("; "))
    asked = dict(parse_qsl(urlsplit(answer.headers["Location"]).query))
    back = await browser.get(brought(provider.logs_in(asked, groups=["sre"])))
    [kept] = [
        each
        for each in back.headers.getall("Set-Cookie")  # type: ignore[attr-defined]
        if each.startswith("__Host-eddy=")
    ]
    assert {"HttpOnly", "Secure", "SameSite=Strict", "Path=/"} <= set(kept.split("; "))


async def test_logging_out_ends_the_login_and_leads_to_the_provider(
    door: Server, browser: Browser, provider: Provider
) -> None:
    await browser.come(provider, groups=["sre"])
    cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}
    csrf = await browser.get("/alerts")
    sent = {**PAGE, **cookie, "Origin": PUBLIC}
    left = await door.ask("POST", "/logout", sent, csrf=csrf.text)
    assert (left.status, left.headers["Location"]) == (303, "/login?left")
    assert await browser.role() == "303"  # though it still has the cookie
    assert 'href="/login/openid/logout"' in (await browser.get("/login?left")).text
    out = await browser.get("/login/openid/logout")
    url = urlsplit(out.headers["Location"])
    assert url._replace(query="").geturl() == f"{provider.issuer}/logout"
    assert dict(parse_qsl(url.query)) == {
        "client_id": CLIENT,
        "post_logout_redirect_uri": f"{PUBLIC}/login",
    }


async def test_a_provider_without_a_logout_leads_back_to_the_console(
    browser: Browser, provider: Provider
) -> None:
    del provider.metadata["end_session_endpoint"]
    assert (await browser.get("/login/openid/logout")).headers["Location"] == f"{PUBLIC}/login"


async def test_logins_end_when_the_provider_or_the_groups_change(
    tmp_path: Path, door: Server, browser: Browser, provider: Provider
) -> None:
    await browser.come(provider, groups=["sre", "staff", "else"])
    changes: list[tuple[dict[str, object], str]] = [
        ({}, "7 operator True"),
        ({"console_operator_groups": "others"}, "7 viewer False"),
        ({"console_viewer_groups": "others", "console_operator_groups": ""}, "303"),
        ({"console_openid_client_id": "other"}, "303"),
        ({"issuer": "https://id.example"}, "303"),
    ]
    for given, role in changes:
        issuer = str(given.pop("issuer", provider.issuer))
        async with running(openid_settings(tmp_path, issuer, **given)) as other:
            other.clock.now = door.clock.now
            elsewhere = Browser(other)
            elsewhere.cookies = dict(browser.cookies)
            assert await elsewhere.role() == role, given


async def test_a_login_lasts_as_long_as_the_settings_say(
    tmp_path: Path, provider: Provider, clocks: Clocks
) -> None:
    async with running(openid_settings(tmp_path, provider.issuer, console_login_hours=1)) as server:
        clocks.server = server
        browser = Browser(server)
        await browser.come(provider, groups=["sre"])
        server.clock.now += 3_599_999
        assert await browser.role() == "7 operator True"
        server.clock.now += 1
        answer = await browser.get("/alerts", Accept="application/json")
        assert (answer.status, "a login lasts 1 h" in answer.text) == (401, True)


async def test_more_groups_than_a_cookie_holds_are_refused_with_a_sentence(
    tmp_path: Path, provider: Provider, clocks: Clocks
) -> None:
    groups = [hashlib.sha256(bytes([number])).hexdigest() for number in range(200)]
    given = openid_settings(tmp_path, provider.issuer, console_viewer_groups=",".join(groups))
    async with running(given) as server:
        clocks.server = server
        browser = Browser(server)
        answer = await browser.come(provider, groups=groups)
        assert (answer.status, "too many for a cookie" in answer.text) == (502, True)
        assert (await browser.come(provider, groups=groups[:20])).status == 200
        assert await browser.role() == "7 viewer False"


async def test_people_with_tokens_may_come_in_beside(
    tmp_path: Path, provider: Provider, clocks: Clocks
) -> None:
    given = settings(tmp_path).console_tokens
    async with running(openid_settings(tmp_path, provider.issuer, console_tokens=given)) as server:
        page = await Browser(server).get("/login")
        assert "password" in page.text
        assert "Log in with" in page.text


async def test_logins_at_the_provider_are_counted(
    browser: Browser, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openid_login, "OPENID", OPENID._replace(most=3))
    answers = [await browser.come(provider, groups=["sre"]) for _ in range(4)]
    assert [answer.status for answer in answers] == [200] * 3 + [429]


async def test_a_browser_that_begins_many_logins_is_not_shut_out(
    browser: Browser, provider: Provider
) -> None:
    long = "/alerts?q=" + "a" * 1_900
    for _ in range(12):
        await browser.begin(long)
        assert sum(len(f"{name}={value}; ") for name, value in browser.cookies.items()) < 4_000
    assert (await browser.come(provider, groups=["sre"])).status == 200
    assert await browser.role() == "7 operator True"


async def test_who_does_not_wait_ends_it_for_nobody(door: Server, provider: Provider) -> None:
    provider.held = asyncio.Event()
    waiting = [asyncio.create_task(door_provider(door).endpoints()) for _ in range(3)]
    await provider.visited.wait()
    waiting.pop(0).cancel()
    provider.held.set()
    assert [each.token for each in await asyncio.gather(*waiting)] == [f"{provider.issuer}/token"] * 2


def test_a_provider_that_is_reached_by_tls_names_no_address_without() -> None:
    registration = Registration("https://id.example", CLIENT, None, "openid", "groups", PUBLIC)
    names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
    told = {"issuer": registration.issuer, **{name: f"https://id.example/{name}" for name in names}}
    assert endpoints_of(told, registration).token == told["token_endpoint"]
    for name in names:
        with pytest.raises(ProviderError, match=name):
            endpoints_of({**told, name: "http://127.0.0.1:8080/"}, registration)


async def test_each_login_has_secrets_of_its_own(browser: Browser) -> None:
    first, second = await browser.begin(), await browser.begin()
    assert all(first[name] != second[name] for name in ("state", "nonce", "code_challenge"))


async def test_a_token_may_be_thin_and_userinfo_say_the_rest(browser: Browser, provider: Provider) -> None:
    provider.userinfo = {"sub": "7", "email": "ana@x.example", "email_verified": True, "groups": ["none"]}
    await browser.come(provider, groups=["sre"])
    assert await browser.role() == "ana@x.example operator True"


async def test_an_object_of_groups_may_stand_in_userinfo_alone(
    tmp_path: Path, provider: Provider, clocks: Clocks
) -> None:
    provider.userinfo = {"sub": "7", "realm_access": {"roles": ["staff"]}}
    given = openid_settings(tmp_path, provider.issuer, console_openid_groups_claim="realm_access.roles")
    async with running(given) as server:
        clocks.server = server
        browser = Browser(server)
        await browser.come(provider, realm_access={"other": 1})
        assert await browser.role() == "7 viewer False"


ODD_KEYS: dict[str, Any] = {
    "an unknown curve": {"kty": "EC", "crv": "P-192", "x": "AQ", "y": "AQ", "kid": "a"},
    "an unknown kind": {"kty": "PQ", "kid": "a"},
    "a number as its name": {"kty": "RSA", "kid": 7, "n": "AQ", "e": "AQAB"},
    "no base64": {"kty": "RSA", "kid": "a", "n": "%%%", "e": "AQAB"},
    "a secret": {"kty": "oct", "kid": "first", "k": "c2VjcmV0"},
    "no object": 7,
    "the name of the right one": {"kty": "EC", "kid": "first", "crv": "P-256", "x": "AQ", "y": "AQ"},
    "for encryption": {"kty": "RSA", "kid": "first", "use": "enc", "n": "AQ", "e": "AQAB"},
    "few bits": {"kty": "RSA", "kid": "first", "n": "w" * 171, "e": "AQAB"},
}


@pytest.mark.parametrize("odd", ODD_KEYS)
async def test_a_key_that_cannot_be_used_is_passed_over(
    browser: Browser, provider: Provider, odd: str
) -> None:
    provider.odd_keys = [ODD_KEYS[odd]]
    assert (await browser.come(provider, groups=["sre"])).status == 200


async def test_keys_without_names_may_change_too(
    door: Server, browser: Browser, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = 0.0
    measured_by(door, monkeypatch, lambda: passed)
    for _ in range(2):
        provider.key = new_key(None)
        provider.named, provider.header = [provider.key], {"alg": "RS256", "kid": None}
        assert (await browser.come(provider, groups=["sre"])).status == 200
        passed += 11.0


async def test_what_a_header_says_beside_does_not_matter(browser: Browser, provider: Provider) -> None:
    provider.header = {"alg": "RS256", "ver": "1.0", "nonce": "n", "x5c": ["a" * 3_000]}
    assert (await browser.come(provider, groups=["sre"])).status == 200


async def test_a_payload_that_is_too_deep_lets_nobody_in(
    browser: Browser, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = ("[" * 20_000 + "]" * 20_000).encode()

    def token(asked: dict[str, str]) -> str:
        return jws.serialize_compact({"alg": "RS256", "kid": "first"}, deep, provider.key)

    monkeypatch.setattr(provider, "token", token)
    assert (await browser.come(provider, groups=["sre"])).status == 502


async def test_a_port_that_goes_without_saying_is_the_same_address(
    tmp_path: Path, provider: Provider, clocks: Clocks
) -> None:
    given = openid_settings(tmp_path, provider.issuer, console_url=f"{PUBLIC}:443")
    async with running(given) as server:
        clocks.server = server
        browser = Browser(server)
        assert (await browser.come(provider, groups=["sre"])).status == 200
        assert any(name.startswith("__Host-") for name in browser.cookies)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"console_openid_client_id": None}, "EDDY_CONSOLE_OPENID_CLIENT_ID"),
        ({"console_url": ""}, "EDDY_CONSOLE_URL"),
        ({"console_url": "http://eddy.example"}, "EDDY_CONSOLE_URL"),
        ({"console_url": "https://eddy.example/other"}, "EDDY_CONSOLE_URL"),
        ({"console_base_path": "/eddy"}, "EDDY_CONSOLE_BASE_PATH"),
        ({"console_openid_issuer": "http://id.example"}, "EDDY_CONSOLE_OPENID_ISSUER"),
        ({"console_openid_issuer": "https://[id"}, "EDDY_CONSOLE_OPENID_ISSUER"),
        ({"console_viewer_groups": ""}, "EDDY_CONSOLE_VIEWER_GROUPS"),
    ],
)
async def test_a_setting_that_is_missing_or_wrong_stops_the_start(
    tmp_path: Path, given: dict[str, Any], said: str
) -> None:
    issuer = given.pop("console_openid_issuer", "https://id.example")
    with pytest.raises(ConfigurationError, match=said):
        async with running(openid_settings(tmp_path, issuer, **given)):
            pass
