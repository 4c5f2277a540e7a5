"""The page that people open when something pages: what it names exists, and nothing is missing."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.alerts import metrics as notify_metrics
from streams.alerts.metrics import NotifyMetrics
from streams.cli.command_group import BROKER_UNREACHABLE, PROBLEM_FOUND, WRONG_INPUT
from streams.console import probes
from streams.console.composition import console_on
from streams.console.file_board import FileBoard
from streams.console.probes import ConsoleMetrics
from streams.console.settings import ConsoleSettings
from streams.core.detectors.settings import DEFAULTS
from streams.observe import engine_counts, episode_counts
from streams.observe.engine_counts import Readings
from streams.observe.settings import load
from streams.worker import bridge_metrics, job_metrics
from streams.worker.bridge_metrics import BridgeCounts
from streams.worker.health.liveness import EXIT_STALLED
from streams.worker.job_metrics import WorkerMetrics
from tests.pages import ROOT

PAGE = ROOT / "docs" / "operations.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
METRIC = re.compile(r"\beddy_[a-z_]+[a-z]")
PACKAGES = {"eddy_streams", "eddy_client", "eddy_native"}
#: What a histogram adds to its name.
PARTS = ("_bucket", "_count", "_sum")


def emitted() -> set[str]:
    """Return the metrics of every process, as a query names them."""
    worker, bridge = WorkerMetrics("0"), BridgeCounts("0")
    worker.watch(Readings())
    bridge.watch_held(dict)
    return {
        f"{family.name}_total" if family.type == "counter" else family.name
        for counts in (worker, bridge, of_console(), of_notifier())
        for family in counts.registry.collect()
        if family.name.startswith("eddy_")
    }


def of_console() -> ConsoleMetrics:
    """Return the metrics of a console that shows no file."""
    board = FileBoard("no file", "", DEFAULTS)
    return ConsoleMetrics(console_on(load(ConsoleSettings), board, lambda: 0), None)


class NoNotifier:
    """A notifier that has nobody to tell."""

    couriers = ()
    open_episodes = 0

    def lag(self) -> dict[int, int]:
        return {}


def of_notifier() -> NotifyMetrics:
    """Return the metrics of a notifier."""
    metrics = NotifyMetrics()
    metrics.watch(NoNotifier())
    return metrics


def rows(heading: str) -> Iterator[list[str]]:
    """Yield the cells of the tables below a heading, without the head."""
    section = PAGE.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    tables = [line for line in section.splitlines() if line.startswith("|")]
    for line in tables[2:]:
        yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def constants() -> Iterator[str]:
    """Yield every text in the source, as it is when the program runs."""
    for path in (ROOT / "streams").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def anchors(path: Path) -> set[str]:
    """Return what a link may name behind the # of a page."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_exit_status_of_a_worker_is_explained_and_no_other() -> None:
    told = [cells[0] for cells in rows("A worker has ended")]
    statuses = {0, PROBLEM_FOUND, WRONG_INPUT, BROKER_UNREACHABLE, EXIT_STALLED}
    assert {int(status) for status in told[:-1]} == statuses
    assert told[-1].startswith("137, or another above 128")  # the shell's, not ours


def test_every_metric_is_listed_and_every_listed_one_is_emitted() -> None:
    listed = {name for cells in rows("Every metric") for name in METRIC.findall(cells[0])}
    assert listed == emitted()
    modules = (job_metrics, engine_counts, episode_counts, bridge_metrics, probes, notify_metrics)
    documented = set(METRIC.findall("".join(module.__doc__ or "" for module in modules)))
    assert documented - {"eddy_bridge", "eddy_console", "eddy_notify"} == emitted()  # for readers of the code


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_metric_that_a_page_names_is_emitted(path: Path) -> None:
    named = set(METRIC.findall(path.read_text())) - PACKAGES
    assert {name for name in named if not name.endswith(PARTS)} <= emitted()


def test_every_log_line_is_one_that_a_worker_can_write() -> None:
    written = list(constants())
    lines = [cells[0].strip("`") for cells in rows("Log lines")]
    assert len(lines) >= 10
    assert [line for line in lines if not any(line in text for text in written)] == []


def test_every_answer_of_a_probe_is_one_that_a_worker_gives() -> None:
    written = list(constants())
    details = [
        part.strip()
        for cells in rows("Probes")
        for span in re.findall(r"`([^`/]+)`", cells[0])
        for part in span.split("...")
        if part.strip() not in {"", "s"}
    ]
    assert len(details) >= 5
    assert [part for part in details if not any(part in text for text in written)] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_between_pages_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        file, _, anchor = target.partition("#")
        if "://" in target:
            continue
        linked = path if file == "" else (path.parent / file).resolve()
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked), target
