"""Asks an OpenID provider over HTTP: for what it says of itself, for its keys, and whom a code is for.

The rules are those of OpenID Connect Core 1.0, section 3.1, and of RFC 7636 (PKCE). Authlib and joserfc
judge tokens.
"""

from __future__ import annotations

import asyncio
import logging
import time
from base64 import urlsafe_b64decode
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote_plus, urlencode, urlsplit

import aiohttp
import orjson
from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import BadSignatureError, InvalidKeyIdError, JoseError
from joserfc.jwk import ECKey, GuestProtocol, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

from streams.console.auth.openid import (
    Claimed,
    Endpoints,
    ProviderError,
    Registration,
    claim_at,
    claimed_by,
    endpoints_of,
    is_address,
    name_in,
    short,
)
from streams.console.settings import ConsoleSettings
from streams.core.errors import ConfigurationError

log = logging.getLogger(__name__)

_SIGNED_BY: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures that only the provider can make: never ``none``, nor one whose key is the client's secret."""

_KIND_OF: Final = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
_OF_KEY: Final = ("kty", "kid", "n", "e", "crv", "x", "y")
_SHORTEST_RSA: Final = 2_048

SigningKeys = tuple[RSAKey | ECKey | OKPKey, ...]

_MOST_BYTES: Final = 1 << 20
_TIMEOUT_S: Final = 10.0
_KEPT_S: Final = 3_600.0
"""So long a key that the provider has withdrawn still counts."""

_ASKED_AGAIN_S: Final = 10.0
"""Tokens with made-up keys must not let the console ask for keys all the time."""

_LEEWAY_S: Final = 60
"""By so much the clocks of two machines may differ."""


T = TypeVar("T")


class _Kept(Generic[T]):
    """A value of the provider: fetched once for all who wait for it, and kept for a while."""

    def __init__(self, fetch: Callable[[], Awaitable[T]], monotonic: Callable[[], float]) -> None:
        self._fetch = fetch
        self._monotonic = monotonic
        self._held: tuple[float, T] | None = None
        self._fetching: asyncio.Task[T] | None = None

    async def get(self, unlike: T | None = None) -> T:
        """Return the value.

        Args:
            unlike: One that has not served; None if none was tried.
        """
        if self._held is not None:
            since, value = self._held
            if self._monotonic() - since <= (_ASKED_AGAIN_S if value is unlike else _KEPT_S):
                return value
        if self._fetching is None:
            self._fetching = asyncio.create_task(self._fetched())
            self._fetching.add_done_callback(self._ended)
        # Who does not wait any more must not end it for the others.
        return await asyncio.shield(self._fetching)

    async def _fetched(self) -> T:
        value = await self._fetch()
        self._held = self._monotonic(), value
        return value

    def _ended(self, fetching: asyncio.Task[T]) -> None:
        self._fetching = None
        if not fetching.cancelled():
            fetching.exception()  # whoever still waits gets it


