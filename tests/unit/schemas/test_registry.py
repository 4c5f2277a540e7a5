"""The codec with a registry, over HTTP against one in this process."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import ssl

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer, unused_port
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from schemas.bundled import JOB_SUBJECTS, OUTPUT_SUBJECTS, latest
from schemas.codec import Codec, Decoder, OutputFormat, Reason, RegistryAddress, UndecodableError
from schemas.numbers import CONTROL_SUBJECTS
from schemas.registered import AbsentSchema, RegisteredSchema
from schemas.registry import Registry
from schemas.writer_schemas import ABSENT_FOR_S, MOST_ABSENT, MOST_READERS, WriterSchemas
from streams.core.errors import ConfigurationError, InfrastructureError
from streams.kafka.tls import TlsFiles, renewed_context
from streams.observe.settings import RegistrySettings, load
from streams.worker.endpoints import open_codec, registry_address
from tests.certificates import signed_certificate
from tests.unit.schemas.fake_registry import FakeRegistry
from tests.unit.schemas.samples import fullest, smallest

LOGS = "decision-logs-value"
FLAT = {
    "type": "record",
    "name": "Flat",
    "fields": [{"name": f"f{number}", "type": "string"} for number in range(9_000)],
}
DOUBLING = {"type": "record", "name": "R0", "fields": []}
for _level in range(1, 41):
    _twice = [{"name": "a", "type": DOUBLING}, {"name": "b", "type": f"R{_level - 1}"}]
    DOUBLING = {"type": "record", "name": f"R{_level}", "fields": _twice}
LOCALHOST = ipaddress.ip_address("127.0.0.1")


@pytest.fixture
def fake():
    return FakeRegistry()


@pytest.fixture
async def url(fake):
    async with fake.serve() as url:
        yield url


def address(url, **more):
    return RegistryAddress(url=url, **({"attempts": 3, "give_up_after_s": 60.0} | more))


@pytest.fixture
async def codec(url):
    codec = await Codec.connect(address(url), register=True)
    yield codec
    await codec.close()


def framed(id_, data):
    return b"\x00" + id_.to_bytes(4, "big") + data


def data_of(record, subject=LOGS):
    return Codec.bundled().encoder(subject).encode(record)[5:]


DECISION = fullest(latest(LOGS).definition)


async def read(decoder, value, headers=()):
    await decoder.prepare([(value, headers)])
    return decoder.decode(value, headers)


async def test_registers_every_subject_under_its_rule(codec, fake):
    assert set(fake.subjects) == set(JOB_SUBJECTS)
    assert fake.rules == dict.fromkeys(OUTPUT_SUBJECTS, "FULL_TRANSITIVE") | {LOGS: "BACKWARD_TRANSITIVE"}


async def test_a_writer_of_commands_registers_those_of_the_control_loop_alone(fake, url):
    codec = await Codec.connect(address(url), register=True, written=CONTROL_SUBJECTS)
    try:
        assert fake.rules == dict.fromkeys(CONTROL_SUBJECTS, "FULL_TRANSITIVE")
        (id_,) = fake.subjects["session-commands-value"]
        command = fullest(latest("session-commands-value").definition)
        assert codec.encoder("session-commands-value").encode(command)[:5] == framed(id_, b"")
    finally:
        await codec.close()


async def test_registering_again_changes_nothing(codec, fake, url):
    before = dict(fake.schemas)
    again = await Codec.connect(address(url), register=True)
    await again.close()
    assert fake.schemas == before


async def test_outputs_carry_the_id_of_the_registry_and_no_header(codec, fake):
    encoder = codec.encoder("topology-value")
    (id_,) = fake.subjects["topology-value"]
    assert encoder.encode(fullest(latest("topology-value").definition))[:5] == framed(id_, b"")
    assert encoder.headers == ()


async def test_an_output_that_is_not_registered_is_named(url):
    with pytest.raises(ConfigurationError, match=r"topology-value/1.*EDDY_SCHEMA_REGISTRY_REGISTER"):
        await Codec.connect(address(url))


async def test_json_outputs_need_no_registration(url):
    codec = await Codec.connect(address(url), OutputFormat.JSON)
    assert codec.encoder("topology-value").encode({}) == b"{}"
    await codec.close()


async def test_reads_the_frame_by_id_and_asks_once(codec, fake):
    decoder = codec.decoder(LOGS)
    value = framed(fake.subjects[LOGS][-1], data_of(DECISION))
    fake.requests.clear()
    for _ in range(3):
        assert await read(decoder, value) == DECISION
    assert fake.requests == [f"GET /schemas/ids/{fake.subjects[LOGS][-1]}"]


async def test_reads_a_guid_in_the_value_or_the_header_and_an_id_in_the_header(codec, fake):
    id_ = fake.subjects[LOGS][-1]
    guid = b"\x01" + fake.guid(id_).bytes
    decoder, data = codec.decoder(LOGS), data_of(DECISION)
    assert await read(decoder, guid + data) == DECISION
    assert await read(decoder, data, [("x", b"1"), ("__value_schema_id", guid)]) == DECISION
    assert await read(decoder, data, [("__value_schema_id", framed(id_, b""))]) == DECISION


async def test_bundled_ids_are_read_without_asking(codec, fake):
    fake.requests.clear()
    assert await read(codec.decoder(LOGS), framed(9001002, data_of(DECISION))) == DECISION
    assert fake.requests == []


async def test_json_is_read_without_asking(codec, fake):
    fake.requests.clear()
    assert await read(codec.decoder(LOGS), json.dumps(DECISION).encode()) == DECISION
    assert fake.requests == []


async def test_a_producers_own_schema_is_read_by_name(codec, fake):
    theirs = {
        "type": "record",
        "name": "com.acme.AgentEvent",
        "fields": [
            {"name": "tenant", "type": "string"},
            {"name": "event_id", "type": "string"},
            {"name": "session_id", "type": "string"},
            {"name": "meta", "type": {"type": "record", "name": "M", "fields": [
                {"name": "timestamp", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            ]}},
            {"name": "action", "type": {"type": "record", "name": "A", "fields": [
                {"name": "status", "type": {"type": "enum", "name": "S", "symbols": ["success", "failure"]}},
            ]}},
        ],
    }  # fmt: skip
    id_ = fake.add(json.dumps(theirs))
    value = framed(id_, b"\x02t\x02e\x02s\x80\x01\x02")
    assert await read(codec.decoder(LOGS), value) == {
        "session_id": "s",
        "event_id": "e",
        "task_type": None,
        "meta": {
            "timestamp": 64,
            "parent_step_id": None,
            "cluster_id": None,
            "round_id": None,
            "parent_session_id": None,
            "user_turn": None,
            "context_change": None,
        },
        "cognition": None,
        "action": {
            "status": "failure",
            **dict.fromkeys(
                ("kind", "tool_call", "tool_input", "target", "content_hash", "error", "tool_output_summary")
            ),
        },
        "state_delta": None,
        "control": None,
    }


async def test_json_schema_values_are_read(codec, fake):
    id_ = fake.add("{}", kind="JSON")
    assert await read(codec.decoder(LOGS), framed(id_, b'{"a": 1}')) == {"a": 1}


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("syntax", {"kind": "PROTOBUF"}, "PROTOBUF"),
        ('"com.acme.Other"', {"references": [{"name": "com.acme.Other"}]}, "refers to other subjects"),
        ('{"type": "record"}', {}, "not a valid Avro schema"),
        ("no json", {}, "it is not JSON"),
        ('{"type": "record", "name": "R", "fields": 5}', {}, "not a valid Avro schema"),
        ('{"type": "record", "name": "R", "fields": 5, "__fastavro_parsed__": true}', {}, "not a valid"),
        ('{"type": "record", "name": "R", "fields": [{"name": "a", "type": ["null", "R"]}]}', {}, "itself"),
        ('{"type": "enum", "name": "E", "symbols": ["A"]}', {}, "not a record"),
        ("[" * 100_000, {}, "levels deep"),
        ("[" * 5_000 + "]" * 5_000, {}, "levels deep"),
        ("[" * (1 << 21), {}, "more than the limit of 1048576"),
        ("[" * (9 << 20), {}, "has more than the limit of 8388608 bytes in the registry"),
        (json.dumps(FLAT), {}, "more types than the limit of 5000"),
        (json.dumps(DOUBLING), {}, "more values than the limit of 100000"),
    ],
)
async def test_a_schema_that_cannot_be_read_is_unknown_and_kept(codec, fake, text, more, said):
    id_ = fake.add(text, **more)
    fake.requests.clear()
    decoder = codec.decoder(LOGS)
    for _ in range(2):
        with pytest.raises(UndecodableError, match=said) as caught:
            await read(decoder, framed(id_, b"\x00"))
        assert caught.value.reason is Reason.UNKNOWN_SCHEMA
    assert len(fake.requests) == 1


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def decoder_with(registry, clock):
    return Decoder(LOGS, source=registry, clock=clock)


@pytest.fixture
async def registry(url):
    async with Registry(address(url)) as registry:
        yield registry


async def test_an_unknown_id_is_not_asked_for_again_at_once_and_found_when_it_is_there(registry, fake):
    clock = Clock()
    decoder, value = decoder_with(registry, clock), framed(100_500, data_of(DECISION))
    for clock.now in (0.0, 1.0, ABSENT_FOR_S - 1):
        with pytest.raises(UndecodableError, match="schema 100500 is not known") as caught:
            await read(decoder, value)
        assert caught.value.reason is Reason.UNKNOWN_SCHEMA
    assert len(fake.requests) == 1
    fake.schemas[100_500] = {"schema": json.dumps(latest(LOGS).definition)}
    clock.now = ABSENT_FOR_S
    assert await read(decoder, value) == DECISION
    assert len(fake.requests) == 2


async def test_five_hundred_unknown_ids_in_one_run_are_asked_for_once_each_several_at_a_time(registry, fake):
    decoder, heard = decoder_with(registry, Clock()), []
    values = [(framed(id_, b"x"), ()) for id_ in range(200_000, 200_500)]
    for _ in range(2):
        await decoder.prepare(values, lambda: heard.append(len(fake.requests)))
    assert len(fake.requests) == 500
    assert len(heard) == 500, "each answer is progress, so the watchdog does not end the worker"
    assert fake.most_at_once == 8
    for value, headers in values:
        with pytest.raises(UndecodableError):
            decoder.decode(value, headers)


class Source:
    """A registry that has the schemas with even ids."""

    def __init__(self):
        self.asked = []

    async def schema(self, key, beside):
        assert beside == LOGS
        self.asked.append(key)
        return AbsentSchema("is not known") if key % 2 else RegisteredSchema("JSON", "{}")


async def test_what_is_not_there_is_remembered_up_to_a_limit():
    source = Source()
    schemas = WriterSchemas(latest(LOGS), source, Clock())
    await schemas.fetch(range(1, 2 * MOST_ABSENT + 4, 2))
    source.asked.clear()
    await schemas.fetch([1, 3, 2 * MOST_ABSENT + 3])
    assert source.asked == [1, 3]


async def test_readers_are_kept_up_to_a_limit_and_those_of_the_run_before_first():
    source = Source()
    schemas = WriterSchemas(latest(LOGS), source, Clock())
    await schemas.fetch([0])
    await schemas.fetch(range(2, 2 * MOST_READERS + 2, 2))
    await schemas.fetch([2 * MOST_READERS + 2, 4])
    source.asked.clear()
    await schemas.fetch([0, 2, 4, 6])
    assert source.asked == [0]


async def test_a_run_keeps_its_readers_while_another_one_fetches():
    source, held = Source(), asyncio.Event()

    class Slow:
        async def schema(self, key, beside):
            if key == 10**6:
                await held.wait()
            return await source.schema(key, beside)

    schemas = WriterSchemas(latest(LOGS), Slow(), Clock())
    await schemas.fetch([0])
    first = asyncio.create_task(schemas.fetch([0, 10**6]))
    await asyncio.sleep(0)
    for start in (2, 2 * MOST_READERS + 2, 4 * MOST_READERS + 2):
        await schemas.fetch(range(start, start + 2 * MOST_READERS, 2))
    held.set()
    await first
    assert schemas.reader(0)(b"{}", 0) == {}


@pytest.mark.parametrize("id_", [2**31, 2**32 - 1])
async def test_an_id_that_no_registry_gives_is_unknown_without_asking(registry, fake, id_):
    with pytest.raises(UndecodableError, match="ids of schemas end at 2147483647") as caught:
        await read(decoder_with(registry, Clock()), framed(id_, b"x"))
    assert caught.value.reason is Reason.UNKNOWN_SCHEMA
    assert fake.requests == []


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, '{"error_code": 404, "message": "HTTP 404 Not Found"}'),
        (404, "<html>"),
        (400, "{}"),
        (422, "{}"),
    ],
)
async def test_a_key_that_this_registry_does_not_understand_is_unknown(registry, fake, status, body):
    """Registries before GUIDs have no such page: the record must not stop the worker."""
    fake.answers["/schemas/guids/00000000-0000-0000-0000-000000000007"] = (status, body)
    value = b"\x01" + (7).to_bytes(16, "big") + b"x"
    with pytest.raises(UndecodableError, match=f"refused by the registry .HTTP {status}") as caught:
        await read(decoder_with(registry, Clock()), value)
    assert caught.value.reason is Reason.UNKNOWN_SCHEMA


async def test_one_schema_that_may_not_be_read_is_unknown(codec, registry, fake):
    fake.answers["/schemas/ids/7"] = (403, '{"error_code": 40301, "message": "denied"}')
    with pytest.raises(UndecodableError, match=r"refused by the registry .HTTP 403"):
        await read(decoder_with(registry, Clock()), framed(7, b"x"))


@pytest.mark.parametrize("beside", [200, 403, 404])
async def test_a_user_who_may_read_nothing_stops_the_worker(registry, fake, beside):
    fake.answers["/schemas/ids/7"] = (401 if beside == 200 else 403, "{}")
    body = '{"error_code": 40401}' if beside == 404 else "{}"
    fake.answers[f"/subjects/{LOGS}/versions/latest"] = (beside, body)
    with pytest.raises(ConfigurationError, match="check the registry user"):
        await read(decoder_with(registry, Clock()), framed(7, b"x"))


async def test_a_web_server_that_is_no_registry_stops_the_worker(registry, fake):
    fake.answers |= dict.fromkeys(("/schemas/ids/7", f"/subjects/{LOGS}/versions/latest"), (404, "<html>"))
    with pytest.raises(ConfigurationError, match="check the registry URL"):
        await read(decoder_with(registry, Clock()), framed(7, b"x"))


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503])
async def test_a_registry_in_trouble_stops_the_worker_and_names_the_schema(registry, fake, status):
    fake.answers["/schemas/ids/7"] = (status, "{}")
    with pytest.raises(InfrastructureError, match=rf"GET /schemas/ids/7 \(HTTP {status}\)"):
        await read(decoder_with(registry, Clock()), framed(7, b"x"))
    assert fake.requests == ["GET /schemas/ids/7"] * 3


async def test_one_run_asks_once_for_each_schema(codec, fake):
    fake.requests.clear()
    values = [(framed(id_, b"x"), ()) for id_ in (100_500, 100_501, 100_500)] * 3 + [(None, ()), (b"", ())]
    await codec.decoder(LOGS).prepare(values)
    assert sorted(fake.requests) == ["GET /schemas/ids/100500", "GET /schemas/ids/100501"]


async def test_a_value_that_does_not_fit_its_registered_schema(codec, fake):
    with pytest.raises(UndecodableError) as caught:
        await read(codec.decoder(LOGS), framed(fake.subjects[LOGS][-1], b"\xff"))
    assert caught.value.reason is Reason.UNDECODABLE


async def test_short_trouble_is_retried(codec, fake):
    fake.failures += [500, 429]
    value = framed(fake.subjects[LOGS][-1], data_of(smallest(latest(LOGS).definition)))
    assert await read(codec.decoder(LOGS), value)
    assert fake.failures == []


async def test_lasting_trouble_stops_the_worker(codec, fake):
    fake.failures += [503] * 3
    with pytest.raises(InfrastructureError, match="HTTP 503"):
        await codec.decoder(LOGS).prepare([(framed(fake.subjects[LOGS][-1], b""), ())])


async def test_nobody_there():
    with pytest.raises(InfrastructureError, match="Check that it runs"):
        await Codec.connect(address(f"http://127.0.0.1:{unused_port()}", attempts=2))


async def test_no_answer_in_time():
    async def never(_request):
        await asyncio.sleep(30)

    app = web.Application()
    app.router.add_route("*", "/{any:.*}", never)
    server = TestServer(app)
    await server.start_server(shutdown_timeout=0.1)
    try:
        with pytest.raises(InfrastructureError, match="TimeoutError"):
            await Codec.connect(address(str(server.make_url("")), timeout_s=0.1, attempts=2))
    finally:
        await server.close()


@pytest.mark.parametrize(
    ("status", "body"),
    [(200, "<html>"), (404, "<html>"), (200, "[]"), (404, '{"message": "no route"}'), (418, "{}")],
)
async def test_something_else_answers(status, body):
    async def answer(_request):
        return web.Response(status=status, text=body)

    app = web.Application()
    app.router.add_route("*", "/{any:.*}", answer)
    server = TestServer(app)
    await server.start_server()
    try:
        with pytest.raises(ConfigurationError, match="check the registry URL"):
            await Codec.connect(address(str(server.make_url(""))))
    finally:
        await server.close()


async def test_a_schema_the_rule_refuses_is_a_configuration_error(fake, url):
    fake.rules["topology-value"] = "REFUSE"
    with pytest.raises(ConfigurationError, match="incompatible with an earlier schema"):
        await Codec.connect(address(url), register=True)


async def test_an_invalid_schema_is_a_configuration_error(url):
    async with Registry(address(url)) as registry:
        with pytest.raises(ConfigurationError, match="Invalid schema"):
            await registry.register("x", {"type": "nonsense"})


@pytest.mark.parametrize("in_url", [True, False])
async def test_the_password_is_used_and_never_shown(in_url):
    fake = FakeRegistry(login=("me", "s3crét"))
    async with fake.serve() as url:
        with_login = (
            address(url.replace("http://", "http://me:s3crét@"))
            if in_url
            else address(url, user="me", password="s3crét")
        )
        codec = await Codec.connect(with_login, register=True)
        await codec.close()
        wrong = address(url.replace("http://", "http://me:guess-me@"))
        with pytest.raises(ConfigurationError, match="check the registry user") as caught:
            await Codec.connect(wrong)
    assert "guess-me" not in str(caught.value)
    assert "s3crét" not in repr(with_login)
    assert "s3crét" not in with_login.shown()


@pytest.fixture
def certificate(tmp_path):
    """A self-signed certificate for 127.0.0.1: the path of its PEM, and a server's TLS context."""
    key = ec.generate_private_key(ec.SECP256R1())
    names = [x509.DNSName("localhost"), x509.IPAddress(LOCALHOST)]
    made = signed_certificate("registry", key, "registry", key, authority=True, alternatives=names)
    pem, key_pem = tmp_path / "ca.pem", tmp_path / "key.pem"
    pem.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key_pem.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pem, key_pem)
    return pem, tls


