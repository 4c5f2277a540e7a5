"""How clients reach the brokers: TLS proved by handshakes, SASL by what the clients are built with."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from faust.transport.drivers.aiokafka import credentials_to_aiokafka_auth

from streams.core.errors import ConfigurationError
from streams.kafka.connection import Connection
from streams.worker.faust.app_settings import faust_credentials
from tests.certificates import signed_certificate

PASSWORD = "correct-horse-battery"
PROTOCOLS = ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]


class Identity(NamedTuple):
    """A certificate and its key, in PEM files."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates, and has one itself."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.identity = self._issue("authority", self._key, None, authority=True)

    def issue(self, common: str, password: str | None = None, *, names_issuer_key: bool = True) -> Identity:
        key = ec.generate_private_key(ec.SECP256R1())
        return self._issue(common, key, password, names_issuer_key=names_issuer_key)

    def _issue(
        self, common: str, key: ec.EllipticCurvePrivateKey, password: str | None, **options: bool
    ) -> Identity:
        signed = signed_certificate(common, key, "authority", self._key, **options)
        written = Identity(self._directory / f"{common}.pem", self._directory / f"{common}.key")
        written.certificate.write_bytes(signed.public_bytes(Encoding.PEM))
        encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        written.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
        return written


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@asynccontextmanager
async def server(identity: Identity, client_authority: Path | None = None) -> AsyncIterator[int]:
    """Serve TLS on a port: one byte to whoever is let in."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=client_authority)
    context.load_cert_chain(identity.certificate, identity.key)
    if client_authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED

    async def welcome(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"!")
        writer.close()

    listening = await asyncio.start_server(welcome, "127.0.0.1", 0, ssl=context)
    async with listening:
        yield listening.sockets[0].getsockname()[1]


async def let_in(connection: Connection, port: int, host: str = "localhost") -> bool:
    """Tell whether both sides accept each other, as an aiokafka client would connect."""
    try:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=connection.client_options()["ssl_context"], server_hostname=host
        )
        try:
            # With TLS 1.3 the server judges the client after the client has finished.
            return await reader.read(1) == b"!"
        finally:
            writer.close()
    except ssl.SSLError:
        return False


async def test_a_broker_is_trusted_for_its_authority(authority: Authority) -> None:
    connection = Connection("b:1", security_protocol="SSL", ssl_cafile=str(authority.identity.certificate))
    async with server(authority.issue("localhost")) as port:
        assert await let_in(connection, port)
        assert not await let_in(replace(connection, ssl_cafile=None), port)


async def test_a_broker_of_another_name_is_trusted_only_when_names_do_not_count(authority: Authority) -> None:
    checking = Connection("b:1", security_protocol="SSL", ssl_cafile=str(authority.identity.certificate))
    async with server(authority.issue("elsewhere")) as port:
        assert not await let_in(checking, port)
        assert await let_in(replace(checking, ssl_check_hostname=False), port)


def trusting(authority: Authority, ours: Identity) -> Connection:
    """Return a connection that trusts an authority, and shows a certificate of its own."""
    return Connection(
        "b:1",
        security_protocol="SSL",
        ssl_cafile=str(authority.identity.certificate),
        ssl_certfile=str(ours.certificate),
        ssl_keyfile=str(ours.key),
    )


@pytest.mark.parametrize("password", [None, PASSWORD])
async def test_a_broker_that_asks_for_a_certificate_gets_it(
    authority: Authority, password: str | None
) -> None:
    ours = authority.issue("client", password)
    known = replace(trusting(authority, ours), security_protocol="SASL_SSL", ssl_keyfile_password=password)
    async with server(authority.issue("localhost"), authority.identity.certificate) as port:
        assert await let_in(known, port)
        assert not await let_in(replace(known, ssl_certfile=None, ssl_keyfile=None), port)


def renewed(identity: Identity, by: Identity) -> None:
    """Replace the files of an identity, each at once, as those do that renew certificates."""
    for ours, new in zip(identity, by, strict=True):
        new.rename(ours)


async def test_a_certificate_that_is_renewed_on_disk_is_used_by_the_next_connection(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The server then has another authority, and asks for certificates of that one: the old one is gone."""
    caplog.set_level(logging.INFO)
    (tmp_path / "new").mkdir()
    new = Authority(tmp_path / "new")
    ours, trusted = authority.issue("client"), authority.identity.certificate
    connection = trusting(authority, ours)
    (kept := tmp_path / "kept.pem").write_bytes(trusted.read_bytes())
    async with (
        server(authority.issue("localhost"), kept) as before,
        server(new.issue("localhost"), new.identity.certificate) as after,
    ):
        assert (await let_in(connection, before), await let_in(connection, after)) == (True, False)
        (tmp_path / "copy.pem").write_bytes(new.identity.certificate.read_bytes())
        (tmp_path / "copy.pem").rename(trusted)
        renewed(ours, new.issue("client"))
        assert (await let_in(connection, before), await let_in(connection, after)) == (False, True)
    assert caplog.text.count("New connections use the new ones") == 1


