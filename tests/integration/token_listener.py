"""A listener that takes tokens: signed JWTs, whose key the broker reads from a file."""

from __future__ import annotations

import base64
import time
from pathlib import Path

import orjson
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from tests.integration.secured_listener import SecuredListener

_OAUTH = "org.apache.kafka.common.security.oauthbearer"
_ISSUER, _AUDIENCE = "https://issuer.test", "kafka"


class TokenListener(SecuredListener):
    """SASL_SSL with a login by OAUTHBEARER too.

    Args:
        directory: for keys and certificates; an existing one.
        session_ms: a client must log in again after that time, as Kafka in a cloud demands.
    """

    def __init__(self, directory: Path, session_ms: int) -> None:
        super().__init__(directory)
        self._key = rsa.generate_private_key(65537, 2048)
        self._session_ms = session_ms
        self._keys = directory / "keys.json"
        numbers = self._key.public_key().public_numbers()
        key = {
            "kty": "RSA",
            "kid": "1",
            "alg": "RS256",
            "use": "sig",
            "n": _base64(numbers.n.to_bytes(256, "big")),
            "e": _base64(numbers.e.to_bytes(3, "big")),
        }
        self._keys.write_bytes(orjson.dumps({"keys": [key]}))

    def token(self, seconds: int, subject: str = "eddy") -> str:
        """Return a token that ends in so many seconds."""
        now = int(time.time())
        claims = {"sub": subject, "iss": _ISSUER, "aud": _AUDIENCE, "iat": now, "exp": now + seconds}
        parts = [_base64(orjson.dumps(part)) for part in ({"alg": "RS256", "kid": "1"}, claims)]
        signature = self._key.sign(".".join(parts).encode(), padding.PKCS1v15(), SHA256())
        return ".".join([*parts, _base64(signature)])

    @property
    def properties(self) -> dict[str, str]:
        """The broker's properties for it, without addresses."""
        properties = super().properties
        mechanism = "listener.name.sasl_ssl.oauthbearer"
        return properties | {
            "sasl.enabled.mechanisms": f"{properties['sasl.enabled.mechanisms']},OAUTHBEARER",
            "connections.max.reauth.ms": str(self._session_ms),
            f"{mechanism}.sasl.jaas.config": f"{_OAUTH}.OAuthBearerLoginModule required;",
            f"{mechanism}.sasl.server.callback.handler.class": (
                f"{_OAUTH}.OAuthBearerValidatorCallbackHandler"
            ),
            f"{mechanism}.sasl.oauthbearer.jwks.endpoint.url": self._keys.as_uri(),
            f"{mechanism}.sasl.oauthbearer.expected.issuer": _ISSUER,
            f"{mechanism}.sasl.oauthbearer.expected.audience": _AUDIENCE,
        }

    @property
    def java_options(self) -> tuple[str, ...]:
        """What the broker's virtual machine has to be told: which keys it may read."""
        return (f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self._keys.as_uri()}",)


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
