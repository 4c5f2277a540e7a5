"""An OpenID provider of this machine that a test can let lie, be slow, and change its keys."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

from aiohttp import web
from joserfc import jwt
from joserfc.jwk import RSAKey
from joserfc.jws import JWSRegistry

_ANY_HEADER = JWSRegistry(algorithms=["RS256"], strict_check_header=False)
_ANY_HEADER.max_header_length = 1 << 20

CLIENT, CLIENT_SECRET = "eddy", "a+secret%41 / of the console"


def new_key(name: str | None) -> RSAKey:
    return RSAKey.generate_key(2048, {"use": "sig", **({} if name is None else {"kid": name})}, private=True)


class Provider:
    """A provider, what it was asked, and what it says.

    A test changes `metadata`, `claims` and the answers in `instead`, or lets it wait for `held`.
    """

    def __init__(self, issuer: str, clock: Callable[[], int]) -> None:
        self.issuer = issuer
        self.clock = clock
        self.key = new_key("first")
        self.named = [self.key]
        self.metadata: dict[str, Any] = {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize?tenant=1",
            "token_endpoint": f"{issuer}/token",
            "jwks_uri": f"{issuer}/keys",
            "userinfo_endpoint": f"{issuer}/userinfo",
            "end_session_endpoint": f"{issuer}/logout",
        }
        self.claims: dict[str, Any] = {}
        self.header: dict[str, Any] = {"alg": "RS256"}
        self.userinfo: dict[str, Any] = {"sub": "7"}
        #: More keys that it names, as they stand in its document.
        self.odd_keys: list[Any] = []
        #: By path, an answer in place of the right one.
        self.instead: dict[str, Callable[[], web.StreamResponse]] = {}
        self.held: asyncio.Event | None = None
        self.asked: list[str] = []
        self.visited = asyncio.Event()
        self.redeemed: list[dict[str, str]] = []
        self._codes: dict[str, dict[str, str]] = {}

    def logs_in(self, asked: dict[str, str], **claims: Any) -> dict[str, str]:
        """Let a person log in; return what the browser brings back.

        Args:
            asked: Query that the browser came with.
            claims: What the token says of the person.
        """
        code = f"code-{len(self._codes)}"
        self._codes[code] = asked
        self.claims = {"sub": "7", **claims}
        return {"code": code, "state": asked["state"]}

    def token(self, asked: dict[str, str]) -> str:
        """Return the token for a login."""
        now = self.clock() // 1000
        plain = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        claims = {name: value for name, value in {**plain, **self.claims}.items() if value is not None}
        header = {"kid": self.key.kid, **self.header}
        written = {name: value for name, value in header.items() if value is not None}
        return jwt.encode(written, claims, self.key, registry=_ANY_HEADER)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        self.visited.set()
        if self.held is not None:
            await self.held.wait()
        if request.path in self.instead:
            return self.instead[request.path]()
        match request.path:
            case "/.well-known/openid-configuration":
                return web.json_response(self.metadata)
            case "/keys":
                named = [key.as_dict(private=False) for key in self.named]
                return web.json_response({"keys": [*self.odd_keys, *named]})
            case "/token":
                return await self._redeem(request)
            case "/elsewhere":
                return web.json_response(self.metadata)
            case "/userinfo" if request.headers.get("Authorization") == "Bearer access":
                return web.json_response(self.userinfo)
        return web.json_response({"error": "not_found"}, status=404)

    async def _redeem(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.redeemed.append({**form, "authorization": request.headers.get("Authorization", "")})
        asked = self._codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if (
            asked is None
            or asked["code_challenge"] != challenge
            or asked["redirect_uri"] != form["redirect_uri"]
        ):
            return web.json_response({"error": "invalid_grant"}, status=400)
        return web.json_response(
            {"access_token": "access", "token_type": "Bearer", "id_token": self.token(asked)}
        )


@asynccontextmanager
async def provider_on(clock: Callable[[], int]) -> AsyncIterator[Provider]:
    """Run a provider on this machine."""
    holder: list[Provider] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        return await holder[0].answer(request)

    app = web.Application()
    app.add_routes([web.route("*", "/{tail:.*}", answer)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    holder.append(Provider(f"http://127.0.0.1:{runner.addresses[0][1]}", clock))
    try:
        yield holder[0]
    finally:
        await runner.cleanup()


def brought(told: dict[str, str]) -> str:
    """Return the path that a browser comes back to."""
    return f"/login/openid/callback?{urlencode(told)}"
