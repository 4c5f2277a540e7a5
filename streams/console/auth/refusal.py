"""Why a request is refused, as people and programs read it (RFC 9457)."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final, NamedTuple

from streams.console.auth.policy import AccessPolicy
from streams.core.domain.text.printable import printable

PROBLEM: Final = "urn:eddy:problem:"
"""The beginning of each `type`."""


class AuthRefusal(NamedTuple):
    """One refusal.

    Attributes:
        kind: a short name; programs tell refusals apart by it.
        status: Status of the HTTP response.
        title: what is wrong, the same each time.
        detail: what is wrong with this request.
        do: what to do about it.
        retry_after_s: seconds after which it may succeed, 0 if waiting does not help.
    """

    kind: str
    status: HTTPStatus
    title: str
    detail: str
    do: str
    retry_after_s: int = 0

    def document(self) -> dict[str, str | int]:
        """Return the problem document."""
        return {
            "type": PROBLEM + self.kind,
            "title": self.title,
            "status": int(self.status),
            "detail": self.detail,
            "do": self.do,
        }


def wrong_host(host: str) -> AuthRefusal:
    """Refuse a request to a name that is not this machine's."""
    return AuthRefusal(
        "wrong-host",
        HTTPStatus.MISDIRECTED_REQUEST,
        "This is not the address of the console",
        f"The console listens on this machine only, and was asked for as {host[:200] or 'nothing'}.",
        "Ask for localhost or 127.0.0.1. Behind a proxy, name its network in EDDY_CONSOLE_TRUSTED_PROXIES.",
    )


def wrong_origin() -> AuthRefusal:
    """Refuse an action that another site started."""
    return AuthRefusal(
        "wrong-origin",
        HTTPStatus.FORBIDDEN,
        "This action did not come from a page of the console",
        "The headers Sec-Fetch-Site and Origin do not name the console's own address.",
        "Open the page in the console and press the button there. A proxy has to pass Host and Origin on.",
    )


def wrong_csrf() -> AuthRefusal:
    """Refuse an action without the token of this login."""
    return AuthRefusal(
        "wrong-csrf",
        HTTPStatus.FORBIDDEN,
        "This page is from another login, or too old",
        "The field csrf is missing or does not belong to this login.",
        "Load the page again and repeat the action.",
    )


def not_logged_in(policy: AccessPolicy) -> AuthRefusal:
    """Refuse a request of a person who is not known."""
    if policy.by_link:
        do = "Open the link that the console printed. It works once; start the console again for another."
    elif policy.openid:
        do = f"Open /login and log in with {policy.openid}."
    elif policy.people:
        do = "Open /login and paste your token."
    else:
        do = (
            "Come by the proxy. If you did: EDDY_CONSOLE_TRUSTED_PROXIES must have its address, and it must "
            "send EDDY_CONSOLE_PROXY_SECRET and the header EDDY_CONSOLE_PROXY_USER_HEADER, exactly once."
        )
    return AuthRefusal(
        "not-logged-in",
        HTTPStatus.UNAUTHORIZED,
        "Log in first",
        f"There is no login, or it has ended: a login lasts {policy.login_ms // 3_600_000} h.",
        do,
    )


def wrong_token() -> AuthRefusal:
    """Refuse a login."""
    return AuthRefusal(
        "wrong-token",
        HTTPStatus.UNAUTHORIZED,
        "This token is not known",
        "No line of EDDY_CONSOLE_TOKENS has it, and no login link is open for it. A link works once.",
        "Paste the whole token, without blanks. For another login link, start the console again.",
    )


def wrong_flow() -> AuthRefusal:
    """Refuse to finish a login that this browser did not begin."""
    return AuthRefusal(
        "wrong-login",
        HTTPStatus.BAD_REQUEST,
        "This login was not begun in this browser",
        "There is no cookie of its beginning, or it began more than 10 minutes ago.",
        "Begin again: open the console and press the button there. If that does not help, the browser asks "
        "for the console by another name than that of EDDY_CONSOLE_URL.",
    )


def provider_failed(why: str) -> AuthRefusal:
    """Refuse a login that the provider does not confirm."""
    return AuthRefusal(
        "provider-failed",
        HTTPStatus.BAD_GATEWAY,
        "The login provider cannot be used",
        why,
        "Try again. If it stays, compare EDDY_CONSOLE_OPENID_ISSUER and the other settings with the "
        "provider; the log says more.",
    )


def provider_refused(said: str) -> AuthRefusal:
    """Refuse a login that the provider has refused."""
    return AuthRefusal(
        "provider-refused",
        HTTPStatus.FORBIDDEN,
        "The login provider sent you back without a login",
        f"It says: {printable(said, 300)}.",
        "Try again, or ask who runs the provider. It has to know this console and the scopes it asks for.",
    )


def no_group(name: str) -> AuthRefusal:
    """Refuse who is known and has no role."""
    return AuthRefusal(
        "no-group",
        HTTPStatus.FORBIDDEN,
        "You may not look at this console",
        "EDDY_CONSOLE_VIEWER_GROUPS and EDDY_CONSOLE_OPERATOR_GROUPS name no group of "
        f"{printable(name, 100)}.",
        "Ask who runs the console to name one of your groups, or to put you into one. Then log in again.",
    )


def wrong_agent_token() -> AuthRefusal:
    """Refuse an agent."""
    return AuthRefusal(
        "wrong-agent-token",
        HTTPStatus.UNAUTHORIZED,
        "This agent is not known",
        "The header Authorization has no token of EDDY_CONSOLE_AGENT_TOKENS.",
        "Send Authorization: Bearer with the token, and check the line of the agent in the file.",
    )


def wrong_role(role: str, needed: str) -> AuthRefusal:
    """Refuse who is known and may not."""
    return AuthRefusal(
        "wrong-role",
        HTTPStatus.FORBIDDEN,
        "Your role may not do this",
        f"You are {role}; this needs {needed}.",
        "Ask for the role in EDDY_CONSOLE_TOKENS, or for a group of EDDY_CONSOLE_OPERATOR_GROUPS.",
    )


def wrong_team(agents: Sequence[str] | None) -> AuthRefusal:
    """Refuse who may, but not with these agents."""
    return AuthRefusal(
        "wrong-team",
        HTTPStatus.FORBIDDEN,
        "This is not for your agents alone",
        f"You are limited to the agents {printable(', '.join(agents or ()), 200)}. This is about others too.",
        "Ask who runs the console. EDDY_CONSOLE_VIEWER_GROUPS, EDDY_CONSOLE_OPERATOR_GROUPS and the file of "
        "EDDY_CONSOLE_TOKENS say who is limited.",
    )


def read_only() -> AuthRefusal:
    """Refuse every action."""
    return AuthRefusal(
        "read-only",
        HTTPStatus.FORBIDDEN,
        "This console is read-only",
        "EDDY_CONSOLE_READ_ONLY is set, so it refuses every action.",
        "Use another instance, or a command of eddy session.",
    )


def too_large() -> AuthRefusal:
    """Refuse what no form of the console sends."""
    return AuthRefusal(
        "too-large",
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "The request is too large",
        "A request may have 256 KiB.",
        "Send less at once: fewer sessions, or a shorter text.",
    )


def too_many(what: str, retry_after_s: int) -> AuthRefusal:
    """Refuse what came too often."""
    return AuthRefusal(
        "too-many",
        HTTPStatus.TOO_MANY_REQUESTS,
        "Too many requests",
        f"At most {what}.",
        f"Wait {retry_after_s} s and try again.",
        retry_after_s,
    )
