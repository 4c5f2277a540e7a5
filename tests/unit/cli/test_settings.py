"""`eddy settings` and `eddy config describe`: every setting, from the code, without a broker."""

import json

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.cli.settings import READERS
from streams.core import native
from streams.core.detectors.settings import DEFAULTS
from streams.core.errors import ConfigurationError
from streams.core.settings_document import MEANINGS, RANGES, to_document
from streams.observe.settings import load
from tests.pages import ROOT


def eddy(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def rows(*words: str) -> list[dict[str, object]]:
    result = eddy(*words, "--json")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_every_setting_of_every_process_is_listed_with_its_meaning() -> None:
    found = rows("settings")
    assert [row["variable"] for row in found] == [
        f"EDDY_{name.upper()}"
        for name in dict.fromkeys(name for kind in READERS.values() for name in kind.model_fields)
    ]
    assert all(row["meaning"] for row in found)


def test_the_chart_takes_each_of_them_and_no_other() -> None:
    chart = json.loads((ROOT / "deploy" / "helm" / "eddy" / "values.schema.json").read_text())
    known = {str(row["variable"]) for row in rows("settings")} | {native.VARIABLE}
    assert chart["definitions"]["setting"]["enum"] == sorted(known), "write the names into the schema"
    assert "^EDDY_" not in json.dumps(chart)


def test_a_value_from_the_environment_is_shown_and_a_secret_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_TOPIC_PREFIX", "staging.")
    monkeypatch.setenv("EDDY_WEB_TOKEN", "hunter2hunter2hunter2")
    monkeypatch.setenv("EDDY_CONSUMER", '{"client_rack": "hunter2"}')
    said = eddy("settings", "--changed").stdout
    assert "EDDY_TOPIC_PREFIX = staging." in said
    assert "EDDY_WEB_TOKEN = (set, hidden)" in said
    assert "hunter2" not in said + eddy("settings", "--changed", "--json").stdout
    assert "EDDY_BOOTSTRAP_SERVERS" not in said


def test_a_login_in_one_of_several_addresses_is_hidden_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_SCHEMA_REGISTRY_URL", "http://me:hunter2@a:8081,http://b:8081")
    assert "EDDY_SCHEMA_REGISTRY_URL = http://(hidden)@a:8081,http://b:8081" in eddy("settings").stdout


def test_a_value_that_cannot_be_used_is_named_behind_the_whole_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_WEB_PORT", "many")
    result = eddy("settings")
    assert result.exit_code == 2
    assert "EDDY_WEB_PORT" in result.stdout.splitlines()
    [line] = result.stderr.splitlines()
    assert line.startswith("eddy: ")
    assert "EDDY_WEB_PORT" in line


#: A setting of each part, with a value that nobody can use.
WRONG = {
    "bootstrap_servers": ",",
    "replicas": "0",
    "output_format": "xml",
    "rocksdb_bloom_bits": "99",
    "web_port": "many",
    "log_level": "LOUD",
    "bridge_hold_ms": "-1",
    "console_port": "-1",
    "command_key": "short",
    "notify_timeout_s": "0",
    "session_timeout_s": "0",
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", WRONG)
def test_a_process_checks_what_it_reads_and_nothing_else(
    reader: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"EDDY_{name.upper()}", WRONG[name])
    kind = READERS[reader]
    if name in kind.model_fields:
        with pytest.raises(ConfigurationError, match=f"EDDY_{name.upper()}: "):
            load(kind)
    else:
        load(kind)


def test_each_setting_says_who_reads_it() -> None:
    [bits] = rows("settings", "rocksdb_bloom_bits")
    assert bits["read_by"] == ["worker", "bridge"]
    assert "read by worker, bridge" in eddy("settings", "rocksdb_bloom_bits").stdout


def test_a_notifier_starts_whatever_a_worker_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_ROCKSDB_BLOOM_BITS", "99")
    monkeypatch.setenv("EDDY_NOTIFY_PAGERDUTY_KEY", "0123456789abcdef0123456789abcdef")
    result = eddy("notify", "test", "--dry-run")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("words", [("topics", "plan"), ("dlq", "list"), ("worker",)])
def test_a_variable_that_nothing_reads_is_named_with_the_one_that_may_be_meant(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDDY_BOOTSTRAP_SERVERS", "127.0.0.1:9")
    monkeypatch.setenv("EDDY_BOOTSTRAP_SERVER", "kafka:9092")
    monkeypatch.setenv("EDDY_CONSOLE_PORT", "8070")
    for link in ("SERVICE_HOST", "SERVICE_PORT_WEB", "PORT", "PORT_8066_TCP_ADDR"):
        monkeypatch.setenv(f"EDDY_WORKER_{link}", "10.0.0.1")
    monkeypatch.setenv("EDDY_APPLICATION_ID", "not a name")
    said = eddy(*words).stderr.splitlines()
    assert said[0] == (
        "eddy: EDDY_BOOTSTRAP_SERVER (perhaps EDDY_BOOTSTRAP_SERVERS?) is set, and nothing reads it. "
        "Correct the name, or unset it."
    )
    assert [line for line in said if "nothing reads it" in line] == said[:1]


def test_a_part_of_a_name_chooses_and_an_unknown_one_is_wrong_usage() -> None:
    assert {str(row["variable"])[:8] for row in rows("settings", "eddy_ssl")} == {"EDDY_SSL"}
    assert eddy("settings", "nonsense").exit_code == 2


def test_every_setting_of_detection_is_described_with_default_and_range() -> None:
    assert MEANINGS.keys() == RANGES.keys()
    found = {row["name"]: row for row in rows("config", "describe")}
    assert found.keys() == RANGES.keys()
    assert {name: row["default"] for name, row in found.items()} == {
        name: value for name, value in to_document(DEFAULTS).items() if name in RANGES
    }
    said = eddy("config", "describe", "cycle_loop").stdout.splitlines()
    assert said == [
        "cycle_loop",
        "    R2: rounds for LOOP.",
        "    default 3",
        "    must be an integer from 2 to 1000",
    ]
    assert eddy("config", "describe", "nonsense").exit_code == 2


def test_a_login_in_an_address_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_SCHEMA_REGISTRY_URL", "https://ann:hunt/er2@x@registry.example:8081/a")
    for words in ((), ("--json",)):
        output = CliRunner().invoke(main, ["settings", "registry_url", *words]).output
        assert "hunt" not in output, output
        assert "registry.example:8081/a" in output
