"""The settings of a process: described, checked, and silent about secrets."""

import dataclasses
import inspect
import json
import logging
import os
import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import pytest
from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from streams.core.errors import ConfigurationError
from streams.kafka.topic_identity import job_topics
from streams.observe.settings import ConnectionSettings, DoctorSettings, TopicSettings, WorkerSettings, load
from streams.worker import wiring as composition
from streams.worker.endpoints import connection
from streams.worker.faust.app_settings import faust_credentials
from streams.worker.wiring import build, engine_options

FIELDS = DoctorSettings.model_fields

#: The last word of a number's name, or a word of its description, says what is counted.
UNITS = {
    "ms",
    "s",
    "bytes",
    "bits",
    "records",
    "runs",
    "partitions",
    "replicas",
    "workers",
    "files",
    "buffers",
    "port",
    "sessions",
}

SECRETS = [name for name, field in FIELDS.items() if SecretStr in get_args(field.annotation)]
SECRET = "correct-horse-battery"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work where no `.env` file is, and without the variables of whoever runs the tests."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("EDDY_")]:
        monkeypatch.delenv(name)
    return tmp_path


def variable(name: str) -> str:
    return f"EDDY_{name.upper()}"


def kinds(field: FieldInfo) -> set[Any]:
    arguments = set(get_args(field.annotation)) if get_origin(field.annotation) is not Literal else set()
    return (arguments or {field.annotation}) - {NoneType}


def wrong_values(field: FieldInfo) -> Iterator[str]:
    """Yield values that the declaration of a field rules out."""
    if get_origin(field.annotation) is Literal:
        yield "nonsense"
        yield str(get_args(field.annotation)[0]).swapcase()
    elif field.annotation is bool:
        yield "perhaps"
    elif field.annotation in {int, float}:
        yield from ("many", "nan", "1e999")
    elif get_origin(field.annotation) is dict:
        yield from ("{", "[1]", "7")
    for rule in field.metadata:
        match rule:
            case Ge(ge=least):
                yield str(least - 1)
            case Le(le=most):
                yield str(most + 1)
            case MaxLen(max_length=most):
                yield "x" * (most + 1)
            case MinLen():
                pass  # an empty variable counts as not set
            case _:
                yield "not a\tname"


WRONG = [(name, value) for name, field in FIELDS.items() for value in wrong_values(field)]
WRONG += [
    ("bootstrap_servers", value) for value in (",", "kafka:abc", "kafka:0", "kafka:65536", "a b:1", "kafka:")
]


@pytest.mark.parametrize("name", FIELDS)
def test_every_setting_says_what_it_is_for(name: str) -> None:
    description = FIELDS[name].description or ""
    assert description.endswith(".")
    assert len(description.split()) >= 2
    if FIELDS[name].annotation in {int, float}:
        words = {*name.split("_")[-1:], *description.lower().replace(",", "").rstrip(".").split()}
        assert words & UNITS


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_value_is_refused_by_the_name_of_its_variable(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable(name), value)
    with pytest.raises(ConfigurationError, match=rf"\b{variable(name)}: "):
        load(DoctorSettings)


def test_only_names_paths_and_secrets_take_any_text() -> None:
    checked = {name for name, _ in WRONG}
    for name in FIELDS.keys() - checked:
        assert kinds(FIELDS[name]) <= {str, Path, SecretStr}, name


