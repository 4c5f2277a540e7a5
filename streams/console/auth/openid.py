"""What an OpenID provider says, and whom it names: what of that may be believed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from streams.core.domain.text.printable import printable
from streams.core.errors import EddyError
from streams.observe.access import is_loopback

_MOST_GROUPS: Final = 10_000
_LONGEST_NAME: Final = 100


class ProviderError(EddyError):
    """A login by the provider cannot be finished: it does not answer, or its answer must not be believed."""


class Registration(NamedTuple):
    """What the provider and the console have agreed on.

    Attributes:
        issuer: Address of the provider, exactly as it names itself.
        client_id: Name of the console there.
        secret: Password of the console there; None for a public client.
        scopes: What is asked for, separated by blanks.
        groups_claim: Claim that names the groups of a person; dots lead into objects.
        address: Address of the console as browsers see it, with its base path.
    """

    issuer: str
    client_id: str
    secret: str | None
    scopes: str
    groups_claim: str
    address: str

    @property
    def redirect_uri(self) -> str:
        """Where the provider sends people back to."""
        return f"{self.address}/login/openid/callback"


class Endpoints(NamedTuple):
    """What a provider says of itself (OpenID Connect Discovery 1.0).

    Attributes:
        authorization: Where people log in.
        token: Where a code is redeemed.
        keys: Where its keys are.
        userinfo: Where it tells more of a person; None if nowhere.
        logout: Where people log out of it; None if nowhere.
        auth_method: How the console shows its secret.
        names_itself: Whether it says its name when it sends a person back (RFC 9207).
    """

    authorization: str
    token: str
    keys: str
    userinfo: str | None
    logout: str | None
    auth_method: str
    names_itself: bool


class Claimed(NamedTuple):
    """Whom the provider names.

    Attributes:
        name: For people and for the audit.
        subject: What the provider knows the person by, always.
        groups: Names of the groups of the person.
    """

    name: str
    subject: str
    groups: frozenset[str]


def endpoints_of(told: Mapping[str, Any], registration: Registration) -> Endpoints:
    """Return what a provider says of itself.

    Args:
        told: Object that it publishes.
        registration: What the provider and the console have agreed on.

    Raises:
        ProviderError: it is another provider, or names an address that must not be believed.
    """
    issuer = registration.issuer
    if told.get("issuer") != issuer:
        named = told.get("issuer")
        raise ProviderError(
            f"It calls itself {short(named) if isinstance(named, str) else 'nothing'}, and "
            f"EDDY_CONSOLE_OPENID_ISSUER is {short(issuer)}. They must be equal."
        )
    in_the_clear = urlsplit(issuer).scheme == "http"

    def address(name: str) -> str | None:
        value = told.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not is_address(value, in_the_clear=in_the_clear):
            raise ProviderError(f"Its {name} is no address that may be used.")
        return value

    needed = {name: address(name) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")}
    if missing := [name for name, value in needed.items() if value is None]:
        raise ProviderError(f"It does not name its {missing[0]}.")
    methods = told.get("code_challenge_methods_supported")
    if isinstance(methods, list) and "S256" not in methods:
        raise ProviderError("It does not know PKCE with S256.")
    return Endpoints(
        authorization=str(needed["authorization_endpoint"]),
        token=str(needed["token_endpoint"]),
        keys=str(needed["jwks_uri"]),
        userinfo=address("userinfo_endpoint"),
        logout=address("end_session_endpoint"),
        auth_method=_auth_method(told.get("token_endpoint_auth_methods_supported"), registration.secret),
        names_itself=told.get("authorization_response_iss_parameter_supported") is True,
    )


def is_address(value: str, *, in_the_clear: bool) -> bool:
    """Tell whether something is an address that a secret may be sent to.

    Args:
        value: What may be an address.
        in_the_clear: Whether plain HTTP may be used, and then on this machine only.

    >>> [
    ...     is_address(each, in_the_clear=True)
    ...     for each in ("https://id.example", "http://id.example", "ftp://x")
    ... ]
    [True, False, False]
    """
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    if not parts.hostname or parts.username is not None or parts.fragment or not value.isprintable():
        return False
    return parts.scheme == "https" or (
        in_the_clear and parts.scheme == "http" and is_loopback(parts.hostname)
    )


def claimed_by(
    claims: Mapping[str, Any], groups_claim: str, more: Mapping[str, Any] | None = None
) -> Claimed:
    """Return whom checked claims name.

    An address that the provider has not verified is no name: whoever has an account could type another's.

    Args:
        claims: What the token says.
        groups_claim: Claim that names the groups.
        more: What userinfo says of the same person, for what the token leaves out.

    Raises:
        ProviderError: nobody is named.

    >>> claimed_by(
    ...     {"sub": "7", "email": "ana@x.example", "email_verified": True, "groups": ["sre"]}, "groups"
    ... )
    Claimed(name='ana@x.example', subject='7', groups=frozenset({'sre'}))
    >>> claimed_by({"sub": "7", "email": "ana@x.example", "realm": {"roles": "sre"}}, "realm.roles").name
    '7'
    """
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject.strip():
        raise ProviderError("Its token names nobody.")
    groups = claim_at(claims, groups_claim)
    if groups is None:
        groups = claim_at(more or {}, groups_claim)
    name = name_in(claims) or name_in(more or {}) or subject.strip()
    return Claimed(
        printable(name, _LONGEST_NAME), printable(subject, _LONGEST_NAME), frozenset(_groups(groups))
    )


def name_in(claims: Mapping[str, Any]) -> str:
    """Return the name that some claims give a person; nothing if they give none that people can read."""
    names = (
        claims.get("email") if claims.get("email_verified") is True else None,
        claims.get("preferred_username"),
    )
    return next((each.strip() for each in names if isinstance(each, str) and each.strip()), "")


def _groups(value: object) -> Iterator[str]:
    named: Sequence[object] = [value] if isinstance(value, str) else value if isinstance(value, list) else ()
    for group in named[:_MOST_GROUPS]:
        if isinstance(group, str):
            yield group


def claim_at(claims: Mapping[str, Any], path: str) -> object:
    """Return a claim by its name, or by dots that lead into objects; None if it is not there.

    >>> claim_at({"a.b": 1, "c": {"d": 2}}, "a.b"), claim_at({"c": {"d": 2}}, "c.d"), claim_at({}, "c.d")
    (1, 2, None)
    """
    if path in claims:
        return claims[path]
    found: object = claims
    for name in path.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(name)
    return found


def _auth_method(supported: object, secret: str | None) -> str:
    if secret is None:
        return "none"
    known = supported if isinstance(supported, list) else ["client_secret_basic"]
    for method in ("client_secret_basic", "client_secret_post"):
        if method in known:
            return method
    raise ProviderError("It takes no secret of a client in a header or a form.")


def short(text: str) -> str:
    """Return what a provider wrote, as it may stand in a message."""
    return printable(text, 200)
