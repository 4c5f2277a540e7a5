"""The page for those who put the console behind a proxy: what it says is so."""

import re

from streams.console.auth import refusal
from streams.console.auth.policy import ACTIONS, AUDITED, COMMANDS, LOGINS, OPENID, WHAT_IF, AccessPolicy
from streams.console.auth.refusal import AuthRefusal
from tests.pages import ROOT

PAGE = (ROOT / "docs" / "console-security.md").read_text()
ROW = re.compile(r"^\| `([a-z-]+)` \| (\d{3}) \| (.*) \|$", re.MULTILINE)

REFUSALS = [
    refusal.wrong_host("evil.example"),
    refusal.wrong_origin(),
    refusal.wrong_csrf(),
    refusal.not_logged_in(AccessPolicy()),
    refusal.wrong_token(),
    refusal.wrong_flow(),
    refusal.provider_failed("It gave no answer."),
    refusal.provider_refused("access_denied"),
    refusal.no_group("ana"),
    refusal.wrong_agent_token(),
    refusal.wrong_role("viewer", "operator"),
    refusal.wrong_team(("checkout-*",)),
    refusal.read_only(),
    refusal.too_many("5 logins", 60),
    refusal.too_large(),
]


def test_every_refusal_is_explained_and_no_other() -> None:
    makers = [
        each
        for each in vars(refusal).values()
        if getattr(each, "__annotations__", {}).get("return") == "AuthRefusal"
    ]
    assert len(makers) == len(REFUSALS)
    assert {(name, int(status)) for name, status, _ in ROW.findall(PAGE)} == {
        (each.kind, int(each.status)) for each in REFUSALS
    }


def test_the_limits_are_those_of_the_code() -> None:
    (limits,) = (when for name, _, when in ROW.findall(PAGE) if name == "too-many")
    told = [int(number) for number in re.findall(r"\d+", limits.replace(",", ""))]
    assert told == [LOGINS.most, OPENID.most, ACTIONS.most, WHAT_IF.most, COMMANDS.most]
    assert f"of refusals at most {AUDITED.most} a minute" in PAGE


def test_every_refusal_says_what_to_do() -> None:
    for each in REFUSALS:
        assert isinstance(each, AuthRefusal)
        assert re.fullmatch(r"[A-Z].*\.", each.do), each.kind
        assert re.fullmatch(r"[A-Z].*\.", each.detail), each.kind
        assert not each.title.endswith("."), each.kind