def test_every_wrong_value_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_MAX_BATCH_BYTES", "0")
    monkeypatch.setenv("EDDY_LOG_FORMAT", "xml")
    with pytest.raises(ConfigurationError) as caught:
        load(WorkerSettings)
    assert {"EDDY_MAX_BATCH_BYTES", "EDDY_LOG_FORMAT"} <= set(re.findall(r"(EDDY_\w+): ", str(caught.value)))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"SESSION_TIMEOUT_S": "50"}, ["EDDY_SESSION_TIMEOUT_S", "EDDY_REQUEST_TIMEOUT_S"]),
        ({"HEARTBEAT_INTERVAL_S": "15"}, ["EDDY_HEARTBEAT_INTERVAL_S", "EDDY_SESSION_TIMEOUT_S"]),
        (
            {"TOPIC_PREFIX": "p" * 100, "APPLICATION_ID": "a" * 127},
            ["EDDY_TOPIC_PREFIX", "EDDY_APPLICATION_ID", "225 characters"],
        ),
        (
            {"AGGREGATE_PAUSE_S": "5", "STALL_TIMEOUT_S": "5"},
            ["EDDY_AGGREGATE_PAUSE_S", "EDDY_STALL_TIMEOUT_S"],
        ),
        (
            {"SECURITY_PROTOCOL": "SASL_SSL", "SASL_USERNAME": "u"},
            ["EDDY_SASL_PASSWORD", "EDDY_SECURITY_PROTOCOL"],
        ),
        (
            {"SECURITY_PROTOCOL": "SASL_SSL", "SASL_PASSWORD": "p"},
            ["EDDY_SASL_USERNAME", "EDDY_SECURITY_PROTOCOL"],
        ),
    ],
)
def test_values_that_do_not_fit_together_are_refused_by_their_names(
    given: dict[str, str], named: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(f"EDDY_{name}", value)
    with pytest.raises(ConfigurationError) as refusal:
        load(WorkerSettings)
    assert all(name in str(refusal.value) for name in named)


def test_the_longest_job_has_topic_names_that_kafka_takes() -> None:
    settings = ConnectionSettings(topic_prefix="p" * 100, application_id="a" * 125)
    catalogue = job_topics(settings.job, settings.topic_prefix, partitions=1, replicas=1)
    assert max(len(topic.name) for topic in catalogue.topics) == 249


@pytest.mark.parametrize("value", ["kafka", "kafka:9092", "a_b.c:1, [::1]:9092", "10.0.0.1:65535,"])
def test_addresses_of_brokers(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_BOOTSTRAP_SERVERS", value)
    assert load(ConnectionSettings).bootstrap_servers == value


@pytest.mark.parametrize("name", FIELDS)
def test_an_empty_variable_counts_as_not_set(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable(name), "")
    assert getattr(load(DoctorSettings), name) == FIELDS[name].get_default(call_default_factory=True)


def test_an_option_wins_over_the_environment_and_that_over_the_file(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (elsewhere / ".env").write_text("EDDY_PARTITIONS=11\nEDDY_REPLICAS=2\nEDDY_CLIENT_ID=file\nOTHER=1\n")
    monkeypatch.setenv("EDDY_REPLICAS", "3")
    monkeypatch.setenv("EDDY_CLIENT_ID", "environment")
    settings = load(TopicSettings, client_id="option", partitions=None)
    assert (settings.partitions, settings.replicas, settings.client_id) == (11, 3, "option")


# -- where they go ------------------------------------------------------------------------------------------


def test_every_setting_reaches_somebody() -> None:
    """Look for each in the composition root and the commands: an option that nobody reads is a lie."""
    root = Path(inspect.getfile(composition)).parent
    wiring = [root / "wiring.py", root / "endpoints.py"]
    source = "".join(path.read_text() for path in [*wiring, *(root.parent / "cli").rglob("*.py")])
    source += inspect.getsource(ConnectionSettings.job.fget).replace("self.", "settings.")
    assert [name for name in FIELDS if f"settings.{name}" not in source] == []


async def test_the_sizes_and_times_reach_the_engine_in_its_units(elsewhere: Path) -> None:
    settings = WorkerSettings(
        application_id="job",
        data_dir=elsewhere,
        run_max_records=7,
        run_max_bytes=4321,
        fetch_max_wait_ms=9,
        producer_linger_ms=20,
        producer_compression="none",
        session_timeout_s=12.5,
        group_instance_id="w-1",
        rocksdb_bloom_bits=8,
    )
    options = engine_options(settings)
    assert options.directory == elsewhere / "job"
    transport = options.transport
    assert (transport.run_max_records, transport.run_max_bytes, transport.fetch_max_wait_ms) == (7, 4321, 9)
    assert options.store.bloom_bits == 8
    conf = build(settings).conf
    assert (conf.producer_linger, conf.producer_compression_type) == (0.02, None)
    assert (conf.broker_session_timeout, conf.consumer_group_instance_id) == (12.5, "w-1")
    assert conf.web_enabled is False


async def test_what_is_handed_to_faust_wins_over_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_FAUST", '{"broker_max_poll_records": 77, "broker_commit_interval": 9.5}')
    conf = build(load(WorkerSettings)).conf
    assert (conf.broker_max_poll_records, conf.broker_commit_interval) == (77, 9.5)


async def test_what_is_handed_to_the_clients_reaches_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_CONSUMER", '{"fetch_min_bytes": 5}')
    monkeypatch.setenv("EDDY_CLIENT_RACK", "zone-2")
    monkeypatch.setenv("EDDY_PRODUCER", '{"metadata_max_age_ms": 77000, "enable_idempotence": false}')
    app: Any = build(load(WorkerSettings))
    thread = app.consumer._thread
    consumer = thread._create_worker_consumer(app.transport)
    producer, outside = app.producer._new_producer(), app.new_consumer()
    try:
        assert consumer._fetch_min_bytes == 5
        assert consumer._client_rack == outside._client_rack == "zone-2"
        assert producer.client._metadata_max_age_ms == 77_000
        assert producer._txn_manager is None
    finally:
        await consumer.stop()
        await outside.stop()
        await producer.stop()
        thread.thread_loop.close()


@pytest.mark.parametrize(
    ("name", "option"),
    [("consumer", "enable_auto_commit"), ("producer", "acks"), ("faust", "stream_wait_empty")],
)
def test_an_option_that_would_break_a_promise_is_refused(name: str, option: str) -> None:
    settings = WorkerSettings(**{name: {option: 1}})
    with pytest.raises(ConfigurationError, match=rf"^{variable(name)} names {option}: "):
        engine_options(settings)


@pytest.mark.parametrize("name", ["faust", "consumer", "producer"])
@pytest.mark.parametrize("option", ["nonsense", "broker"])
def test_an_option_that_nobody_knows_is_refused(name: str, option: str) -> None:
    settings = WorkerSettings(**{name: {option: 1}})
    with pytest.raises(ConfigurationError, match=rf"^{variable(name)} names {option}: "):
        engine_options(settings)


async def test_a_value_that_faust_refuses_is_a_sentence() -> None:
    settings = WorkerSettings(faust={"broker_commit_interval": "soon"})
    with pytest.raises(ConfigurationError, match=r"soon.* Check EDDY_FAUST"):
        build(settings)


async def test_faust_does_not_listen_to_variables_of_other_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKER_URL", "redis://elsewhere")
    monkeypatch.setenv("WEB_ENABLED", "1")
    conf = build(load(WorkerSettings)).conf
    assert [str(url) for url in conf.broker] == ["runs://127.0.0.1:9092"]
    assert conf.web_enabled is False


# -- secrets ------------------------------------------------------------------------------------------------


def with_secrets(monkeypatch: pytest.MonkeyPatch) -> WorkerSettings:
    for name in SECRETS:
        monkeypatch.setenv(variable(name), f"{SECRET}-{name}")
    monkeypatch.setenv("EDDY_SASL_USERNAME", "me")
    monkeypatch.setenv("EDDY_SECURITY_PROTOCOL", "SASL_PLAINTEXT")
    return load(WorkerSettings)


def test_there_are_secrets() -> None:
    assert {"sasl_password", "ssl_keyfile_password", "schema_registry_password"} <= set(SECRETS)
    assert [name for name in FIELDS if "password" in name and name not in SECRETS] == []


async def test_no_secret_is_shown(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    settings = with_secrets(monkeypatch)
    options = engine_options(settings)
    app = build(settings)
    shown = [
        settings,
        options,
        dataclasses.replace(options),
        app,
        app.conf,
        faust_credentials(options.connection),
    ]
    texts = [text for each in shown for text in (repr(each), str(each))]
    texts += [json.dumps(settings.model_dump(mode="json")), caplog.text]
    assert [text for text in texts if SECRET in text] == []
    # They do arrive.
    assert connection(settings).client_options()["sasl_plain_password"] == f"{SECRET}-sasl_password"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_BATCH_BYTES", "0"),
        ("SESSION_TIMEOUT_S", "50"),
        ("FAUST", f'{{"{SECRET}'),
        ("BOOTSTRAP_SERVERS", f"u:{SECRET}@h"),
    ],
)
def test_no_secret_is_in_an_error_or_what_it_came_from(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_secrets(monkeypatch)
    monkeypatch.setenv(f"EDDY_{name}", value)
    with pytest.raises(ConfigurationError) as refusal:
        load(WorkerSettings)
    # The middle of long values is left out of pydantic's messages: a part would be too much as well.
    assert SECRET[:7] not in "".join(traceback.format_exception(refusal.value))
