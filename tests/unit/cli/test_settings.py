"""`eddy settings` and `eddy config describe`: every setting, from the code, without a broker."""

import json

import pytest
from click.testing import CliRunner, Result

from streams.alerts.settings import NotifySettings
from streams.cli import main
from streams.console.settings import ConsoleSettings
from streams.core.detectors.settings import DEFAULTS
from streams.core.settings_document.document import to_document
from streams.core.settings_document.table import MEANINGS, RANGES
from streams.observe.settings import BridgeSettings


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
        for name in dict.fromkeys(
            [*BridgeSettings.model_fields, *ConsoleSettings.model_fields, *NotifySettings.model_fields]
        )
    ]
    assert all(row["meaning"] for row in found)


def test_a_value_from_the_environment_is_shown_and_a_secret_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_TOPIC_PREFIX", "staging.")
    monkeypatch.setenv("EDDY_WEB_TOKEN", "hunter2hunter2hunter2")
    monkeypatch.setenv("EDDY_CONSUMER", '{"client_rack": "hunter2"}')
    said = eddy("settings", "--changed").stdout
    assert "EDDY_TOPIC_PREFIX = staging." in said
    assert "EDDY_WEB_TOKEN = (set, hidden)" in said
    assert "hunter2" not in said + eddy("settings", "--changed", "--json").stdout
    assert "EDDY_BOOTSTRAP_SERVERS" not in said


def test_a_value_that_cannot_be_used_is_named_behind_the_whole_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_WEB_PORT", "many")
    result = eddy("settings")
    assert result.exit_code == 2
    assert "EDDY_WEB_PORT" in result.stdout.splitlines()
    [line] = result.stderr.splitlines()
    assert line.startswith("eddy: ")
    assert "EDDY_WEB_PORT" in line


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
