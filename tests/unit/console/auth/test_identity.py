"""Users whom a proxy names: believed only if the connection itself comes from a trusted proxy."""

from collections.abc import AsyncIterator
from ipaddress import ip_network
from pathlib import Path

import pytest
from multidict import CIMultiDict

from streams.console.auth.identity import Role, through
from streams.console.auth.policy import AccessPolicy, GroupGrant
from tests.unit.console.auth.door_server import ANA, PROXY_SECRET, Server, running, settings

PROXY, NEIGHBOUR = "127.0.0.1", "127.0.0.2"
USER = {"X-Forwarded-User": "ana@example.com", "X-Forwarded-Groups": "staff, ops"}
SECRET = {"X-Eddy-Proxy-Secret": PROXY_SECRET}
PUBLIC = {"Host": "eddy.example", "X-Forwarded-Proto": "https"}
SAME = {"Origin": "https://eddy.example"}


@pytest.fixture
async def behind(tmp_path: Path) -> AsyncIterator[Server]:
    """Return a server behind a proxy on this machine."""
    given = settings(
        tmp_path,
        console_tokens=None,
        console_trusted_proxies=f"{PROXY}/32",
        console_proxy_secret=PROXY_SECRET,
        console_operator_groups="ops,admins",
    )
    async with running(given) as server:
        yield server


async def test_a_trusted_proxy_names_the_user_and_their_groups_decide_the_role(behind: Server) -> None:
    operator = {**PUBLIC, **SECRET, **USER}
    csrf = await behind.csrf(operator)
    done = await behind.ask("POST", "/actions/triage", {**operator, **SAME}, csrf=csrf)
    assert (done.status, done.text.partition(" with")[0]) == (200, "done by ana@example.com")
    viewer = {**operator, "X-Forwarded-Groups": "staff,devops"}
    refused = await behind.ask("POST", "/actions/triage", {**viewer, **SAME}, csrf=csrf)
    assert (refused.status, "You are viewer" in refused.text) == (403, True)


async def test_the_token_of_one_user_is_no_good_for_another(behind: Server) -> None:
    csrf = await behind.csrf({**PUBLIC, **SECRET, **USER, "X-Forwarded-User": "eve"})
    refused = await behind.ask("POST", "/actions/triage", {**PUBLIC, **SECRET, **USER, **SAME}, csrf=csrf)
    assert (refused.status, "wrong-csrf" in refused.text) == (403, True)


async def test_nobody_else_can_name_a_user(behind: Server) -> None:
    neighbour = behind.from_address(NEIGHBOUR)
    claims = {"X-Forwarded-For": PROXY, "X-Real-IP": PROXY, "Forwarded": f"for={PROXY}"}
    assert (await neighbour("GET", "/alerts", {**SECRET, **USER, **claims})).status == 401
    assert (await neighbour("GET", "/alerts", {**PUBLIC, **SECRET, **USER, **claims})).status == 421


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"X-Eddy-Proxy-Secret": ""},
        {"X-Eddy-Proxy-Secret": PROXY_SECRET[:-1]},
        {"X-Eddy-Proxy-Secret": "é"},
    ],
    ids=str,
)
async def test_a_proxy_without_the_secret_names_nobody(behind: Server, sent: dict[str, str]) -> None:
    answer = await behind.ask("GET", "/alerts", {**PUBLIC, **USER, **sent, "Accept": "text/html"})
    assert (answer.status, "EDDY_CONSOLE_PROXY_SECRET" in answer.text) == (401, True)


