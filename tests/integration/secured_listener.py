"""A listener with TLS and a login: certificates made on the spot, and what Kafka wants to be told of them."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

USER = "eddy"
PASSWORD = "correct-horse-battery-staple"

_MODULE = "org.apache.kafka.common.security"


class SecuredListener:
    """SASL_SSL for one user, by PLAIN and SCRAM-SHA-512. The certificate is for ``localhost`` and no address.

    Args:
        directory: for keys and certificates; an existing one.
    """

    def __init__(self, directory: Path) -> None:
        self._authority_key = rsa.generate_private_key(65537, 2048)
        key = rsa.generate_private_key(65537, 2048)
        authority = self._signed("authority", self._authority_key, authority=True)
        certificate = self._signed("localhost", key, authority=False)
        #: Of the authority; what clients trust.
        self.ca_file = directory / "authority.pem"
        self.ca_file.write_bytes(authority)
        self._key_store = directory / "broker.pem"
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self._key_store.write_bytes(private + certificate + authority)

    @property
    def properties(self) -> dict[str, str]:
        """The broker's properties for it, without addresses."""
        listener = "listener.name.sasl_ssl"
        plain = f'{_MODULE}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._key_store),
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
            f"{listener}.plain.sasl.jaas.config": plain,
            f"{listener}.scram-sha-512.sasl.jaas.config": f"{_MODULE}.scram.ScramLoginModule required;",
        }

    @property
    def scram(self) -> str:
        """The user, as the tool that formats the storage takes it."""
        return f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"

    def _signed(self, common: str, key: rsa.RSAPrivateKey, *, authority: bool) -> bytes:
        now = dt.datetime.now(dt.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(_name(common))
            .issuer_name(_name("authority"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(hours=1))
            .not_valid_after(now + dt.timedelta(hours=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(common)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .sign(self._authority_key, SHA256())
        )
        return certificate.public_bytes(Encoding.PEM)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
