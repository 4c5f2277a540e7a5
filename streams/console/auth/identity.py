"""Who asks, also by word of a trusted proxy, and what they may do."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from streams.console.auth.policy import AccessPolicy
from streams.core.domain.text.glob import Globs
from streams.core.domain.text.printable import printable


class Role(StrEnum):
    """What a person or a program may do."""

    VIEWER = "viewer"
    """Reads, and asks what other settings would have judged."""

    OPERATOR = "operator"
    """Acts, too."""

    AGENT = "agent"
    """Hears the commands of its own sessions and acknowledges them. Sees no page."""


Agents = tuple[str, ...] | None
"""Patterns of `agent_id`; None for every agent, whether it is known or not."""


class Rights(NamedTuple):
    """What somebody may do, and with which agents.

    Attributes:
        role: what they may do.
        sees: agents whose sessions they may look at.
        stops: agents whose sessions they may act on; of no use to a viewer.
    """

    role: Role
    sees: Agents = None
    stops: Agents = None


class Identity(NamedTuple):
    """Who asks.

    Attributes:
        name: for people and for the audit.
        role: what they may do.
        via: `cookie` after a login with a token or a link, `openid` after one at a provider, `proxy` if a
            trusted proxy names them, `token` for an agent.
        may_act: whether the buttons work: for operators, unless the console is read-only.
        binding: what their CSRF token is bound to: the login, or the name the proxy gives. Not shown.
        sees: agents whose sessions they may look at.
        stops: agents whose sessions they may act on.
    """

    name: str
    role: Role
    via: str
    may_act: bool
    binding: str = ""
    sees: Agents = None
    stops: Agents = None

    @property
    def reads_as(self) -> Role:
        """The role that texts are shown to: a viewer's for who sees more than they may act on."""
        return self.role if self.stops in (None, self.sees) else Role.VIEWER

    def acts_on(self, agent_id: str | None) -> bool:
        """Tell whether the buttons work for the sessions of an agent; None for one that is not known.

        >>> ana = Identity("ana", Role.OPERATOR, "cookie", True, stops=("checkout-*",))
        >>> ana.acts_on("checkout-7"), ana.acts_on("search-1"), ana.acts_on(None)
        (True, False, False)
        """
        return self.may_act and is_of(self.stops, agent_id)


def is_of(agents: Agents, agent_id: str | None) -> bool:
    """Tell whether an agent is among some; one that is not known is only among all."""
    return agents is None or (agent_id is not None and _globs(agents).match(agent_id))


@lru_cache(maxsize=256)
def _globs(agents: tuple[str, ...]) -> Globs:
    return Globs(agents)


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


def rights_of(policy: AccessPolicy, groups: Collection[str]) -> Rights | None:
    """Return what somebody who is in some groups may do; None if they may not even look.

    Who may act on agents may look at them.

    >>> from streams.console.auth.policy import grants_of
    >>> team, staff = (grants_of(each.split(), "") for each in ("sre checkout=checkout-*", "staff"))
    >>> rules = AccessPolicy(operator_groups=team, viewer_groups=staff)
    >>> [rights_of(rules, {group}) for group in ("sre", "guests")]
    [Rights(role=<Role.OPERATOR: 'operator'>, sees=None, stops=None), None]
    >>> rights_of(rules, {"checkout"}).sees, rights_of(rules, {"checkout", "staff"}).sees
    (('checkout-*',), None)
    """
    acting = [grant.agents for grant in policy.operator_groups if grant.group in groups]
    looking = [grant.agents for grant in policy.viewer_groups if grant.group in groups or grant.group == "*"]
    if not policy.viewer_groups:
        looking.append(None)
    if acting:
        return Rights(Role.OPERATOR, _together(acting + looking), _together(acting))
    return Rights(Role.VIEWER, _together(looking)) if looking else None


def _together(patterns: Iterable[str | None]) -> Agents:
    found = set(patterns)
    return None if None in found else tuple(sorted(each for each in found if each is not None))


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
    name, rights = printable(user, _LONGEST_NAME), rights_of(policy, groups)
    if rights is None:
        return Through(secure, None, outsider=name)
    return Through(secure, identity_of(policy, name, rights, "proxy", binding=f"proxy {user}"))


def identity_of(policy: AccessPolicy, name: str, rights: Rights, via: str, binding: str) -> Identity:
    """Return who asks, as the rules let them.

    Args:
        policy: Rules that the operator has set.
        name: Name for people and for the audit.
        rights: What they may do if the console is not read-only.
        via: How they came in.
        binding: What their CSRF token is bound to.
    """
    may_act = rights.role is Role.OPERATOR and not policy.read_only
    return Identity(name, rights.role, via, may_act, binding, rights.sees, rights.stops)


def _only(headers: Headers, name: str) -> str | None:
    values = headers.getall(name, ())
    return values[0].strip() if len(values) == 1 else None
