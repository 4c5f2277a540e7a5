"""Who asks, also by word of a trusted proxy, and what they may do."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from streams.console.auth.policy import AccessPolicy
from streams.core.domain.text.printable import printable


class Role(StrEnum):
    """What a person or a program may do."""

    VIEWER = "viewer"
    """Reads, and asks what other settings would have judged."""

    OPERATOR = "operator"
    """Acts, too."""

    AGENT = "agent"
    """Hears the commands of its own sessions and acknowledges them. Sees no page."""


class Identity(NamedTuple):
    """Who asks.

    Attributes:
        name: for people and for the audit.
        role: what they may do.
        via: `cookie` after a login, `proxy` if a trusted proxy names them, `token` for an agent.
        may_act: whether the buttons work: for operators, unless the console is read-only.
        binding: what their CSRF token is bound to: the login, or the name the proxy gives. Not shown.
    """

    name: str
    role: Role
    via: str
    may_act: bool
    binding: str = ""


SECRET_HEADER: Final = "X-Eddy-Proxy-Secret"  # noqa: S105 - a name
_LONGEST_NAME: Final = 100


class Headers(Protocol):
    """The headers of a request: each may come several times."""

    def getall(self, key: str, default: Sequence[str]) -> Sequence[str]:
        """Return all values of a header."""


class Through(NamedTuple):
    """What a proxy adds to a request.

    Attributes:
        secure: whether the browser speaks TLS.
        identity: who it says the user is; None if it does not say, or may not.
        outsider: whom it names who may not even look; empty if nobody.
    """

    secure: bool
    identity: Identity | None
    outsider: str = ""


def role_of(policy: AccessPolicy, groups: Collection[str]) -> Role | None:
    """Return the role of somebody who is in some groups; None if they may not even look.

    >>> rules = AccessPolicy(operator_groups=frozenset({"sre"}), viewer_groups=frozenset({"staff"}))
    >>> [str(role_of(rules, {group})) for group in ("sre", "staff", "guests")]
    ['operator', 'viewer', 'None']
    """
    if not policy.operator_groups.isdisjoint(groups):
        return Role.OPERATOR
    everyone = not policy.viewer_groups or "*" in policy.viewer_groups
    return Role.VIEWER if everyone or not policy.viewer_groups.isdisjoint(groups) else None


def through(policy: AccessPolicy, peer: str, headers: Headers) -> Through:
    """Return what the headers of a proxy say; nobody's name if the connection is not from a trusted one.

    A header that comes twice counts as none: a proxy that adds its own to that of a client leaves both.

    Args:
        policy: Rules that the operator has set.
        peer: Address of the other end of the connection.
        headers: Headers as the request has them.
    """
    secure = policy.is_secure(_only(headers, "Host") or "")
    if not policy.trusts(peer):
        return Through(secure, identity=None)
    secure = secure or _only(headers, "X-Forwarded-Proto") == "https"
    if policy.proxy_secret is not None:
        sent = (_only(headers, SECRET_HEADER) or "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(sent, policy.proxy_secret.encode()):
            return Through(secure, None)
    user = _only(headers, policy.user_header)
    if not user:
        return Through(secure, None)
    groups = {group.strip() for group in (_only(headers, policy.groups_header) or "").split(",")}
    name, role = printable(user, _LONGEST_NAME), role_of(policy, groups)
    if role is None:
        return Through(secure, None, outsider=name)
    may_act = role is Role.OPERATOR and not policy.read_only
    return Through(secure, Identity(name, role, "proxy", may_act, binding=f"proxy {user}"))


def _only(headers: Headers, name: str) -> str | None:
    values = headers.getall(name, ())
    return values[0].strip() if len(values) == 1 else None