async def test_renewed_files_that_cannot_be_used_leave_those_before_in_use(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The certificate is there before its key, for as long as it likes."""
    caplog.set_level(logging.INFO)
    ours = authority.issue("client")
    connection = trusting(authority, ours)
    context = connection.ssl_context()
    assert context is not None
    new = authority.issue("renewed")
    async with server(authority.issue("localhost"), authority.identity.certificate) as port:
        new.certificate.rename(ours.certificate)
        for _ in range(2):
            assert await let_in(connection, port)
            assert context.outdated
        assert caplog.text.count("cannot be used") == 1
        new.key.rename(ours.key)
        assert await let_in(connection, port)
        assert not context.outdated
        ours.key.unlink()
        assert await let_in(connection, port)
        assert context.outdated
    assert caplog.text.count("cannot be used") == 2


@pytest.mark.parametrize("password", [None, "wrong-horse-battery"])
def test_a_key_that_does_not_open_is_a_configuration_error_without_the_password(
    authority: Authority, password: str | None
) -> None:
    ours = authority.issue("client", PASSWORD)
    connection = Connection(
        "b:1",
        security_protocol="SSL",
        ssl_certfile=str(ours.certificate),
        ssl_keyfile=str(ours.key),
        ssl_keyfile_password=password,
    )
    with pytest.raises(ConfigurationError, match="EDDY_SSL_KEYFILE_PASSWORD") as refusal:
        connection.ssl_context()
    assert "horse" not in str(refusal.value)


@pytest.mark.parametrize("field", ["ssl_cafile", "ssl_certfile"])
@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_file_that_is_missing_or_no_certificate_is_a_configuration_error(
    tmp_path: Path, field: str, content: str | None
) -> None:
    file = tmp_path / "file.pem"
    if content is not None:
        file.write_text(content)
    connection = replace(Connection("b:1", security_protocol="SSL"), **{field: str(file)})
    with pytest.raises(ConfigurationError, match=f"EDDY_{field.upper()}"):
        connection.client_options()


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SASL_PLAINTEXT"])
def test_without_tls_no_certificate_is_looked_at(protocol: str) -> None:
    assert Connection("b:1", security_protocol=protocol, ssl_cafile="/nowhere").ssl_context() is None


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_every_client_is_built_with_the_same_security(protocol: str, mechanism: str) -> None:
    connection = Connection("b:1, c:2,", protocol, mechanism, "me", PASSWORD, client_id="job")
    options = connection.client_options()
    admin, consumer, producer = (
        AIOKafkaAdminClient(**options),
        AIOKafkaConsumer(**options),
        AIOKafkaProducer(**options),
    )
    await consumer.stop()
    await producer.stop()
    sasl = protocol.startswith("SASL")
    for client in (admin._client, consumer._client, producer.client):
        assert client._bootstrap_servers == ["b:1", "c:2"]
        assert (client._client_id, client._security_protocol) == ("job", protocol)
        assert (client._ssl_context is not None) == protocol.endswith("SSL")
        login = (client._sasl_mechanism, client._sasl_plain_username, client._sasl_plain_password)
        assert login == ((mechanism, "me", PASSWORD) if sasl else ("PLAIN", None, None))
    for_faust = credentials_to_aiokafka_auth(faust_credentials(connection), None)
    same = {"security_protocol", "sasl_mechanism", "sasl_plain_username", "sasl_plain_password"}
    assert {key: value for key, value in for_faust.items() if key in same} == {
        key: value for key, value in options.items() if key in same
    }
    assert (for_faust.get("ssl_context") is not None) == protocol.endswith("SSL")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_password_is_shown(protocol: str, authority: Authority, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    ours = authority.issue("client", PASSWORD)
    connection = Connection(
        "b:1",
        protocol,
        sasl_username="me",
        sasl_password=PASSWORD,
        ssl_certfile=str(ours.certificate),
        ssl_keyfile=str(ours.key),
        ssl_keyfile_password=PASSWORD,
    )
    assert (
        PASSWORD not in repr(connection) + str(connection) + repr(faust_credentials(connection)) + caplog.text
    )
