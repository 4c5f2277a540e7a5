"""`eddy topics`, as far as no broker is needed."""

import json

import pytest
import yaml
from click.testing import CliRunner, Result

from streams.cli import main


def eddy(*words: str) -> Result:
    return CliRunner().invoke(main, ["topics", *words])


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_no_broker_is_exit_code_3_and_says_where_to_look(command: str) -> None:
    result = eddy(command, "--bootstrap-servers", "127.0.0.1:1")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "eddy: No broker answers at 127.0.0.1:1 " in result.stderr
    assert "EDDY_BOOTSTRAP_SERVERS" in result.stderr


@pytest.mark.parametrize("option", ["--partitions", "--replicas"])
@pytest.mark.parametrize("value", ["0", "-1", "many", "99999999"])
def test_a_size_that_cannot_be_is_refused_before_a_broker_is_asked(option: str, value: str) -> None:
    result = eddy("plan", option, value, "--bootstrap-servers", "127.0.0.1:1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert option in result.stderr or f"EDDY_{option.removeprefix('--').upper()}" in result.stderr


def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_REPLICAS", "all")
    result = eddy("plan")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "EDDY_REPLICAS" in result.stderr


def test_an_export_asks_no_broker_and_has_a_user_for_each_process() -> None:
    result = eddy("export", "--strimzi", "--cluster", "kafka", "--partitions", "4")
    assert (result.exit_code, result.stderr) == (0, "")
    found = list(yaml.safe_load_all(result.stdout))
    users = {each["metadata"]["name"] for each in found if each["kind"] == "KafkaUser"}
    assert users == {f"eddy-{each}" for each in ("worker", "bridge", "notifier", "console", "guard")}
    partitions = {each["spec"]["partitions"] for each in found if each["kind"] == "KafkaTopic"}
    assert partitions == {1, 4}


def test_an_export_for_terraform_follows_the_names_of_the_installation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EDDY_TOPIC_PREFIX", "staging.")
    monkeypatch.setenv("EDDY_NOTIFY_GROUP", "pages")
    document = json.loads(eddy("export", "--terraform").stdout)
    topics = {each["name"] for each in document["resource"]["kafka_topic"].values()}
    assert {"staging.decision-logs", "staging.eddy-sessions-changelog"} <= topics
    groups = {
        each["resource_name"]
        for each in document["resource"]["kafka_acl"].values()
        if each["resource_type"] == "Group"
    }
    assert groups == {"staging.eddy", "staging.eddy-bridge", "staging.pages"}


@pytest.mark.parametrize(("words", "missing"), [((), "--strimzi"), (("--strimzi",), "--cluster")])
def test_an_export_says_what_it_lacks(words: tuple[str, ...], missing: str) -> None:
    result = eddy("export", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert missing in result.stderr


def test_nothing_is_done_by_the_group_alone() -> None:
    result = eddy()
    assert result.exit_code == 2
    assert "plan" in result.output
    assert "apply" in result.output
