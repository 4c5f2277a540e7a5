"""The credentials of a connection, in the form that Faust takes."""

from __future__ import annotations

import faust
from faust.types.auth import CredentialsT

from streams.kafka.connection import Connection


def faust_credentials(connection: Connection) -> CredentialsT | None:
    """Return what `faust.App(broker_credentials=...)` takes, None for plaintext.

    Raises:
        ConfigurationError: a certificate or key file cannot be read.
    """
    context = connection.ssl_context()
    if (provider := connection.token_provider()) is not None:
        return faust.OAuthCredentials(oauth_cb=provider, ssl_context=context)
    if connection.security_protocol.startswith("SASL"):
        return faust.SASLCredentials(
            username=connection.sasl_username,
            password=connection.sasl_password,
            mechanism=connection.sasl_mechanism,
            ssl_context=context,
        )
    return faust.SSLCredentials(context) if context is not None else None
