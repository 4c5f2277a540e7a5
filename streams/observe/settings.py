"""The settings of a process: where the brokers are, where state lives, how much of everything.

Each can be set as an environment variable with the prefix ``EDDY_`` or in a ``.env`` file; an empty one
counts as not set. They are read once, at start. What decides detection (thresholds, windows) is not here: it
changes at run time, see `eddy config`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from streams.core.errors import ConfigurationError

MEBIBYTE = 1 << 20

_URL = re.compile(r"https?://[^\s,/]+(/[^\s,]*)?")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OWN_HEADERS = frozenset(
    {"authorization", "accept", "accept-encoding", "content-type", "content-length", "host"}
)
_SERVER = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]+)(:(?P<port>[0-9]{1,5}))?")

#: Name of a function, as ``module:function``.
_FUNCTION = r"^([A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*)?$"

#: Kafka's limit. `JOB-bridge-traces-changelog` is the longest name of a topic that begins with the job's own.
_LONGEST_TOPIC = 249
_LONGEST_JOB = _LONGEST_TOPIC - len("-bridge-traces-changelog")

S = TypeVar("S", bound="SettingsPart")


def _command(value: str) -> str:
    try:
        shlex.split(value)
    except ValueError as error:
        # Not repeated here: some write a secret into it.
        raise ValueError(f"cannot be split into words as a shell does ({error})") from None
    return value


class SettingsPart(BaseSettings):
    """A group of settings that belong together. What a process reads at start is composed of parts."""

    model_config = SettingsConfigDict(
        env_prefix="EDDY_",
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",
        validate_default=True,
        frozen=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,  # it may be a password
    )


class ConnectionSettings(SettingsPart):
    """How to reach the brokers, and the names that the job has there."""

    bootstrap_servers: str = Field(
        "127.0.0.1:9092", description="Brokers to start from, `host:port`, separated by commas."
    )
    client_id: str = Field("eddy", description="Shown in the brokers' logs and quotas.")
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT", description="Protocol to the brokers, as in every Kafka client."
    )
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] = Field(
        "PLAIN", description="Used when the protocol is SASL."
    )
    sasl_username: str | None = Field(None, description="User name of the SASL login.")
    sasl_password: SecretStr | None = Field(None, description="Password of the SASL login. Never logged.")
    sasl_oauth_token_file: Path | None = Field(
        None, description="Holds the token of OAUTHBEARER; read again at each login."
    )
    sasl_oauth_token_command: str = Field(
        "", description="Prints the token of OAUTHBEARER; run again at each login, without a shell."
    )
    sasl_oauth_token_provider: str = Field(
        "",
        pattern=_FUNCTION,
        description="module:function that returns the token of OAUTHBEARER, such as that of MSK.",
    )
    sasl_oauth_token_argument: str = Field(
        "", description="What that function is called with, such as the region."
    )
    ssl_cafile: Path | None = Field(None, description="CA certificates, PEM; the system's when not set.")
    ssl_certfile: Path | None = Field(None, description="Client certificate, PEM.")
    ssl_keyfile: Path | None = Field(None, description="Key of the client certificate, PEM.")
    ssl_keyfile_password: SecretStr | None = Field(
        None, description="Password of the key file. Never logged."
    )
    ssl_check_hostname: bool = Field(True, description="Whether a broker's certificate must name its host.")
    client_rack: str = Field(
        "",
        max_length=100,
        description="The zone this runs in, as `broker.rack` calls it: records are read from a copy in it.",
    )
    application_id: str = Field(
        "eddy",
        min_length=1,
        max_length=200,
        pattern=r"^[A-Za-z0-9._-]+$",
        description="Id of the job: its consumer group, and the beginning of its internal topics' names.",
    )
    topic_prefix: str = Field(
        "",
        max_length=100,
        pattern=r"^[A-Za-z0-9._-]*$",
        description="Before the name of every topic and of the consumer group, such as `staging.`. Each job "
        "of a cluster needs its own: jobs with the same prefix write into the same topics.",
    )
    max_batch_bytes: int = Field(
        64 * MEBIBYTE,
        ge=16 * MEBIBYTE,
        le=1024 * MEBIBYTE,
        description="A batch that decompresses to more is set aside, bytes.",
    )

    @property
    def job(self) -> str:
        """The job's own name on the brokers: its consumer group, and the beginning of its internal topics."""
        return f"{self.topic_prefix}{self.application_id}"

    @field_validator("bootstrap_servers")
    @classmethod
    def _are_addresses(cls, value: str) -> str:
        servers = [server.strip() for server in value.split(",") if server.strip()]
        found = [_SERVER.fullmatch(server) for server in servers]
        if not all(parts and 0 < int(parts["port"] or 9092) < 1 << 16 for parts in found) or not found:
            # Not repeated here: some write a login into it.
            raise ValueError("must be host:port, or several of them separated by commas")
        return value

    @field_validator("sasl_oauth_token_command")
    @classmethod
    def _is_a_command(cls, value: str) -> str:
        return _command(value)

    @model_validator(mode="after")
    def _topic_names_fit(self) -> Self:
        if len(self.job) > _LONGEST_JOB:
            raise ValueError(
                f"EDDY_TOPIC_PREFIX and EDDY_APPLICATION_ID together must have {_LONGEST_JOB} characters or "
                f"fewer: Kafka takes topic names of {_LONGEST_TOPIC} characters"
            )
        return self

    @model_validator(mode="after")
    def _login_is_complete(self) -> Self:
        if self.security_protocol.startswith("SASL") and self.sasl_mechanism == "OAUTHBEARER":
            sources = (
                self.sasl_oauth_token_file,
                self.sasl_oauth_token_command,
                self.sasl_oauth_token_provider,
            )
            if sum(map(bool, sources)) != 1:
                raise ValueError(
                    "EDDY_SASL_MECHANISM OAUTHBEARER needs one of EDDY_SASL_OAUTH_TOKEN_FILE, "
                    "EDDY_SASL_OAUTH_TOKEN_COMMAND and EDDY_SASL_OAUTH_TOKEN_PROVIDER"
                )
        elif self.security_protocol.startswith("SASL"):
            for name in ("sasl_username", "sasl_password"):
                if getattr(self, name) is None:
                    raise ValueError(f"EDDY_{name.upper()} is needed for EDDY_SECURITY_PROTOCOL SASL")
        return self