async def test_tls_trusts_the_given_authority_and_no_other(fake, certificate):
    pem, tls = certificate
    async with fake.serve(tls) as url:
        trusting = renewed_context(TlsFiles(cafile=str(pem)))
        codec = await Codec.connect(address(url, tls=trusting), register=True)
        await codec.close()
        with pytest.raises(InfrastructureError, match="Certificate"):
            await Codec.connect(address(url, attempts=1))


async def test_a_registry_that_asks_for_a_certificate_gets_ours(fake, certificate, tmp_path):
    pem, tls = certificate
    tls.load_verify_locations(pem)
    tls.verify_mode = ssl.CERT_REQUIRED
    async with fake.serve(tls) as url:
        ours = TlsFiles(cafile=str(pem), certfile=str(pem), keyfile=str(tmp_path / "key.pem"))
        codec = await Codec.connect(address(url, tls=renewed_context(ours)), register=True)
        await codec.close()
        without = renewed_context(TlsFiles(cafile=str(pem)))
        with pytest.raises(InfrastructureError):
            await Codec.connect(address(url, attempts=1, tls=without))


def renewing(fake):
    """Return what gives the token that the registry takes now, and the list of those that it has given."""
    given = []

    async def token():
        given.append(fake.token)
        return fake.token

    return token, given


