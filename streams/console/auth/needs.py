"""What each route needs of who asks. What is not listed needs most."""

from __future__ import annotations

from typing import Final, NamedTuple

from streams.console.auth.identity import Role
from streams.console.auth.rates import ACTIONS, Rate


class Need(NamedTuple):
    """What a request needs.

    Attributes:
        role: of who asks; None if anybody may.
        acts: whether it changes something, so that a read-only console refuses it.
        same_origin: whether a page of the console has to have sent it.
        csrf: whether it has to hold the token of the login.
        rate: how often each user may.
    """

    role: Role | None
    acts: bool = False
    same_origin: bool = False
    csrf: bool = False
    rate: Rate | None = None


READS: Final = Need(Role.VIEWER)
ACTS: Final = Need(Role.OPERATOR, acts=True, same_origin=True, csrf=True, rate=ACTIONS)

_OPEN: Final = Need(None)
_READING: Final = ("GET", "HEAD")

_LISTED: Final = {
    ("GET", "/login"): _OPEN,
    ("GET", "/livez"): _OPEN,
    ("GET", "/readyz"): _OPEN,
    ("GET", "/metrics"): _OPEN,
    ("POST", "/login"): Need(None, same_origin=True),
    ("POST", "/logout"): Need(Role.VIEWER, same_origin=True, csrf=True),
    ("POST", "/live/views"): Need(Role.VIEWER, same_origin=True, csrf=True),
    ("GET", "/api/guard/stream"): Need(Role.AGENT),
    ("POST", "/api/guard/acks"): Need(Role.AGENT, acts=True),
}


def need_of(method: str, route: str | None) -> Need:
    """Return what a request needs.

    Args:
        method: GET, POST and so on.
        route: The path as it was registered, such as ``/static/{name}``; None if there is no such route.

    >>> need_of("HEAD", "/alerts").role, need_of("POST", "/actions/triage").role, need_of("GET", None).role
    (<Role.VIEWER: 'viewer'>, <Role.OPERATOR: 'operator'>, <Role.VIEWER: 'viewer'>)
    """
    reads = method in _READING
    listed = _LISTED.get(("GET" if reads else method, route or ""))
    if listed is not None:
        return listed
    if route is not None and route.startswith("/api/guard/"):
        return Need(Role.AGENT, acts=not reads)
    if route is not None and reads and route.startswith("/static/"):
        return _OPEN
    return READS if reads else ACTS