class TopicSettings(ConnectionSettings):
    """What `eddy topics` makes of the topics."""

    partitions: int = Field(
        8,
        ge=1,
        le=10_000,
        description="Number of partitions of the session topics, used by `eddy topics`. Choose it large: it "
        "cannot grow later.",
    )
    replicas: int = Field(
        3,
        ge=1,
        le=10,
        description="Number of replicas of a topic, used by `eddy topics`. A cluster of one broker needs 1.",
    )


class RegistrySettings(SettingsPart):
    """Where schemas are, and how records are read and written."""

    schema_registry_url: str | None = Field(
        None,
        description="Confluent-compatible registry, or several URLs of one separated by commas. Without one "
        "the bundled schemas are used.",
    )
    schema_registry_username: str | None = Field(None, description="Basic authentication at the registry.")
    schema_registry_password: SecretStr | None = Field(None, description="Never logged.")
    schema_registry_register: bool = Field(
        True, description="Whether a worker registers the schemas of Eddy at start; off where CI does that."
    )
    schema_registry_token_file: Path | None = Field(
        None, description="Holds a bearer token; read again when the registry refuses it."
    )
    schema_registry_token_command: str = Field(
        "", description="Prints a bearer token; run again when the registry refuses it, without a shell."
    )
    schema_registry_token_provider: str = Field(
        "", pattern=_FUNCTION, description="module:function that returns a bearer token."
    )
    schema_registry_token_argument: str = Field("", description="What that function is called with.")
    schema_registry_headers: dict[str, str] = Field(
        default_factory=dict,
        repr=False,
        description="Sent with each request, as JSON, such as target-sr-cluster of Confluent Cloud.",
    )
    schema_registry_cafile: Path | None = Field(None, description="CA certificates of the registry, PEM.")
    schema_registry_certfile: Path | None = Field(None, description="Client certificate, PEM.")
    schema_registry_keyfile: Path | None = Field(None, description="Key of that certificate, PEM.")
    schema_registry_keyfile_password: SecretStr | None = Field(
        None, description="Password of that key file. Never logged."
    )
    output_format: Literal["avro", "json"] = Field("avro", description="Format of everything the job writes.")
    max_value_bytes: int = Field(
        MEBIBYTE, ge=1_000, le=8 * MEBIBYTE, description="A larger input value is a dead letter, bytes."
    )

    @field_validator("schema_registry_token_command")
    @classmethod
    def _is_a_command_too(cls, value: str) -> str:
        return _command(value)

    @field_validator("schema_registry_url")
    @classmethod
    def _are_urls(cls, value: str | None) -> str | None:
        urls = [] if value is None else [url.strip() for url in value.split(",")]
        # Not repeated here: some write a login into it.
        if not all(_URL.fullmatch(url) for url in urls):
            raise ValueError(
                "must be http(s)://host:port, or several separated by commas; a comma in a password is %2C"
            )
        if any("@" in url for url in urls[1:]):
            raise ValueError("takes a login in the first address alone: it is that of all")
        return value

    @field_validator("schema_registry_headers")
    @classmethod
    def _are_headers(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if not _HEADER.fullmatch(name) or not text.isprintable() or not text.isascii():
                raise ValueError(f"cannot send {name!r} as a header: names and values are printable ASCII")
            if name.lower() in _OWN_HEADERS:
                raise ValueError(f"cannot send {name!r}: Eddy sends that header itself")
        return value

    @model_validator(mode="after")
    def _registry_login_is_one(self) -> Self:
        logins = {
            "a login in EDDY_SCHEMA_REGISTRY_URL": self.schema_registry_url is not None
            and "@" in self.schema_registry_url
            and self.schema_registry_username is None,
            "EDDY_SCHEMA_REGISTRY_USERNAME": self.schema_registry_username,
            "EDDY_SCHEMA_REGISTRY_TOKEN_FILE": self.schema_registry_token_file,
            "EDDY_SCHEMA_REGISTRY_TOKEN_COMMAND": self.schema_registry_token_command,
            "EDDY_SCHEMA_REGISTRY_TOKEN_PROVIDER": self.schema_registry_token_provider,
        }
        given = [name for name, value in logins.items() if value]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} are logins at one registry: set one of them")
        if self.schema_registry_keyfile is not None and self.schema_registry_certfile is None:
            raise ValueError("EDDY_SCHEMA_REGISTRY_KEYFILE needs EDDY_SCHEMA_REGISTRY_CERTFILE beside it")
        return self


