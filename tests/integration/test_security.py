"""TLS and a login on a real listener: everything works over it, and each refusal says what to do."""

import itertools
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.cli.command_group import BROKER_UNREACHABLE
from tests.integration.apache_kafka import ApacheKafka
from tests.integration.load import load
from tests.integration.secured_listener import PASSWORD, USER, SecuredListener
from tests.integration.stage import Stage, prepared
from tests.integration.test_settings_change import adopted
from tests.integration.worker_process import PATIENCE_SECONDS, until

pytestmark = [pytest.mark.integration, pytest.mark.kafka_only("TLS and logins")]

WRONG_PASSWORD = "wrong-horse-battery-staple"


@pytest.fixture(scope="module")
def listener(tmp_path_factory: pytest.TempPathFactory) -> SecuredListener:
    return SecuredListener(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def secured(listener: SecuredListener, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    with ApacheKafka(tmp_path_factory.mktemp("secured"), secured=listener) as broker:
        yield broker


@pytest.fixture
def access(secured: ApacheKafka, listener: SecuredListener) -> dict[str, object]:
    """What an operator sets to be let in."""
    return {
        "bootstrap_servers": secured.secured_bootstrap,
        "security_protocol": "SASL_SSL",
        "sasl_username": USER,
        "sasl_password": PASSWORD,
        "ssl_cafile": listener.ca_file,
    }


@pytest.fixture
def stage(secured: ApacheKafka, tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(secured, tmp_path, application_id=f"eddy-{uuid.uuid4().hex[:8]}")
    yield stage
    stage.close()


@pytest.mark.parametrize(("mechanism", "window"), [("PLAIN", 7), ("SCRAM-SHA-512", 9)])
async def test_topics_worker_and_settings_over_tls_and_a_login(
    stage: Stage, access: dict[str, object], mechanism: str, window: int
) -> None:
    access = {**access, "sasl_mechanism": mechanism}
    sizes = ("--partitions", str(stage.partitions), "--replicas", "1")
    await stage.command("topics", "apply", *sizes, **access)
    worker = await stage.worker(**access, log_level="DEBUG").ready()
    await stage.send(itertools.islice(load(stage.partitions), 200))
    await worker.has_processed(150)
    said = await stage.command("config", "set", f"entropy_window_size={window}", **access)
    [published] = re.findall(r"^Settings version (\d+) is published", said, re.MULTILINE)
    version = int(published)
    # What comes from then on is processed under them.
    in_force = f"Settings version {version} is in force"
    await until(lambda: in_force in worker.log, PATIENCE_SECONDS, "the settings", worker)
    await stage.send(itertools.islice(load(stage.partitions), 200))
    await adopted(version, worker, partitions=stage.partitions)
    assert await stage.command("config", "get", "entropy_window_size", **access) == f"{window}\n"
    worker.terminate()
    assert await worker.ended() == 0, worker.tail()
    assert f"Authenticated as {USER} via {mechanism}" in worker.log
    assert PASSWORD not in worker.log


async def test_a_worker_goes_on_when_broker_and_authority_have_new_certificates(tmp_path: Path) -> None:
    """Nobody restarts it. Until it has a file that it can use, it says so, and nothing is lost."""
    (tmp_path / "certificates").mkdir()
    (tmp_path / "broker").mkdir()
    listener = SecuredListener(tmp_path / "certificates")
    with ApacheKafka(tmp_path / "broker", secured=listener) as broker:
        stage = Stage(broker, tmp_path, application_id="eddy")
        access: dict[str, object] = {
            "bootstrap_servers": broker.secured_bootstrap,
            "security_protocol": "SASL_SSL",
            "sasl_username": USER,
            "sasl_password": PASSWORD,
            "ssl_cafile": listener.ca_file,
        }
        async with prepared(stage):
            worker = await stage.worker(**access).ready()
            records = load(stage.partitions)
            await stage.send(itertools.islice(records, 200))
            await worker.has_processed(200)
            listener.ca_file.write_text("half of a certif")

            async def says_outdated() -> bool:
                return await worker.metric("eddy_tls_files_outdated") == 1

            await until(says_outdated, PATIENCE_SECONDS, "the word of a broken file", worker)
            broker.stop()
            listener.renew()
            broker.start()
            await stage.send(itertools.islice(records, 200))
            await stage.processed()
            assert await worker.metric("eddy_tls_files_outdated") == 0
            assert "New connections use the new ones" in worker.log
            await stage.verdict()


REFUSED = {
    "password": f"The login of {USER} is refused: check EDDY_SASL_USERNAME, EDDY_SASL_PASSWORD",
    "user": "The login of nobody is refused",
    "authority": r"certificate is not trusted .*set EDDY_SSL_CAFILE",
    "host": r"certificate is for another name .*EDDY_BOOTSTRAP_SERVERS",
    "mechanism": "does not offer SCRAM-SHA-256: set EDDY_SASL_MECHANISM",
    "protocol": "EDDY_SECURITY_PROTOCOL",
    "listener": "EDDY_SECURITY_PROTOCOL",
}


@pytest.fixture
def wrong(
    request: pytest.FixtureRequest, secured: ApacheKafka, access: dict[str, object], tmp_path: Path
) -> dict[str, object]:
    """Return what somebody sets who got one thing wrong."""
    (tmp_path / "stranger").mkdir()
    _, _, port = secured.secured_bootstrap.rpartition(":")
    mistakes: dict[str, dict[str, object]] = {
        "password": {"sasl_password": WRONG_PASSWORD},
        "user": {"sasl_username": "nobody"},
        "authority": {"ssl_cafile": SecuredListener(tmp_path / "stranger").ca_file},
        "host": {"bootstrap_servers": f"127.0.0.1:{port}"},
        "mechanism": {"sasl_mechanism": "SCRAM-SHA-256"},
        "protocol": {"security_protocol": "SASL_PLAINTEXT"},
        "listener": {"bootstrap_servers": secured.bootstrap},
    }
    return access | mistakes[request.param]


@pytest.mark.parametrize(("wrong", "said"), REFUSED.items(), indirect=["wrong"], ids=REFUSED)
async def test_who_is_not_let_in_is_told_what_to_do(
    stage: Stage, wrong: dict[str, object], said: str
) -> None:
    status, printed, complained = await stage.attempt("config", "list", **wrong)
    assert (status, printed) == (BROKER_UNREACHABLE, "")
    _is_told(complained, said)
    worker = stage.worker(**wrong, log_level="DEBUG")
    assert await worker.ended() == BROKER_UNREACHABLE
    _is_told(worker.log, said)


def _is_told(complained: str, said: str) -> None:
    assert re.search(said, complained), complained
    assert "Traceback" not in complained
    assert PASSWORD not in complained
    assert WRONG_PASSWORD not in complained