async def test_a_proxy_that_only_ends_tls_leaves_people_to_their_tokens(tmp_path: Path) -> None:
    given = settings(tmp_path, console_trusted_proxies=f"{PROXY}/32", console_proxy_secret=PROXY_SECRET)
    async with running(given) as server:
        answer = await server.ask("POST", "/login", {**PUBLIC, **USER, **SAME}, token=ANA)
        name, _, rest = answer.headers["Set-Cookie"].partition("=")
        assert (name, "; Secure" in rest) == ("__Host-eddy", True)
        cookie = {"Cookie": f"{name}={rest.partition(';')[0]}"}
        assert (await server.ask("GET", "/alerts", {**PUBLIC, **USER, **cookie})).status == 200
        # Over plain HTTP it is another cookie, so a page that was tricked out of TLS gets nothing.
        assert (await server.ask("GET", "/alerts", cookie)).status == 401
        # A page over plain HTTP is another origin.
        plain = {**PUBLIC, "Origin": "http://eddy.example"}
        assert (await server.ask("POST", "/login", plain, token=ANA)).status == 403


async def test_only_a_trusted_proxy_says_that_there_is_tls(server: Server) -> None:
    answer = await server.ask("POST", "/login", {**server.origin, "X-Forwarded-Proto": "https"}, token=ANA)
    assert answer.headers["Set-Cookie"].startswith("eddy-")


async def test_without_tls_a_browser_may_say_from_which_page_a_form_came(behind: Server) -> None:
    # It sends no Sec-Fetch-Site then, and `Origin: null` from a page that forbids the referrer.
    plain = await behind.ask("GET", "/alerts", {**SECRET, **USER, "Host": "eddy.example"})
    assert plain.headers["Referrer-Policy"] == "same-origin"
    tls = await behind.ask("GET", "/alerts", {**SECRET, **USER, **PUBLIC})
    assert tls.headers["Referrer-Policy"] == "no-referrer"
    hidden = await behind.ask(
        "POST",
        "/actions/triage",
        {**SECRET, **USER, "Host": "eddy.example", "Origin": "null"},
        csrf=plain.text,
    )
    assert hidden.status == 403


def policy(**given: object) -> AccessPolicy:
    defaults = {
        "trusted": (ip_network("10.0.0.0/8"), ip_network("fd00::/8")),
        "operator_groups": (GroupGrant("ops"),),
    }
    return AccessPolicy(**{**defaults, **given})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("peer", "named"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("fd00::1", True),
        ("11.0.0.1", False),
        ("::ffff:11.0.0.1", False),
        ("", False),
        ("10.1.2.3.example", False),
    ],
)
def test_the_address_of_the_connection_decides(peer: str, named: bool) -> None:
    assert (through(policy(), peer, CIMultiDict(USER)).identity is not None) == named


def test_a_header_that_comes_twice_counts_as_none() -> None:
    twice = CIMultiDict([*USER.items(), ("x-forwarded-user", "eve")])
    assert through(policy(), "10.0.0.1", twice).identity is None
    groups = CIMultiDict([*USER.items(), ("X-Forwarded-Groups", "ops")])
    named = through(policy(), "10.0.0.1", groups).identity
    assert named is not None
    assert named.role is Role.VIEWER


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        ("ops", Role.OPERATOR),
        ("a, ops ,b", Role.OPERATOR),
        ("OPS", Role.VIEWER),
        ("ops-readers", Role.VIEWER),
        ("a;ops", Role.VIEWER),
        ("", Role.VIEWER),
    ],
)
def test_a_group_counts_as_it_is_written(groups: str, role: Role) -> None:
    headers = CIMultiDict({"X-Forwarded-User": "ana", "X-Forwarded-Groups": groups})
    named = through(policy(), "10.0.0.1", headers).identity
    assert named is not None
    assert named.role is role


def test_without_operator_groups_everyone_is_a_viewer() -> None:
    headers = CIMultiDict({"X-Forwarded-User": "ana", "X-Forwarded-Groups": ""})
    named = through(policy(operator_groups=()), "10.0.0.1", headers).identity
    assert named is not None
    assert (named.role, named.may_act) == (Role.VIEWER, False)


def test_a_name_is_shown_and_never_obeyed() -> None:
    headers = CIMultiDict({"X-Forwarded-User": "ana\u202e\x1b[2J" + "x" * 500})
    named = through(policy(), "10.0.0.1", headers).identity
    assert named is not None
    assert named.name.startswith("ana\\u202e\\x1b[2Jxxx")
    assert len(named.name) == 100
