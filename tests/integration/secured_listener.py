"""A listener with TLS and a login: certificates made on the spot, and what Kafka wants to be told of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.certificates import signed_certificate

USER = "eddy"
PASSWORD = "correct-horse-battery-staple"

_MODULE = "org.apache.kafka.common.security"


class SecuredListener:
    """SASL_SSL for one user, by PLAIN and SCRAM-SHA-512. The certificate is for ``localhost`` and no address.

    Args:
        directory: for keys and certificates; an existing one.
        others: more users, who log in by PLAIN with the same password.
    """

    def __init__(self, directory: Path, others: Iterable[str] = ()) -> None:
        self._users = (USER, *others)
        #: The certificate of the authority, which clients trust.
        self.ca_file = directory / "authority.pem"
        self._key_store = directory / "broker.pem"
        self.renew()

    def renew(self) -> None:
        """Have the certificate issued anew, by another authority. A broker uses it when it starts next."""
        authority_key = rsa.generate_private_key(65537, 2048)
        key = rsa.generate_private_key(65537, 2048)
        authority = signed_certificate("authority", authority_key, "authority", authority_key, authority=True)
        signed = signed_certificate("localhost", key, "authority", authority_key)
        self.ca_file.write_bytes(authority.public_bytes(Encoding.PEM))
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self._key_store.write_bytes(
            private + b"".join(one.public_bytes(Encoding.PEM) for one in (signed, authority))
        )

    @property
    def properties(self) -> dict[str, str]:
        """The broker's properties for it, without addresses."""
        listener = "listener.name.sasl_ssl"
        users = " ".join(f'user_{user}="{PASSWORD}"' for user in self._users)
        plain = f"{_MODULE}.plain.PlainLoginModule required {users};"
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._key_store),
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
            f"{listener}.plain.sasl.jaas.config": plain,
            f"{listener}.scram-sha-512.sasl.jaas.config": f"{_MODULE}.scram.ScramLoginModule required;",
        }

    @property
    def java_options(self) -> tuple[str, ...]:
        """What the broker's virtual machine has to be told."""
        return ()

    @property
    def scram(self) -> str:
        """The user, as the tool that formats the storage takes it."""
        return f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"