class RecordSettings(ConnectionSettings, RegistrySettings):
    """What a tool reads at start that reads or writes records of the job."""


class CommandSettings(RecordSettings):
    """What a program reads at start that issues commands to agents."""

    command_key: SecretStr | None = Field(
        None,
        min_length=16,
        description="Commands to agents are signed with it, and a guard with a key obeys no others.",
    )

    @property
    def command_key_bytes(self) -> bytes | None:
        """The key as `streams.control.publisher` takes it."""
        return None if self.command_key is None else self.command_key.get_secret_value().encode()


class ProbeSettings(SettingsPart):
    """Where a process answers probes and scrapes."""

    web_host: str = Field(
        "127.0.0.1", description="Where /livez, /readyz, /metrics and /sessions/{id} listen."
    )
    web_port: int = Field(8066, ge=0, le=65_535, description="0 chooses a free one and logs it.")
    web_token: SecretStr | None = Field(
        None,
        min_length=16,
        description="Needed to read /sessions/{id}, which shows what agents did, from another machine.",
    )


class LogSettings(SettingsPart):
    """How a process logs."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="Lowest level that is logged."
    )
    log_format: Literal["console", "json"] = Field("console", description="Lines for people, or JSON lines.")


class LivenessSettings(SettingsPart):
    """How long a member of a group may be silent or stand still."""

    session_timeout_s: float = Field(15.0, ge=1.0, description="After this silence the group takes over.")
    stall_timeout_s: float = Field(
        120.0, ge=1.0, description="Lag and no progress for so long: /livez fails and the worker exits."
    )


class EngineSettings(LivenessSettings):
    """How much of everything an app of the engine takes, and how long it waits."""

    processes: int = Field(
        1, ge=1, le=256, description="Number of workers that one command starts, such as one for each core."
    )
    data_dir: Path = Field(Path("eddy-data"), description="Local state. One worker's own, never shared.")
    session_cache: int = Field(
        100_000, ge=1, description="Decoded sessions kept in memory at most, 3 to 8 kB each."
    )
    checkpoint_s: float = Field(
        30.0,
        ge=0.0,
        le=600.0,
        description="Changed sessions are written after so long; a crash reads it again. 0: with each run.",
    )
    rocksdb_block_cache_bytes: int = Field(
        64 * MEBIBYTE, ge=MEBIBYTE, description="Size of the block cache that partitions share, in bytes."
    )
    rocksdb_write_buffer_bytes: int = Field(
        16 * MEBIBYTE, ge=MEBIBYTE, description="Size of one memtable, in bytes."
    )
    rocksdb_max_write_buffers: int = Field(3, ge=2, le=16, description="Memtables of a partition.")
    rocksdb_max_open_files: int = Field(
        256, ge=16, description="Number of files that a database of one partition may hold open."
    )
    rocksdb_bloom_bits: int = Field(10, ge=1, le=32, description="Bits per key of the bloom filters.")

    run_max_records: int = Field(
        500, ge=1, le=100_000, description="Records of a run at most: more is cheaper, fewer is quicker."
    )
    run_max_bytes: int = Field(MEBIBYTE, ge=1_000, description="Value bytes of a run at most.")
    lane_max_runs: int = Field(16, ge=1, description="Runs of a partition that may wait for their turn.")
    aggregate_pause_s: float = Field(
        1.0, ge=0.0, le=60.0, description="An agent's health is published at most so often."
    )
    housekeeping_interval_s: float = Field(
        30.0,
        ge=0.0,
        le=86_400.0,
        description="Between two searches for sessions that can be removed; 0 removes none.",
    )
    stub_rest_s: float = Field(
        120.0,
        ge=0.0,
        le=86_400.0,
        description="A stub of an ended session stays so long: who is suspended for less cannot undo it.",
    )
    fetch_max_wait_ms: int = Field(
        50, ge=0, le=30_000, description="How long a broker may hold a fetch that finds nothing."
    )
    fetch_max_bytes: int = Field(2 * MEBIBYTE, ge=1_000, description="Per partition and fetch.")
    heartbeat_interval_s: float = Field(3.0, ge=0.1, description="A third of the session timeout or less.")
    rebalance_timeout_s: float = Field(60.0, ge=1.0, description="For a worker to drain and join again.")
    request_timeout_s: float = Field(
        40.0, ge=1.0, description="Longest wait for an answer, in seconds; at least the session timeout."
    )
    commit_interval_s: float = Field(1.0, ge=0.05, description="Between offset commits.")
    group_instance_id: str | None = Field(
        None, description="Static membership: a stable name per worker, with a stable host name."
    )

    producer_compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = Field(
        "zstd", description="Compression of everything the job writes; lz4 takes five times the CPU here."
    )
    producer_max_batch_bytes: int = Field(
        512 * 1024, ge=16_384, description="Size of one batch to a partition at most, in bytes."
    )
    producer_max_request_bytes: int = Field(
        16 * MEBIBYTE, ge=MEBIBYTE, description="Size of one request to a broker at most, in bytes."
    )
    producer_linger_ms: int = Field(0, ge=0, le=1_000, description="An epoch sends whole batches: 0.")
    producer_request_timeout_s: float = Field(45.0, ge=1.0, description="Then the worker stops and restarts.")
    producer_idempotence: bool = Field(
        True, description="Off only for brokers that do not know it, such as the embedded one."
    )

    processing_guarantee: Literal["at_least_once", "exactly_once"] = Field(
        "at_least_once",
        description="exactly_once: outputs, state and offsets of a run are one Kafka transaction.",
    )
    transaction_timeout_s: float = Field(
        60.0,
        ge=2.0,
        description="A transaction open for so long is aborted by the broker. Its readers wait until then.",
    )

    standby_replicas: int = Field(
        0, ge=0, le=5, description="Other workers that keep a partition's state warm, for a quick takeover."
    )
    restore_timeout_s: float = Field(
        900.0, ge=1.0, description="A rebalance with its restore may take so long before the worker exits."
    )
    faust: dict[str, Any] = Field(
        default_factory=dict, description="Any other setting of Faust, as a JSON object; wins over ours."
    )
    consumer: dict[str, Any] = Field(
        default_factory=dict, description="Any other option of aiokafka's consumer, as a JSON object."
    )
    producer: dict[str, Any] = Field(
        default_factory=dict, description="Any other option of aiokafka's producer, as a JSON object."
    )

    @model_validator(mode="after")
    def _timeouts_fit(self) -> Self:
        if self.session_timeout_s > self.request_timeout_s:
            raise ValueError("EDDY_SESSION_TIMEOUT_S must not be larger than EDDY_REQUEST_TIMEOUT_S")
        if self.heartbeat_interval_s >= self.session_timeout_s:
            raise ValueError("EDDY_HEARTBEAT_INTERVAL_S must be smaller than EDDY_SESSION_TIMEOUT_S")
        if self.transaction_timeout_s <= self.producer_request_timeout_s:
            raise ValueError(
                "EDDY_TRANSACTION_TIMEOUT_S must be larger than EDDY_PRODUCER_REQUEST_TIMEOUT_S: a worker "
                "gives a transaction up before the broker does"
            )
        if self.aggregate_pause_s >= self.stall_timeout_s:
            raise ValueError("EDDY_AGGREGATE_PAUSE_S must be smaller than EDDY_STALL_TIMEOUT_S")
        return self


class WorkerSettings(ConnectionSettings, RegistrySettings, EngineSettings, ProbeSettings, LogSettings):
    """Everything a worker reads at start."""

    content: Literal["full", "hash", "none"] = Field(
        "full", description="Texts of agents in what is written out; verdicts are the same with each."
    )
    redactor: str = Field(
        "",
        description="module:function that goes over each text of an agent before it is judged or stored.",
        pattern=r"^([\w.]+:\w+)?$",
    )


class DoctorSettings(WorkerSettings, TopicSettings):
    """What `eddy doctor` looks at: what a worker reads, and what `eddy topics` would make."""


class BridgeSettings(WorkerSettings):
    """Everything a bridge reads at start."""

    content: Literal["full", "hash", "none"] = Field(
        "full", description="Texts in the records of the bridge; hash keeps calls and results comparable."
    )
    otlp_session: str = Field(
        "",
        description="Attributes of spans that name the session, before the known ones, separated by commas.",
    )
    bridge_hold_ms: int = Field(
        2_000, ge=0, le=60_000, description="How long spans wait for those of their trace that ended before."
    )
    trace_ttl_s: float = Field(
        3_600.0, ge=60.0, le=604_800.0, description="A trace without spans for so long is forgotten."
    )
    session_cache: int = Field(
        5_000, ge=1, description="Decoded traces kept in memory at most, 1 to 300 kB each."
    )
    web_port: int = Field(8067, ge=0, le=65_535, description="0 chooses a free one and logs it.")

    @field_validator("redactor")
    @classmethod
    def _is_for_workers(cls, value: str) -> str:
        if value:
            raise ValueError("is for workers: a bridge keeps spans that wait as they came. Set EDDY_CONTENT")
        return value

    @property
    def session_keys(self) -> tuple[str, ...]:
        """The attributes that `EDDY_OTLP_SESSION` names."""
        return tuple(name.strip() for name in self.otlp_session.split(",") if name.strip())

    @field_validator("otlp_session")
    @classmethod
    def _are_names(cls, value: str) -> str:
        if any(not name.strip() for name in value.split(",")) and value.strip():
            raise ValueError("must be names of attributes, separated by commas")
        return value

    @model_validator(mode="after")
    def _trace_outlives_hold(self) -> Self:
        if self.bridge_hold_ms >= 1000 * self.trace_ttl_s:
            raise ValueError("EDDY_BRIDGE_HOLD_MS must be less than EDDY_TRACE_TTL_S")
        return self


def load(kind: type[S], **overrides: Any) -> S:
    """Read the settings from the environment; ``overrides`` win, those that are None do not count.

    Raises:
        ConfigurationError: names each variable that is wrong and what it should be.
    """
    try:
        return kind(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as error:
        problems = "; ".join(
            f"{_variable(*problem['loc'])}: {_said(problem)}" if problem["loc"] else _said(problem)
            for problem in error.errors(include_input=False)
        )
    except SettingsError as error:
        # Raised for a variable whose value is no JSON; names the field, in quotes.
        [*_, field] = re.findall(r'field "(\w+)"', str(error)) or ["..."]
        problems = f"{_variable(field)}: not a JSON object"
    raise ConfigurationError(f"The settings are not usable. {problems}.")


#: What is no setting of a worker, of `eddy topics`, the bridge or a command, and yet is read: by Faust, by
#: consoles, notifiers and guards, by `eddy hook`, by tests, and before all settings.
_ALSO_READ = ("FAUST_", "CONSOLE_", "NOTIFY_", "GUARD_", "HOOK_FILE", "CRASH_POINT", "NATIVE", "WEB_TOKEN")


def unread(environment: Iterable[str]) -> list[str]:
    """Return the variables of Eddy that nothing reads, each with the one that may be meant.

    Of consoles and notifiers only the beginning of a name is checked: they are built on this module. What
    Kubernetes sets for a service, such as eddy-worker, is no variable of ours.
    """
    kinds = (BridgeSettings, TopicSettings, CommandSettings)
    known = {_variable(name) for kind in kinds for name in kind.model_fields}
    given = {name.upper() for name in environment if name.upper().startswith("EDDY_")}
    services = [name.removesuffix("_SERVICE_HOST") for name in given if name.endswith("_SERVICE_HOST")]
    links = (f"{service}_{each}" for service in services for each in ("SERVICE_", "PORT"))
    skipped = (*map(_variable, _ALSO_READ), *links)
    found = sorted(name for name in given - known if not name.startswith(skipped))
    near = {name: get_close_matches(name, sorted(known), n=1, cutoff=0.8) for name in found}
    return [f"{name} (perhaps {near[name][0]}?)" if near[name] else name for name in found]


def _variable(*location: str | int) -> str:
    return "EDDY_" + "_".join(map(str, location)).upper()


def _said(problem: ErrorDetails) -> str:
    return problem["msg"].removeprefix("Value error, ")
