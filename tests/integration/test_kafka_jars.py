"""CI goes on without Apache Kafka in one case only, so that case must be told from every other."""

from pathlib import Path

import pytest

from streams.core.errors import ConfigurationError, InfrastructureError
from tests.integration import kafka_jars
from tests.integration.maven import CentralUnreachableError

MIRROR = "<settings><mirrors><mirror><id>m</id><mirrorOf>*</mirrorOf>{}</mirror></mirrors></settings>"

pytestmark = pytest.mark.kafka_only("needs Maven")


def fetch_from(url: str, directory: Path) -> Path:
    settings = directory / "settings.xml"
    settings.write_text(MIRROR.format(f"<url>{url}</url>"))
    options = ["-s", str(settings), f"-Dmaven.repo.local={directory / 'repository'}"]
    return kafka_jars.kafka_jars(options, cache=directory / "cache")


def test_a_central_that_refuses_connections_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(CentralUnreachableError):
        fetch_from("https://127.0.0.1:1/", tmp_path)


def test_a_central_without_the_jars_is_a_failure(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InfrastructureError, match="could not resolve") as failure:
        fetch_from(empty.as_uri(), tmp_path)
    assert not isinstance(failure.value, CentralUnreachableError)


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match="`mvn` is not on the PATH"):
        kafka_jars.kafka_jars(cache=tmp_path)
