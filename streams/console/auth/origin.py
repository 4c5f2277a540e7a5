"""Where a request comes from: the address it was sent to, and the page that sent it."""

from __future__ import annotations

from urllib.parse import urlsplit

from streams.console.auth.policy import AccessPolicy
from streams.console.auth.refusal import Refusal, wrong_host, wrong_origin
from streams.observe.access import is_loopback

_DEFAULT_PORTS = {"http": 80, "https": 443}


def host_refusal(policy: AccessPolicy, peer: str, host: str) -> Refusal | None:
    """Refuse a request whose name for a console of this machine is another machine's.

    A web page can point its own name at 127.0.0.1 (DNS rebinding): its requests then reach the console, and
    name that page. A trusted proxy passes the public name on, and a console on another address needs a login
    that such a page does not have.

    Args:
        policy: The rules.
        peer: Address of the other end.
        host: The header.

    >>> host_refusal(AccessPolicy(), "127.0.0.1", "localhost:8070") is None
    True
    >>> host_refusal(AccessPolicy(), "127.0.0.1", "evil.example:8070").kind
    'wrong-host'
    """
    if not is_loopback(policy.host) or policy.trusts(peer):
        return None
    name, _ = _parts(f"//{host}")
    return None if name is not None and is_loopback(name) else wrong_host(host)


def origin_refusal(*, secure: bool, host: str, origin: str | None, site: str | None) -> Refusal | None:
    """Refuse an action that a page of another site started.

    Browsers send Sec-Fetch-Site over TLS and to this machine, and Origin with every POST. Programs that send
    neither are refused: they could be anything.

    Args:
        secure: Whether the browser speaks TLS.
        host: The header.
        origin: The header.
        site: The header Sec-Fetch-Site.

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
