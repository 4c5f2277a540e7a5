"""Who may read what agents did: this machine, and everyone who has the token."""

from __future__ import annotations

import hmac
from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address means this machine, whatever the name service says.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def refusal(bound: str, token: str | None, asked_host: str | None, authorization: str | None) -> str | None:
    """Say why a request for the data of agents is refused, None when it is not.

    With a token set, it has to be sent as ``Authorization: Bearer``. Without one only a server that is bound
    to this machine answers, and only where the request names this machine: a web page that has pointed its
    own name here names itself.

    Args:
        bound: address the server listens on.
        token: value of `EDDY_WEB_TOKEN`, None if it is not set.
        asked_host: host the request was sent to, as its header says, without the port.
        authorization: value of the request's header Authorization, None without one.

    >>> refusal("127.0.0.1", None, "localhost", None) is None
    True
    >>> refusal("127.0.0.1", None, "evil.example", None)
    'ask for localhost or 127.0.0.1, or set EDDY_WEB_TOKEN'
    """
    if token is not None:
        sent = (authorization or "").encode("utf-8", "surrogateescape")
        if hmac.compare_digest(sent, f"Bearer {token}".encode()):
            return None
        return "send the header Authorization: Bearer with the value of EDDY_WEB_TOKEN"
    if not is_loopback(bound):
        return "set EDDY_WEB_TOKEN: without it sessions are shown on the machine itself only"
    if asked_host is None or not is_loopback(asked_host):
        return "ask for localhost or 127.0.0.1, or set EDDY_WEB_TOKEN"
    return None
