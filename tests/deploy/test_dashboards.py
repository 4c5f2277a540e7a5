"""The dashboards that are kept are those that the file makes, and each query uses what is emitted."""

import json
from pathlib import Path

import pytest

from deploy.grafana.dashboards import BOARDS, FOLDER, Board, built
from tests.deploy.test_alert_rules import NOT_OURS, RECORDED, expanded, metrics_of
from tests.test_operations import emitted

#: Prometheus' own, and the process'.
KNOWN = NOT_OURS | {"process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"}


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_the_file_that_is_kept_is_what_is_made(board: Board) -> None:
    kept = (FOLDER / f"{board.uid}.json").read_text()
    assert kept == built(board), "run: python deploy/grafana/dashboards.py"


def test_no_other_dashboard_is_kept() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == {board.uid for board in BOARDS}


def test_a_query_uses_what_is_emitted_and_every_metric_is_shown() -> None:
    queries = [
        query.expression
        for board in BOARDS
        for charts in board.sections.values()
        for chart in charts
        for query in chart.queries
    ]
    used = set().union(*map(metrics_of, queries))
    assert used - KNOWN <= emitted()
    assert emitted() - used == set(), "add a chart to deploy/grafana/dashboards.py, then `make dashboards`"
    assert all("eddy:" not in expanded(query) for query in queries), RECORDED.keys()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_no_two_panels_cover_each_other(path: Path) -> None:
    cells: set[tuple[int, int]] = set()
    for panel in json.loads(path.read_text())["panels"]:
        at = panel["gridPos"]
        covered = {
            (x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
        }
        assert not covered & cells, panel["title"]
        assert at["x"] + at["w"] <= 24
        cells |= covered


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_every_panel_takes_the_data_source_that_is_chosen(path: Path) -> None:
    board = json.loads(path.read_text())
    sources = [
        target["datasource"]["uid"] for panel in board["panels"] for target in panel.get("targets", ())
    ]
    assert set(sources) == {"$datasource"}
    assert [variable["name"] for variable in board["templating"]["list"]][:2] == ["datasource", "job"]
