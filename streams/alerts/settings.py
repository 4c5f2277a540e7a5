"""The settings of a notifier: each is an environment variable, and each secret may be in a file instead."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator
from yarl import URL

from streams.alerts.sinks.pagerduty import DEFAULT_URL as PAGERDUTY_URL
from streams.alerts.sinks.slack import DEFAULT_URL as SLACK_URL
from streams.core.domain.event_kind import TOPIC_OF, EventKind
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError
from streams.observe.settings import (
    ConnectionSettings,
    LivenessSettings,
    LogSettings,
    ProbeSettings,
    RegistrySettings,
)

FAMILIES = tuple(kind for kind in EventKind if TOPIC_OF[kind] is Topic.SESSION_ALERTS)

_MOST_SECRET_BYTES = 65_536

#: Their parts are separated by blanks of any kind.
_OF_SEVERAL_PARTS = frozenset({"webhook_secret", "apprise_urls"})

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def _address(value: str | None) -> str | None:
    if value is None:
        return None
    try:
        url = URL(value)
    except ValueError:
        url = URL()
    if url.scheme not in {"http", "https"} or not url.host:
        raise ValueError("must be an address that begins with http:// or https://")
    return value.rstrip("/")


def _addresses(value: str) -> str:
    for part in _parts(value):
        _address(part)
    return value


def _families(value: str) -> str:
    if not _parts(value) or not set(_parts(value)) <= set(FAMILIES):
        raise ValueError(f"must be some of {', '.join(FAMILIES)}, separated by commas")
    return value


def _one_line(variable: str, name: str, secret: str) -> str:
    """Refuse what no request could carry, without showing it.

    Raises:
        ConfigurationError: a control character is in it, such as a line break.
    """
    if name not in _OF_SEVERAL_PARTS and _CONTROL.search(secret):
        raise ConfigurationError(
            f"{variable} has a line break or another control character in the middle. Write it in one line."
        )
    return secret


def _parts(value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())


Address = Annotated[str | None, AfterValidator(_address)]


class NotifySettings(ConnectionSettings, RegistrySettings, LivenessSettings, ProbeSettings, LogSettings):
    """Everything that a notifier reads at start."""

    notify_group: str = Field(
        "eddy-notify",
        min_length=1,
        max_length=200,
        pattern=r"^[A-Za-z0-9._-]+$",
        description="Consumer group, behind the prefix. A second notifier with other sinks needs its own.",
    )
    notify_from: Literal["latest", "earliest"] = Field(
        "latest", description="Where a new group begins: latest never pages for what is old."
    )
    notify_families: Annotated[str, AfterValidator(_families)] = Field(
        "loop_episode", description="Kinds of alerts to tell, separated by commas."
    )
    notify_history_h: int = Field(
        72,
        ge=1,
        le=8_760,
        description="How far back a start reads to know which episodes are open; longer than sessions live.",
    )
    notify_timeout_s: float = Field(10.0, ge=0.1, le=300.0, description="Limit for one request.")
    notify_console_url: Address = Field(
        None, description="Where people reach the console, for links, such as https://eddy.example.com."
    )
    notify_currency: str = Field("$", max_length=8, description="In front of costs.")
    notify_cafile: Path | None = Field(
        None, description="CA certificates of the receivers, PEM; the system's when not set."
    )

    notify_alertmanager_url: Annotated[str, AfterValidator(_addresses)] = Field(
        "", description="Alertmanager; of a cluster all of its servers, separated by commas."
    )
    notify_alertmanager_token: SecretStr | None = Field(None, description="Bearer token, if it wants one.")
    notify_alertmanager_token_file: Path | None = Field(None, description="The same, from a file.")

    notify_webhook_url: SecretStr | None = Field(None, description="Receiver of signed CloudEvents.")
    notify_webhook_url_file: Path | None = Field(None, description="The same, from a file.")
    notify_webhook_secret: SecretStr | None = Field(
        None, description="whsec_... of Standard Webhooks; two, separated by a blank, while one is replaced."
    )
    notify_webhook_secret_file: Path | None = Field(None, description="The same, from a file.")

    notify_pagerduty_key: SecretStr | None = Field(None, description="Integration key of Events API v2.")
    notify_pagerduty_key_file: Path | None = Field(None, description="The same, from a file.")
    notify_pagerduty_url: Address = Field(PAGERDUTY_URL, description="Events API; that of the EU differs.")

    notify_slack_webhook: SecretStr | None = Field(None, description="Address of an incoming webhook.")
    notify_slack_webhook_file: Path | None = Field(None, description="The same, from a file.")
    notify_slack_token: SecretStr | None = Field(
        None, description="Bot token, instead of a webhook: messages are kept up to date, ends go to threads."
    )
    notify_slack_token_file: Path | None = Field(None, description="The same, from a file.")
    notify_slack_channel: str = Field(
        "", max_length=100, description="Where the bot writes, such as #agents."
    )
    notify_slack_url: Address = Field(SLACK_URL, description="Web API of Slack.")

    notify_otlp_url: Address = Field(None, description="OTLP over HTTP, such as http://collector:4318.")
    notify_otlp_headers: SecretStr | None = Field(
        None, description="Headers for it, name=value, separated by commas."
    )
    notify_otlp_headers_file: Path | None = Field(None, description="The same, from a file.")

    notify_apprise_urls: SecretStr | None = Field(
        None, description="Addresses of Apprise, separated by blanks: mail, Teams and others."
    )
    notify_apprise_urls_file: Path | None = Field(None, description="The same, from a file.")

    web_port: int = Field(8068, ge=0, le=65_535, description="0 chooses a free one and logs it.")

    @property
    def families(self) -> frozenset[str]:
        """The kinds of `EDDY_NOTIFY_FAMILIES`."""
        return frozenset(_parts(self.notify_families))

    @property
    def alertmanagers(self) -> tuple[str, ...]:
        """The addresses of `EDDY_NOTIFY_ALERTMANAGER_URL`."""
        return tuple(each.rstrip("/") for each in _parts(self.notify_alertmanager_url))

    @property
    def group(self) -> str:
        """The consumer group."""
        return f"{self.topic_prefix}{self.notify_group}"

    def secret(self, name: str) -> str | None:
        """Return a secret from the environment or from its file, None where neither is set.

        Args:
            name: The name of the setting, without ``notify_``.

        Raises:
            ConfigurationError: the file cannot be read, is empty, or has more lines than the secret may have;
                the message shows nothing of it.
        """
        variable = f"EDDY_NOTIFY_{name.upper()}"
        value: SecretStr | None = getattr(self, f"notify_{name}")
        if value is not None:
            return _one_line(variable, name, value.get_secret_value().strip())
        path: Path | None = getattr(self, f"notify_{name}_file")
        if path is None:
            return None
        variable += "_FILE"
        try:
            with path.open("rb") as file:
                found = file.read(_MOST_SECRET_BYTES).decode().strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not text"
            raise ConfigurationError(f"{variable} names {path}, which cannot be read: {why}.") from None
        if not found:
            raise ConfigurationError(f"{variable} names {path}, which is empty.")
        return _one_line(variable, name, found)

    @model_validator(mode="after")
    def _each_secret_has_one_place(self) -> Self:
        for name in type(self).model_fields:
            beside = f"{name}_file"
            if beside in type(self).model_fields and None not in (getattr(self, name), getattr(self, beside)):
                raise ValueError(f"EDDY_{name.upper()} and EDDY_{beside.upper()} exclude each other")
        return self

    @model_validator(mode="after")
    def _slack_is_reached_in_one_way(self) -> Self:
        bot = self._is_set("slack_token")
        if bot and self._is_set("slack_webhook"):
            raise ValueError("EDDY_NOTIFY_SLACK_TOKEN and EDDY_NOTIFY_SLACK_WEBHOOK exclude each other")
        if bot and not self.notify_slack_channel:
            raise ValueError("EDDY_NOTIFY_SLACK_CHANNEL is needed for EDDY_NOTIFY_SLACK_TOKEN")
        return self

    def _is_set(self, name: str) -> bool:
        values: tuple[Any, Any] = getattr(self, f"notify_{name}"), getattr(self, f"notify_{name}_file")
        return values != (None, None)
