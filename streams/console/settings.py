"""The settings of a console: each is an environment variable."""

from __future__ import annotations

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr

from streams.observe.settings import CommandSettings


def _networks(value: str) -> str:
    for part in _parts(value):
        try:
            ip_network(part)
        except ValueError:
            raise ValueError("must be networks such as 10.0.0.0/8, separated by commas") from None
    return value


def _patterns(value: str) -> str:
    for part in value.split():
        try:
            re.compile(part)
        except re.error:
            raise ValueError("must be regular expressions separated by blanks") from None
    return value


def _parts(value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())


class ConsoleSettings(CommandSettings):
    """Everything a console reads at start."""

    console_host: str = Field(
        "127.0.0.1",
        description="Where the console listens. Elsewhere it needs EDDY_CONSOLE_TOKENS or a trusted proxy.",
    )
    console_port: int = Field(8070, ge=0, le=65_535, description="0 chooses a free one and prints it.")
    console_dir: Path = Field(
        Path("eddy-console"), description="The console's archive, a cache: delete it and it is built again."
    )
    console_history_days: int = Field(
        7, ge=0, le=365, description="How far back it reads, and what it keeps."
    )
    console_live_minutes: int = Field(
        15, ge=1, le=1_440, description="A session without a record for so long is idle."
    )
    console_live_max: int = Field(200_000, ge=100, description="Sessions kept in memory at most.")
    console_index: Literal["all", "alerts", "off"] = Field(
        "all", description="Which sessions the board knows: all, those with alerts, or no steps at all."
    )
    console_workers: str = Field(
        "", description="URLs of workers separated by commas, or dns:NAME:8066, to show how they fare."
    )
    web_token: SecretStr | None = Field(
        None, min_length=16, description="What the workers ask for before they say where a session stands."
    )
    console_tokens: Path | None = Field(
        None,
        description="File of people: name:role:sha256, or name:role:agent_id pattern:sha256; read on change.",
    )
    console_agent_tokens: Path | None = Field(
        None, description="File of agents that use HTTP: name:agent_id pattern:sha256 of the token."
    )
    console_secret: SecretStr | None = Field(
        None, min_length=32, description="Key of the cookies, the same for all instances; else one at random."
    )
    console_trusted_proxies: Annotated[str, AfterValidator(_networks)] = Field(
        "", description="Networks whose proxies may say who the user is, such as 10.0.0.0/8."
    )
    console_proxy_secret: SecretStr | None = Field(
        None, min_length=16, description="What a trusted proxy sends as X-Eddy-Proxy-Secret."
    )
    console_proxy_user_header: str = Field("X-Forwarded-User", description="Who the user is.")
    console_proxy_groups_header: str = Field("X-Forwarded-Groups", description="Their groups.")
    console_url: str = Field(
        "",
        pattern=r"^(https?://([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*/?)?$",
        description="Where browsers find the console, such as https://eddy.example, for OpenID Connect.",
    )
    console_openid_issuer: str | None = Field(
        None, description="OpenID provider that people log in at, as it names itself. Needs the extra openid."
    )
    console_openid_client_id: str | None = Field(None, description="Name of the console at the provider.")
    console_openid_client_secret: SecretStr | None = Field(
        None, description="Password of the console at the provider. Without one it is a public client."
    )
    console_openid_scopes: str = Field(
        "openid profile email", pattern=r"^openid( .*)?$", description="What the provider is asked for."
    )
    console_openid_groups_claim: str = Field(
        "groups",
        description="Claim that names a person's groups; dots lead into objects: realm_access.roles.",
    )
    console_operator_groups: str = Field(
        "", description="Groups that may act, separated by commas; group=pattern limits one to some agents."
    )
    console_viewer_groups: str = Field(
        "", description="Groups that may look, as above; * is everyone. Empty: everyone whom a proxy names."
    )
    console_base_path: str = Field(
        "", pattern=r"^(/[A-Za-z0-9._~-]+)*$", description="Path in front of every page, such as /eddy."
    )
    console_login_hours: int = Field(
        12, ge=1, le=12, description="So long a login lasts; what a provider says of a person counts as long."
    )
    console_read_only: bool = Field(False, description="Hide and refuse every action.")
    console_viewer_sees: Literal["text", "digests"] = Field(
        "text", description="digests: viewers see no arguments, results, goals or raw values."
    )
    console_redact: Annotated[str, AfterValidator(_patterns)] = Field(
        "", description="Regular expressions separated by blanks; what they match is never shown."
    )
    console_currency: str = Field("$", max_length=8, description="Shown with costs.")
    console_automatic: bool = Field(False, description="Whether automatic policies are computed.")

    @property
    def worker_urls(self) -> tuple[str, ...]:
        """The parts of `EDDY_CONSOLE_WORKERS`."""
        return _parts(self.console_workers)

    @property
    def trusted_proxies(self) -> tuple[str, ...]:
        """The networks of `EDDY_CONSOLE_TRUSTED_PROXIES`."""
        return _parts(self.console_trusted_proxies)

    @property
    def operator_groups(self) -> tuple[str, ...]:
        """The groups of `EDDY_CONSOLE_OPERATOR_GROUPS`."""
        return _parts(self.console_operator_groups)

    @property
    def viewer_groups(self) -> tuple[str, ...]:
        """The groups of `EDDY_CONSOLE_VIEWER_GROUPS`."""
        return _parts(self.console_viewer_groups)