async def test_a_token_that_has_ended_is_asked_for_again(fake, url):
    token, given = renewing(fake)
    fake.token = "first"
    login = address(url, token=token, headers={"target-sr-cluster": "lsrc-1"})
    assert "first" not in repr(login)
    codec = await Codec.connect(login, register=True)
    try:
        assert fake.headers["target-sr-cluster"] == "lsrc-1"
        fake.token = "second"
        id_ = fake.add(json.dumps(latest(LOGS).definition))
        assert await read(codec.decoder(LOGS), framed(id_, data_of(DECISION))) == DECISION
        assert given == ["first", "second"]
    finally:
        await codec.close()


async def test_a_token_that_is_refused_or_not_there_is_said_without_showing_it(fake, url):
    async def guessed():
        return "guess-me"

    async def missing():
        raise FileNotFoundError("/run/token")

    fake.token = "another"
    with pytest.raises(ConfigurationError, match="or its token") as refused:
        await Codec.connect(address(url, token=guessed))
    assert "guess-me" not in str(refused.value)
    with pytest.raises(InfrastructureError, match="/run/token"):
        await Codec.connect(address(url, token=missing, attempts=1))


async def test_a_token_that_has_ended_without_a_newer_one_is_waited_for(fake, url):
    async def token():
        return "first"

    fake.token = "first"
    codec = await Codec.connect(address(url, token=token, attempts=1), register=True)
    try:
        fake.token = "second"
        with pytest.raises(InfrastructureError, match="there is no newer one"):
            await read(codec.decoder(LOGS), framed(100_900, data_of(DECISION)))
    finally:
        await codec.close()


