"""How every Kafka client of Eddy reaches the brokers: addresses, TLS and SASL in one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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
