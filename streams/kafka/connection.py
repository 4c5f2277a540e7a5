"""How every Kafka client of Eddy reaches the brokers, and why no broker lets one in."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import Any

from aiokafka.conn import AIOKafkaConnection, collect_hosts, create_conn
from aiokafka.errors import (
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)
from aiokafka.protocol.admin import ApiVersionRequest

from streams.core.domain.topic import Topic
from streams.kafka.oauth_token import TokenProvider, TokenSource
from streams.kafka.patches.record_batches import MAX_BATCH_BYTES
from streams.kafka.tls import RenewedContext, TlsFiles, renewed_context

#: Isolation level of every consumer: what an aborted transaction wrote is no input.
READ_COMMITTED = "read_committed"


@dataclass(frozen=True, slots=True)
class Connection:
    """Brokers, credentials, topic names and batch limit. Secrets are kept out of ``repr``."""

    bootstrap_servers: str
    security_protocol: str = "PLAINTEXT"
    sasl_mechanism: str = "PLAIN"
    sasl_username: str | None = None
    sasl_password: str | None = field(default=None, repr=False)
    oauth_token: TokenSource | None = field(default=None, repr=False)
    """Where the token comes from, if the mechanism is OAUTHBEARER."""
    ssl_cafile: str | None = None
    ssl_certfile: str | None = None
    ssl_keyfile: str | None = None
    ssl_keyfile_password: str | None = field(default=None, repr=False)
    ssl_check_hostname: bool = True
    client_id: str = "eddy"
    client_rack: str = ""
    """The zone that consumers read in, as ``broker.rack`` calls it; empty: from leaders (KIP-392)."""
    max_batch_bytes: int = MAX_BATCH_BYTES
    topic_prefix: str = ""
    """Before the name of each topic: jobs that share a cluster differ in it."""

    def topic(self, topic: Topic) -> str:
        """Return the name that a topic has on these brokers.

        >>> Connection("127.0.0.1:9092", topic_prefix="staging.").topic(Topic.SESSION_ALERTS)
        'staging.session-alerts'
        """
        return f"{self.topic_prefix}{topic}"

    @property
    def servers(self) -> list[str]:
        """The bootstrap addresses, one ``host:port`` each."""
        return [server.strip() for server in self.bootstrap_servers.split(",") if server.strip()]

    def ssl_context(self) -> RenewedContext | None:
        """Return the TLS context, None where the protocol does not use TLS.

        Raises:
            ConfigurationError: a certificate or key file cannot be read.
        """
        if "SSL" not in self.security_protocol.split("_"):
            return None
        return renewed_context(
            TlsFiles(
                self.ssl_cafile,
                self.ssl_certfile,
                self.ssl_keyfile,
                self.ssl_keyfile_password,
                self.ssl_check_hostname,
            )
        )

    def token_provider(self) -> TokenProvider | None:
        """Return what a client asks for its token, None where the login is another."""
        if not self.security_protocol.startswith("SASL") or self.oauth_token is None:
            return None
        return TokenProvider(self.oauth_token)

    def client_options(self) -> dict[str, Any]:
        """Keyword arguments every aiokafka client takes."""
        options: dict[str, Any] = {
            "bootstrap_servers": self.servers,
            "client_id": self.client_id,
            "security_protocol": self.security_protocol,
        }
        if (context := self.ssl_context()) is not None:
            options["ssl_context"] = context
        if (provider := self.token_provider()) is not None:
            options |= {"sasl_mechanism": self.sasl_mechanism, "sasl_oauth_token_provider": provider}
        elif self.security_protocol.startswith("SASL"):
            options |= {
                "sasl_mechanism": self.sasl_mechanism,
                "sasl_plain_username": self.sasl_username,
                "sasl_plain_password": self.sasl_password,
            }
        return options

    def consumer_options(self) -> dict[str, Any]:
        """Keyword arguments every aiokafka consumer takes."""
        rack = {"client_rack": self.client_rack} if self.client_rack else {}
        return {**self.client_options(), **rack}


_PATIENCE_MS = 10_000
_REFUSED = "The token is refused: check what EDDY_SASL_OAUTH_TOKEN_... names, and when the token ends"
#: What OpenSSL calls a certificate for another name, and for another address.
_OTHER_NAME = frozenset({62, 64})
#: What OpenSSL calls a break of RFC 5280 in a certificate. Python checks it from version 3.13.
_BREAKS_RFC_5280 = range(79, 95)


async def refusal(connection: Connection) -> str | None:
    """Return why the first server refuses and what to do, without a secret; None when it is not a refusal."""
    options = connection.client_options()
    host, port, _ = collect_hosts(options.pop("bootstrap_servers"), randomize=False)[0]
    try:
        opened = await create_conn(host, port, request_timeout_ms=_PATIENCE_MS, **options)
    except (OSError, KafkaError, TimeoutError) as error:
        return what_to_do(error, connection)
    try:
        return await _token_refusal(opened) if "sasl_oauth_token_provider" in options else None
    finally:
        opened.close()


async def _token_refusal(opened: AIOKafkaConnection) -> str | None:
    """Return what to do about a token that is refused, None when it is not.

    A broker answers an invalid token with the reason, and waits for the client to take note of it. aiokafka
    takes that answer for a success. At the first request the broker ends the connection, up to Apache Kafka
    3.9 with an answer that holds nothing but an error.
    """
    try:
        answer = await opened.send(ApiVersionRequest())
    except KafkaConnectionError:
        return _REFUSED
    return _REFUSED if answer.error_code else None


def what_to_do(error: Exception, connection: Connection) -> str | None:
    """Return what an error says of TLS or the login, and what to do; None when it is about neither."""
    match error:
        case SaslAuthenticationFailed() if connection.oauth_token is not None:
            return _REFUSED
        case SaslAuthenticationFailed():
            return (
                f"The login of {connection.sasl_username} is refused: check EDDY_SASL_USERNAME, "
                "EDDY_SASL_PASSWORD and EDDY_SASL_MECHANISM"
            )
        case UnsupportedSaslMechanismError() | IllegalSaslStateError():
            return (
                f"The broker does not offer {connection.sasl_mechanism}: set EDDY_SASL_MECHANISM and "
                "EDDY_SECURITY_PROTOCOL as its listener wants them"
            )
        case ssl.SSLCertVerificationError() if error.verify_code in _OTHER_NAME:
            return (
                f"The broker's certificate is for another name ({error.verify_message}): write the name it "
                "is for into EDDY_BOOTSTRAP_SERVERS, or have the certificate made for this one"
            )
        case ssl.SSLCertVerificationError() if error.verify_code in _BREAKS_RFC_5280:
            return (
                f"The broker's certificate or its authority's breaks RFC 5280 ({error.verify_message}), "
                "which Python checks from version 3.13: have it issued again, or run Eddy on Python 3.12"
            )
        case ssl.SSLCertVerificationError():
            return (
                f"The broker's certificate is not trusted ({error.verify_message}): set EDDY_SSL_CAFILE to "
                "the certificate of the authority that signed it"
            )
        case ssl.SSLError():
            return (
                f"TLS fails ({error}): check that EDDY_SECURITY_PROTOCOL is that of the listener, and "
                "EDDY_SSL_CERTFILE if it wants a client certificate"
            )
        case _:
            return None