async def test_many_requests_at_once_ask_for_one_fresh_token(fake, url):
    token, given = renewing(fake)
    fake.token = "first"
    async with Registry(address(url, token=token)) as asking:
        await asking.id_of(LOGS, latest(LOGS).definition)
        fake.token = "second"
        await asyncio.gather(*(asking.id_of(LOGS, latest(LOGS).definition) for _ in range(8)))
    assert given == ["first", "second"]


async def test_what_lets_us_in_is_not_carried_to_another_host(fake, url):
    async def elsewhere(_request):
        raise web.HTTPTemporaryRedirect(url)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", elsewhere)
    server = TestServer(app)
    await server.start_server()
    try:
        with pytest.raises(ConfigurationError, match="does not answer like a schema registry"):
            await Codec.connect(address(str(server.make_url("")), headers={"X-Api-Key": "k"}))
    finally:
        await server.close()
    assert fake.requests == []


async def test_the_next_url_is_asked_where_one_does_not_answer_and_stays(fake, url):
    away = f"http://127.0.0.1:{unused_port()}"
    both = address(f"{away}, {url}", attempts=1)
    assert both.shown() == f"{away}, {url}"
    codec = await Codec.connect(both, register=True)
    await codec.close()
    async with FakeRegistry().serve() as other, Registry(address(f"{url},{other}", attempts=1)) as asking:
        fake.failures = [503]
        assert await asking.id_of(LOGS, latest(LOGS).definition) is None  # the other, which is empty
        asked = len(fake.requests)
        await asking.id_of(LOGS, latest(LOGS).definition)
        assert len(fake.requests) == asked


