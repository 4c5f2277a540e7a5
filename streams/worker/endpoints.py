"""What the settings mean for the clients: how to reach the brokers and the registry.

It stands apart from the app: a command that only asks the brokers imports no Faust.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from schemas.bundled import OUTPUT_SUBJECTS
from schemas.codec import Codec, OutputFormat, RegistryAddress
from streams.kafka.connection import Connection
from streams.kafka.oauth_token import TokenProvider, TokenSource
from streams.kafka.tls import TlsFiles, renewed_context
from streams.observe.settings import ConnectionSettings, RegistrySettings

#: A request to the registry waits for a token so long, as it does for an answer.
_TOKEN_SECONDS: Final = 10.0


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _secret(value: SecretStr | None) -> str | None:
    return None if value is None else value.get_secret_value()


def connection(settings: ConnectionSettings) -> Connection:
    """Return how the settings say to reach the brokers."""
    return Connection(
        bootstrap_servers=settings.bootstrap_servers,
        security_protocol=settings.security_protocol,
        sasl_mechanism=settings.sasl_mechanism,
        sasl_username=settings.sasl_username,
        sasl_password=_secret(settings.sasl_password),
        oauth_token=TokenSource(
            settings.sasl_oauth_token_file,
            settings.sasl_oauth_token_command,
            settings.sasl_oauth_token_provider,
            settings.sasl_oauth_token_argument,
        )
        if settings.sasl_mechanism == "OAUTHBEARER"
        else None,
        ssl_cafile=_text(settings.ssl_cafile),
        ssl_certfile=_text(settings.ssl_certfile),
        ssl_keyfile=_text(settings.ssl_keyfile),
        ssl_keyfile_password=_secret(settings.ssl_keyfile_password),
        ssl_check_hostname=settings.ssl_check_hostname,
        client_id=settings.client_id,
        client_rack=settings.client_rack,
        max_batch_bytes=settings.max_batch_bytes,
        topic_prefix=settings.topic_prefix,
    )


async def open_codec(settings: RegistrySettings, written: Collection[str] = OUTPUT_SUBJECTS) -> Codec:
    """Return the codec the settings ask for; with a registry, connected to it.

    Args:
        settings: Where the registry is, and the format of outputs.
        written: The subjects that are written.

    Raises:
        InfrastructureError: the registry cannot be reached.
        ConfigurationError: it refuses, or does not hold the schemas of the outputs.
    """
    output_format = OutputFormat(settings.output_format)
    if settings.schema_registry_url is None:
        return Codec.bundled(output_format, settings.max_value_bytes)
    address = registry_address(settings, settings.schema_registry_url)
    return await Codec.connect(
        address,
        output_format,
        settings.max_value_bytes,
        register=settings.schema_registry_register,
        written=written,
    )


def registry_address(settings: RegistrySettings, url: str) -> RegistryAddress:
    """Return how the settings say to reach the registry at ``url``."""
    source = TokenSource(
        settings.schema_registry_token_file,
        settings.schema_registry_token_command,
        settings.schema_registry_token_provider,
        settings.schema_registry_token_argument,
        seconds=_TOKEN_SECONDS,
        says="EDDY_SCHEMA_REGISTRY_TOKEN_",
    )
    files = TlsFiles(
        _text(settings.schema_registry_cafile),
        _text(settings.schema_registry_certfile),
        _text(settings.schema_registry_keyfile),
        _secret(settings.schema_registry_keyfile_password),
        says="EDDY_SCHEMA_REGISTRY_",
    )
    return RegistryAddress(
        url=url,
        user=settings.schema_registry_username,
        password=_secret(settings.schema_registry_password),
        token=TokenProvider(source).token if source.given else None,
        headers=settings.schema_registry_headers,
        tls=renewed_context(files) if files.cafile or files.certfile else None,
    )
