"""Logins by OAUTHBEARER at Apache Kafka, with signed tokens that end while the worker runs."""

import asyncio
import itertools
import shlex
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from streams.cli.command_group import BROKER_UNREACHABLE
from tests.integration.apache_kafka import ApacheKafka
from tests.integration.load import load
from tests.integration.stage import Stage
from tests.integration.token_listener import TokenListener

pytestmark = [pytest.mark.integration, pytest.mark.kafka_only("tokens")]

#: The broker ends each connection that did not log in again for so long.
SESSION_MS = 4_000
#: A token is good for longer than that, and ends within the test.
TOKEN_SECONDS = 20


@pytest.fixture(scope="module")
def listener(tmp_path_factory: pytest.TempPathFactory) -> TokenListener:
    return TokenListener(tmp_path_factory.mktemp("tokens"), SESSION_MS)


@pytest.fixture(scope="module")
def secured(listener: TokenListener, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    with ApacheKafka(tmp_path_factory.mktemp("secured"), secured=listener) as broker:
        yield broker


@pytest.fixture
def stage(secured: ApacheKafka, tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(secured, tmp_path, application_id=f"eddy-{uuid.uuid4().hex[:8]}")
    yield stage
    stage.close()


def access(secured: ApacheKafka, listener: TokenListener, **source: object) -> dict[str, object]:
    """Return what an operator sets to be let in."""
    return {
        "bootstrap_servers": secured.secured_bootstrap,
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "OAUTHBEARER",
        "ssl_cafile": listener.ca_file,
        **source,
    }


@asynccontextmanager
async def renewing(path: Path, listener: TokenListener) -> AsyncIterator[None]:
    """Keep a token in a file, as Kubernetes does: each is replaced before it ends."""

    def renew() -> None:
        (written := path.with_suffix(".new")).write_text(listener.token(TOKEN_SECONDS))
        written.replace(path)

    async def keep_on() -> None:
        while True:
            renew()
            await asyncio.sleep(TOKEN_SECONDS / 4)

    renew()
    renewed = asyncio.create_task(keep_on())
    try:
        yield
    finally:
        renewed.cancel()
        with pytest.raises(asyncio.CancelledError):
            await renewed


@pytest.mark.parametrize("source", ["file", "command"])
async def test_a_worker_goes_on_after_its_tokens_and_its_connections_have_ended(
    stage: Stage, secured: ApacheKafka, listener: TokenListener, tmp_path: Path, source: str
) -> None:
    path = tmp_path / "token"
    prints = [sys.executable, "-c", "import sys; print(open(sys.argv[1]).read())", str(path)]
    says: dict[str, object] = (
        {"sasl_oauth_token_file": path}
        if source == "file"
        else {"sasl_oauth_token_command": shlex.join(prints)}
    )
    reached = access(secured, listener, **says)
    async with renewing(path, listener):
        first = path.read_text()
        await stage.create_topics()  # on the plain listener: on a slow machine it takes longer than a session
        worker = await stage.worker(**reached, log_level="DEBUG").ready()
        for number in itertools.count(1):
            # Each time all is read, judged and written, on connections that are newer than the last time.
            await stage.send(itertools.islice(load(stage.partitions), 200))
            await worker.has_processed(150 * number)
            if path.read_text() != first and number > 2:
                break
            await asyncio.sleep(SESSION_MS / 1000)
        await stage.processed()
        worker.terminate()
        assert await worker.ended() == 0, worker.tail()
    assert first not in worker.log


async def test_a_token_that_has_ended_is_refused_and_the_worker_says_what_to_do(
    stage: Stage, secured: ApacheKafka, listener: TokenListener, tmp_path: Path
) -> None:
    (path := tmp_path / "token").write_text(token := listener.token(-3600))
    reached = access(secured, listener, sasl_oauth_token_file=path)
    worker = stage.worker(**reached, log_level="DEBUG")
    assert await worker.ended() == BROKER_UNREACHABLE, worker.tail()
    assert "The token is refused: check what EDDY_SASL_OAUTH_TOKEN_... names" in worker.log
    assert token not in worker.log