async def test_urls_of_which_none_answers_are_all_named():
    both = ", ".join(f"http://127.0.0.1:{unused_port()}" for _ in range(2))
    with pytest.raises(InfrastructureError, match=both):
        await Codec.connect(address(both, attempts=1))


def test_a_ca_file_that_cannot_be_read_is_named_with_its_setting(tmp_path):
    lacking = load(
        RegistrySettings,
        schema_registry_url="https://localhost",
        schema_registry_cafile=tmp_path / "gone.pem",
    )
    with pytest.raises(ConfigurationError, match=r"gone\.pem.*EDDY_SCHEMA_REGISTRY_CAFILE"):
        registry_address(lacking, "https://localhost")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"username": "me", "token_file": "t"}, "USERNAME and EDDY_SCHEMA_REGISTRY_TOKEN_FILE"),
        ({"token_command": "get 'it"}, "cannot be split"),
        ({"url": "http://a:8081,b:8081"}, "several separated by commas"),
        ({"headers": {"a": "b\r\nc: d"}}, "printable"),
        ({"headers": {"a b": "c"}}, "printable"),
        ({"headers": {"authorization": "Bearer mine"}}, "sends that header itself"),
        ({"url": "http://a:8081,http://me:pw@b:8081"}, "in the first address alone"),
        ({"url": "http://me:pw@a:8081", "token_command": "get"}, "login in EDDY_SCHEMA_REGISTRY_URL"),
        ({"keyfile": "key.pem"}, "needs EDDY_SCHEMA_REGISTRY_CERTFILE"),
    ],
)
def test_settings_that_cannot_be_meant_so_are_refused_at_start(settings, said):
    with pytest.raises(ConfigurationError, match=said):
        load(RegistrySettings, **{f"schema_registry_{name}": value for name, value in settings.items()})


async def test_the_settings_reach_the_registry(fake, url, tmp_path):
    fake.token = "renewed"
    (tmp_path / "token").write_text("renewed\n")
    settings = load(
        RegistrySettings,
        schema_registry_url=url,
        schema_registry_token_file=tmp_path / "token",
        schema_registry_headers={"Confluent-Identity-Pool-Id": "pool-1"},
    )
    codec = await open_codec(settings)
    await codec.close()
    assert fake.headers["Confluent-Identity-Pool-Id"] == "pool-1"
