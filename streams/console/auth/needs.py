"""What each route needs of who asks, and from where it may be asked."""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import urlsplit

from streams.console.auth.identity import Role
from streams.console.auth.policy import ACTIONS, AccessPolicy, Rate
from streams.console.auth.refusal import AuthRefusal, wrong_host, wrong_origin
from streams.observe.access import is_loopback

_DEFAULT_PORTS = {"http": 80, "https": 443}


def host_refusal(policy: AccessPolicy, peer: str, host: str) -> AuthRefusal | None:
    """Refuse a request whose name for a console of this machine is another machine's.

    A web page can point its own name at 127.0.0.1 (DNS rebinding): its requests then reach the console, and
    name that page. A trusted proxy passes the public name on, the name of EDDY_CONSOLE_URL is the operator's,
    and a console on another address needs a login that such a page does not have.

    Args:
        policy: Rules that the operator has set.
        peer: Address of the other end.
        host: Value of the header Host.

    >>> host_refusal(AccessPolicy(), "127.0.0.1", "localhost:8070") is None
    True
    >>> host_refusal(AccessPolicy(), "127.0.0.1", "evil.example:8070").kind
    'wrong-host'
    """
    if not is_loopback(policy.host) or policy.trusts(peer) or policy.is_own(host):
        return None
    name, _ = _parts(f"//{host}")
    return None if name is not None and is_loopback(name) else wrong_host(host)


def origin_refusal(*, secure: bool, host: str, origin: str | None, site: str | None) -> AuthRefusal | None:
    """Refuse an action that a page of another site started.

    Browsers send Sec-Fetch-Site over TLS and to this machine, and Origin with every POST. Programs that send
    neither are refused: they could be anything.

    Args:
        secure: Whether the browser speaks TLS.
        host: Value of the header Host.
        origin: Value of the header Origin.
        site: Value of the header Sec-Fetch-Site.

    >>> origin_refusal(secure=True, host="eddy.example", origin=None, site="same-origin") is None
    True
    >>> origin_refusal(secure=False, host="localhost:80", origin="http://localhost", site=None) is None
    True
    >>> origin_refusal(secure=False, host="localhost", origin="http://evil.example", site=None).kind
    'wrong-origin'
    """
    if site is not None:
        return None if site == "same-origin" else wrong_origin()
    if origin is None or (secure and not origin.startswith("https://")):
        return wrong_origin()
    scheme = origin.partition(":")[0]
    port = _DEFAULT_PORTS.get(scheme)
    sent_from, sent_to = _parts(origin), _parts(f"//{host}")
    same = sent_from[0] is not None and _with(sent_from, port) == _with(sent_to, port)
    return None if port is not None and same else wrong_origin()


def _with(parts: tuple[str | None, int | None], port: int | None) -> tuple[str | None, int | None]:
    return parts[0], parts[1] or port


def _parts(address: str) -> tuple[str | None, int | None]:
    try:
        found = urlsplit(address)
        host, port = found.hostname, found.port
    except ValueError:
        return None, None
    return (None, None) if "@" in found.netloc else (host, port)


class Need(NamedTuple):
    """What a request needs.

    Attributes:
        role: of who asks; None if anybody may.
        acts: whether it changes something, so that a read-only console refuses it.
        same_origin: whether a page of the console has to have sent it.
        csrf: whether it has to hold the token of the login.
        rate: how often each user may.
        team: whether it is for people who are limited to some agents, too: it is about their agents alone.
    """

    role: Role | None
    acts: bool = False
    same_origin: bool = False
    csrf: bool = False
    rate: Rate | None = None
    team: bool = False


READS: Final = Need(Role.VIEWER)
ACTS: Final = Need(Role.OPERATOR, acts=True, same_origin=True, csrf=True, rate=ACTIONS)

_OPEN: Final = Need(None)
_READING: Final = ("GET", "HEAD")

#: Everything else shows, or changes, what is of all agents.
_TEAM_READS: Final = ("/", "/alerts", "/sessions", "/session", "/map", "/map/cell", "/licenses", "/live")
_TEAM_ACTS: Final = ("/actions/commands", "/actions/triage")

_LISTED: Final = {
    **{("GET", path): READS._replace(team=True) for path in _TEAM_READS},
    **{("POST", path): ACTS._replace(team=True) for path in _TEAM_ACTS},
    ("GET", "/login"): _OPEN,
    ("GET", "/login/openid"): _OPEN,
    ("GET", "/login/openid/callback"): _OPEN,
    ("GET", "/login/openid/logout"): _OPEN,
    ("GET", "/livez"): _OPEN,
    ("GET", "/readyz"): _OPEN,
    ("GET", "/metrics"): _OPEN,
    ("POST", "/login"): Need(None, same_origin=True),
    ("POST", "/logout"): Need(Role.VIEWER, same_origin=True, csrf=True, team=True),
    ("POST", "/live/views"): Need(Role.VIEWER, same_origin=True, csrf=True, team=True),
    ("GET", "/api/guard/stream"): Need(Role.AGENT),
    ("POST", "/api/guard/acks"): Need(Role.AGENT, acts=True),
    ("GET", "/sessions/{id}/verdict"): Need(Role.AGENT),
    ("GET", "/authz/{tail}"): Need(Role.AGENT),
    # A gateway asks with the method of the request it holds; nothing is changed by that.
    ("POST", "/authz/{tail}"): Need(Role.AGENT),
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