class OpenIdProvider:
    """A provider that is asked over HTTP. It is asked for nothing before the first login.

    Args:
        registration: What the provider and the console have agreed on.
        monotonic: Returns seconds that only grow, for how long its keys are kept.
    """

    def __init__(self, registration: Registration, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.registration = registration
        self._endpoints = _Kept(self._told_endpoints, monotonic)
        self._keys = _Kept(self._told_keys, monotonic)

    @classmethod
    def of(cls, settings: ConsoleSettings) -> OpenIdProvider:
        """Make it from the settings.

        Raises:
            ConfigurationError: a setting is missing or wrong.
        """
        secret, base_path = settings.console_openid_client_secret, settings.console_base_path
        issuer, address = settings.console_openid_issuer or "", settings.console_url.removesuffix("/")
        if not settings.console_openid_client_id:
            raise ConfigurationError(
                "EDDY_CONSOLE_OPENID_ISSUER needs EDDY_CONSOLE_OPENID_CLIENT_ID: the name that the provider "
                "knows this console by."
            )
        if not is_address(issuer, in_the_clear=True):
            raise ConfigurationError(
                "EDDY_CONSOLE_OPENID_ISSUER must be an address that begins with https://, or with http:// on "
                "this machine."
            )
        if not is_address(address, in_the_clear=True) or urlsplit(address).path != base_path:
            raise ConfigurationError(
                "EDDY_CONSOLE_URL must say where browsers find the console, such as "
                f"https://eddy.example{base_path}: the provider sends people back there. It begins with "
                "https://, or with http:// on this machine, and ends with EDDY_CONSOLE_BASE_PATH."
            )
        return cls(
            Registration(
                issuer=issuer,
                client_id=settings.console_openid_client_id,
                secret=secret.get_secret_value() if secret else None,
                scopes=settings.console_openid_scopes,
                groups_claim=settings.console_openid_groups_claim,
                address=address,
            )
        )

    async def login_url(self, state: str, nonce: str, verifier: str) -> str:
        """Return the address at the provider where a person logs in.

        Args:
            state: Comes back with the person.
            nonce: Comes back in the token.
            verifier: Secret of this login; the provider sees its digest now, and later the secret itself.

        Raises:
            ProviderError: the provider does not say where.
        """
        known = self.registration
        url: str = prepare_grant_uri(
            (await self.endpoints()).authorization,
            known.client_id,
            "code",
            redirect_uri=known.redirect_uri,
            scope=known.scopes,
            state=state,
            nonce=nonce,
            code_challenge=create_s256_code_challenge(verifier),
            code_challenge_method="S256",
        )
        return url

    async def logout_url(self, back_to: str) -> str | None:
        """Return the address at the provider where a person logs out of it; None if there is none.

        Args:
            back_to: Address that the provider sends the person to.

        Raises:
            ProviderError: the provider does not say where.
        """
        at = (await self.endpoints()).logout
        if at is None:
            return None
        asked = {"client_id": self.registration.client_id, "post_logout_redirect_uri": back_to}
        return f"{at}{'&' if urlsplit(at).query else '?'}{urlencode(asked)}"

    async def claimed(self, code: str, verifier: str, nonce: str, issuer: str | None, now_ms: int) -> Claimed:
        """Redeem a code; return whom the provider names.

        Args:
            code: As the person brought it.
            verifier: Secret that this login began with.
            nonce: What this login began with, which the token has to hold.
            issuer: Who sent the person back, as the address says; None if it does not say.
            now_ms: Time of the call, in milliseconds since 1970.

        Raises:
            ProviderError: the provider does not answer, or its answer must not be believed.
        """
        known = self.registration
        endpoints = await self.endpoints()
        if issuer != known.issuer and (issuer is not None or endpoints.names_itself):
            raise ProviderError(f"Another provider sent you back, not {short(known.issuer)}.")
        answer = await self._redeemed(endpoints, code, verifier)
        token, access_token = answer.get("id_token"), answer.get("access_token")
        if not isinstance(token, str) or not isinstance(access_token, str):
            raise ProviderError("It gave no token for the code.")
        claims = self._checked(await self._decoded(token), nonce, access_token, now_ms)
        more: Mapping[str, Any] = {}
        if endpoints.userinfo is not None and (
            claim_at(claims, known.groups_claim) is None or not name_in(claims)
        ):
            more = await self._asked("GET", endpoints.userinfo, {"Authorization": f"Bearer {access_token}"})
            if more.get("sub") != claims.get("sub"):
                raise ProviderError("It told of another person than of the one who logged in.")
        return claimed_by(claims, known.groups_claim, more)

    async def endpoints(self) -> Endpoints:
        """Return what the provider says of itself.

        Raises:
            ProviderError: it does not, or what it says must not be believed.
        """
        return await self._endpoints.get()

    async def _told_endpoints(self) -> Endpoints:
        address = self.registration.issuer.removesuffix("/") + "/.well-known/openid-configuration"
        return endpoints_of(await self._asked("GET", address), self.registration)

    async def _told_keys(self) -> SigningKeys:
        told = await self._asked("GET", (await self.endpoints()).keys)
        named = told.get("keys")
        if not isinstance(named, list):
            raise ProviderError("Its keys cannot be read.")
        return tuple(key for key in map(_key, named) if key is not None)

    async def _redeemed(self, endpoints: Endpoints, code: str, verifier: str) -> Mapping[str, Any]:
        known = self.registration
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": known.redirect_uri,
            "code_verifier": verifier,
        }
        # RFC 6749, section 2.3.1: in a header both are encoded as in a form.
        name, secret = known.client_id, known.secret
        if endpoints.auth_method == "client_secret_basic":
            name, secret = quote_plus(name), quote_plus(secret or "")
        client = ClientAuth(name, secret, endpoints.auth_method)
        plain = {"Content-Type": "application/x-www-form-urlencoded"}
        uri, headers, body = client.prepare("POST", endpoints.token, plain, urlencode(form))
        return await self._asked("POST", uri, headers, body)

    async def _decoded(self, token: str) -> jwt.Token:
        keys = await self._keys.get()
        try:
            return _verified(token, keys)
        except (InvalidKeyIdError, BadSignatureError):
            # It has changed its keys since, or the token is not of it.
            newer = await self._keys.get(unlike=keys)
        try:
            return _verified(token, newer)
        except (InvalidKeyIdError, BadSignatureError):
            raise ProviderError("Its token is signed with no key that it names.") from None

    def _checked(self, token: jwt.Token, nonce: str, access_token: str, now_ms: int) -> Mapping[str, Any]:
        known = self.registration
        claims = CodeIDToken(
            token.claims,
            token.header,
            {
                "iss": {"essential": True, "value": known.issuer},
                "aud": {"essential": True, "value": known.client_id},
            },
            {"nonce": nonce, "client_id": known.client_id, "access_token": access_token},
        )
        try:
            claims.validate(now_ms // 1000, _LEEWAY_S)
        except JoseError as error:
            raise ProviderError(f"Its token is not for this login: {short(str(error))}.") from error
        except (TypeError, ValueError, AttributeError) as error:
            raise ProviderError("Its token has claims of a wrong type.") from error
        checked: Mapping[str, Any] = claims
        return checked

    async def _asked(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, body: str | None = None
    ) -> Mapping[str, Any]:
        """Return the object that an address answers with. No redirect is followed: it may lead anywhere."""
        accept = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "eddy-console"}
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        try:
            async with (
                # A proxy is for what is encrypted; what goes to this machine in the clear stays here.
                aiohttp.ClientSession(
                    timeout=timeout, trust_env=url.startswith("https:"), auto_decompress=False
                ) as session,
                session.request(
                    method, url, headers={**accept, **(headers or {})}, data=body, allow_redirects=False
                ) as answer,
            ):
                found = await _bounded(answer)
                status = answer.status
        except TimeoutError:
            raise ProviderError(f"It gave no answer within {_TIMEOUT_S:g} s.") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            log.warning("The OpenID provider cannot be asked at %s: %s", _place(url), error)
            raise ProviderError(f"It cannot be reached ({type(error).__name__}).") from error
        try:
            told = orjson.loads(found)
        except orjson.JSONDecodeError:
            told = None
        if status != 200 or not isinstance(told, dict):
            why = told.get("error") if isinstance(told, dict) else None
            said = f" and {short(why)!r}" if isinstance(why, str) else ""
            raise ProviderError(f"It answered {_place(url)} with status {status}{said}.")
        return told


