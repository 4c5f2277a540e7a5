"""The rules for Prometheus: each row of the page has one, and each does what its row says."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.pages import ROOT
from tests.test_operations import anchors, emitted, rows

FOLDER = ROOT / "deploy" / "prometheus"
TESTS = sorted(FOLDER.glob("*.test.yaml"))
RULE_FILES = sorted(set(FOLDER.glob("eddy-*.yaml")) - set(TESTS))
#: What Prometheus and its client add.
NOT_OURS = {"up", "process_start_time_seconds"}
RAW = re.compile(r"\b(?:eddy_[a-z_]+[a-z]|up(?=[{ ])|process_\w+)(?![:\w])")
LIMIT = re.compile(r"[<>=]=?\s*([\d.]+)")
SEVERITIES = {"critical", "warning", "info"}

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is missing; as root: apt-get install prometheus"
)


def rules(path: Path) -> Iterator[dict[str, Any]]:
    for group in yaml.safe_load(path.read_text())["groups"]:
        yield from group["rules"]


RECORDED = {rule["record"]: rule["expr"] for rule in rules(FOLDER / "eddy-recording.yaml")}
ALERTS = {rule["alert"]: rule for rule in rules(FOLDER / "eddy-alerts.yaml")}
ROWS = {cells[0].strip("`"): cells for cells in rows("Alerts")}


def expanded(expression: str) -> str:
    """Return a query with each recorded series replaced by what it is recorded from."""
    for name, recorded in RECORDED.items():
        if name in expression:
            expression = expanded(expression.replace(name, f"({recorded})"))
    return expression


def metrics_of(expression: str) -> set[str]:
    """Return the metrics of a query; a histogram by its name without the part."""
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in RAW.findall(expanded(expression))}


def code(cell: str) -> str:
    return " ".join(re.findall(r"`([^`]+)`", cell))


def test_every_row_has_an_alert_and_every_alert_a_row() -> None:
    assert list(ROWS) == list(dict.fromkeys(ROWS))
    assert set(ROWS) == set(ALERTS)


@pytest.mark.parametrize("alert", ALERTS)
def test_a_row_names_the_metrics_and_the_limits_of_its_alert(alert: str) -> None:
    row, expression = code(ROWS[alert][1]), ALERTS[alert]["expr"]
    assert set(RAW.findall(row + " ")) - {"eddy_brokers_known"} == metrics_of(expression) - {
        "eddy_brokers_known"
    }
    named = set(LIMIT.findall(row)) | set(re.findall(r"> ([\d.]+)", row))
    assert named == set(LIMIT.findall(expanded(expression))) - grows(expression)


def grows(expression: str) -> set[str]:
    """Return the limit of growth, which a row says in words: 0, unless it is another limit too."""
    return {"0"} if "growth10m" in expanded_names(expression) else set()


def expanded_names(expression: str) -> str:
    """Return a query with the recorded series that it uses, and those that these use."""
    return expression + "".join(
        expanded_names(recorded) for name, recorded in RECORDED.items() if name in expression
    )


@pytest.mark.parametrize("rule", [*ALERTS.values(), *({"expr": one} for one in RECORDED.values())])
def test_a_rule_uses_what_is_emitted(rule: dict[str, Any]) -> None:
    assert metrics_of(rule["expr"]) - NOT_OURS <= emitted()


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_says_how_urgent_it_is_what_to_do_and_where_to_read(alert: str) -> None:
    rule = ALERTS[alert]
    assert rule["labels"].keys() == {"severity"}
    assert rule["labels"]["severity"] in SEVERITIES
    assert rule["annotations"].keys() == {"summary", "action", "runbook"}
    page, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert (ROOT / page).is_file()
    assert not anchor or anchor in anchors(ROOT / page)


def test_every_recorded_series_is_used_by_an_alert_or_a_dashboard() -> None:
    dashboards = "".join(path.read_text() for path in (ROOT / "deploy" / "grafana").glob("*.json"))
    used = "".join(rule["expr"] for rule in ALERTS.values()) + "".join(RECORDED.values()) + dashboards
    assert [name for name in RECORDED if name not in used] == []


def test_every_alert_is_tried_firing_and_every_recorded_series_is_reached() -> None:
    cases = [case for path in TESTS for case in yaml.safe_load(path.read_text())["tests"]]
    tried = [one for case in cases for one in case.get("alert_rule_test", ())]
    assert {one["alertname"] for one in tried if one["exp_alerts"]} == set(ALERTS)
    reached = "".join(expanded_names(rule["expr"]) for rule in ALERTS.values())
    queried = "".join(one["expr"] for case in cases for one in case.get("promql_expr_test", ()))
    assert [name for name in RECORDED if name not in reached + queried] == []


@needs_promtool
@pytest.mark.parametrize(
    "command",
    [
        ["check", "rules", *map(str, RULE_FILES)],
        ["check", "config", str(FOLDER / "prometheus.yml")],
        ["test", "rules", *map(str, TESTS)],
    ],
    ids=["rules", "configuration", "tests"],
)
def test_promtool_accepts(command: list[str]) -> None:
    done = subprocess.run(["promtool", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