async def _bounded(answer: aiohttp.ClientResponse) -> bytes:
    found = bytearray()
    async for part in answer.content.iter_any():
        found += part
        if len(found) > _MOST_BYTES:
            raise ProviderError("It answered with more than a mebibyte.")
    return bytes(found)


def _verified(token: str, keys: SigningKeys) -> jwt.Token:
    """Return what a token says.

    Raises:
        InvalidKeyIdError: no key fits.
        BadSignatureError: the key that fits has not signed it.
        ProviderError: it is no token, or one that may not be believed.
    """
    registry = JWSRegistry(algorithms=list(_SIGNED_BY), strict_check_header=False)
    registry.max_header_length = registry.max_payload_length = _MOST_BYTES
    try:
        return jwt.decode(token, partial(_fitting, keys), registry=registry)
    except (InvalidKeyIdError, BadSignatureError):
        raise
    except (JoseError, ValueError, TypeError, RecursionError) as error:
        raise ProviderError(f"Its token cannot be believed ({type(error).__name__}).") from error


def _fitting(keys: SigningKeys, token: GuestProtocol) -> RSAKey | ECKey | OKPKey:
    """Return the key that a token says it is signed with; of a provider that names but one, that one."""
    header = token.headers()
    kind = _KIND_OF.get(str(header.get("alg"))[:2])
    of_kind = [key for key in keys if key.key_type == kind]
    found = of_kind if "kid" not in header else [key for key in of_kind if key.kid == header["kid"]]
    if not found or ("kid" not in header and len(found) > 1):
        raise InvalidKeyIdError
    return found[0]


def _key(named: object) -> RSAKey | ECKey | OKPKey | None:
    """Return a key that may verify signatures; None of another one, which is passed over (RFC 7517, 5)."""
    if not isinstance(named, dict) or named.get("use", "sig") != "sig":
        return None
    if not isinstance(named.get("kid", ""), str):
        return None
    # Neither what else may be done with it nor its certificate matters here.
    plain = {name: value for name, value in named.items() if name in _OF_KEY}
    try:
        match named.get("kty"):
            case "RSA":
                return RSAKey.import_key(plain) if _bits(str(plain["n"])) >= _SHORTEST_RSA else None
            case "EC":
                return ECKey.import_key(plain)
            case "OKP":
                return OKPKey.import_key(plain)
            case _:
                return None
    except (JoseError, ValueError, TypeError, KeyError) as error:
        log.info("A key of the OpenID provider is passed over: %s", type(error).__name__)
        return None


def _bits(modulus: str) -> int:
    return int.from_bytes(urlsafe_b64decode(modulus + "==")).bit_length()


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.netloc}{parts.path}"[:200]
