"""The dashboards for Grafana. `python deploy/grafana/dashboards.py` writes them beside this file, as JSON.

To add a chart, add a line to a section below. Tests ask a Prometheus that scrapes real processes each query,
and compare the JSON with what this file makes. `$job` is what Prometheus calls the processes: `eddy` for
workers, `eddy-bridge` and `eddy-console` for the others, as `deploy/prometheus/prometheus.yml` has it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple

from grafana_foundation_sdk.builders import bargauge, common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import (
    BarGaugeDisplayMode,
    BigValueColorMode,
    BigValueGraphMode,
    LegendDisplayMode,
    LegendPlacement,
    TooltipDisplayMode,
    VizOrientation,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DataSourceRef,
    GridPos,
    Threshold,
    ThresholdsMode,
    VariableOption,
    VariableRefresh,
)

FOLDER: Final = Path(__file__).parent
SOURCE: Final = DataSourceRef(type_val="prometheus", uid="$datasource")
#: Columns of Grafana's grid.
_COLUMNS: Final = 24

JOB: Final = 'job=~"$job"'
AGENT: Final = 'job=~"$job",agent=~"$agent"'
OPENED: Final = f'{AGENT},phase="opened"'
ESCALATED: Final = f'{AGENT},phase="escalated"'
RECOVERED: Final = f'{AGENT},phase="recovered"'
SCORED: Final = f'{JOB},result="scored"'


class Kind(Enum):
    """How a chart shows what it finds."""

    NUMBER = "number"
    LINES = "lines"
    BARS = "bars"


class Query(NamedTuple):
    """What is asked, and what its series are called."""

    expression: str
    legend: str = ""


class Chart(NamedTuple):
    """One panel.

    Attributes:
        title: What it shows.
        queries: What is asked.
        unit: As Grafana names it.
        says: What follows from it for a reader.
        kind: How it is shown.
        width: In columns, of 24.
        red_from: From this value on, a number is red.
        red_below: Below this value, a number is red.
    """

    title: str
    queries: Sequence[Query]
    unit: str = "short"
    says: str = ""
    kind: Kind = Kind.LINES
    width: int = 8
    red_from: float | None = None
    red_below: float | None = None


class Board(NamedTuple):
    """One dashboard.

    Attributes:
        uid: Its name in addresses; it never changes.
        title: Its name for people.
        says: Whom it is for.
        sections: The charts, by heading.
        jobs: Where the choice of jobs comes from: a metric.
        by_agent: Whether agents can be chosen.
    """

    uid: str
    title: str
    says: str
    sections: Mapping[str, Sequence[Chart]]
    jobs: str
    by_agent: bool = False


def number(
    title: str,
    expression: str,
    unit: str = "short",
    says: str = "",
    *,
    red_from: float | None = None,
    red_below: float | None = None,
) -> Chart:
    """Return a chart that is one number."""
    return Chart(title, [Query(expression)], unit, says, Kind.NUMBER, 4, red_from, red_below)


def grown(metric: str, labels: str, by: str = "", over: str = "$__range") -> str:
    """Return a query for how much a counter has grown, one that first counted within the range included.

    >>> grown("eddy_x_total", "", "agent", "1h")
    'sum by (agent) ((eddy_x_total{} unless eddy_x_total{} offset 1h) or increase(eddy_x_total{}[1h]))'
    """
    series = f"{metric}{{{labels}}}"
    grouped = f" by ({by}) " if by else ""
    return f"sum{grouped}(({series} unless {series} offset {over}) or increase({series}[{over}]))"


def quantile(share: float, histogram: str) -> str:
    """Return a query for a quantile of a histogram over all processes."""
    return f"histogram_quantile({share}, sum by (le) (rate({histogram}_bucket{{{JOB}}}[$__rate_interval])))"


def per_second(metric: str, by: str, labels: str = JOB) -> str:
    """Return a query for the rate of a counter over all processes."""
    return f"sum by ({by}) (rate({metric}{{{labels}}}[$__rate_interval]))"


JOB_BOARD: Final = Board(
    "eddy-job",
    "Eddy: the job",
    "For those who run it: whether it is well, how far it has read, and what limits it.",
    {
        "Is it well?": [
            number("Processes that answer", f"sum(up{{{JOB}}})", red_below=1),
            number(
                "Alerts",
                'count(ALERTS{alertname=~"Eddy.*",alertstate="firing"}) or vector(0)',
                says="docs/operations.md has a row for each.",
                red_from=1,
            ),
            number("Records behind", f"sum(eddy:consumer_lag:max{{{JOB}}})", red_from=100_000),
            number("Records per second", f"sum(eddy:decisions:rate5m{{{JOB}}})"),
            number("Dead letters", f"max(eddy:dead_letters:ratio10m{{{JOB}}})", "percentunit", red_from=0.01),
            number("Brokers that answer", f"min(eddy_brokers_answering{{{JOB}}})", red_below=1),
        ],
        "How far it has read": [
            Chart(
                "Records per second, by result",
                [Query(per_second("eddy_decisions_total", "result"), "{{result}}")],
            ),
            Chart(
                "Records behind, by topic",
                [Query(f"sum by (topic) (eddy:consumer_lag:max{{{JOB}}})", "{{topic}}")],
            ),
            Chart(
                "The ten partitions that are furthest behind",
                [Query(f"topk(10, eddy:consumer_lag:max{{{JOB}}})", "{{topic}}-{{partition}}")],
                says="One line far above: one session has most of the records, or that partition is stuck.",
            ),
            Chart(
                "Dead letters per second, by reason",
                [Query(per_second("eddy_dead_letters_total", "reason"), "{{reason}}")],
            ),
            Chart("Runs that wait", [Query(f"sum by (topic) (eddy_waiting_runs{{{JOB}}})", "{{topic}}")]),
            Chart(
                "Records lost to retention",
                [Query(f"sum by (topic) (eddy:records_lost:increase1h{{{JOB}}})", "{{topic}}")],
                says="Within an hour. They were deleted before they were read.",
            ),
        ],
        "What it costs": [
            Chart(
                "From the start of a run to its state being durable",
                [Query(quantile(share, "eddy_epoch_seconds"), f"p{share * 100:g}") for share in (0.5, 0.99)],
                "s",
            ),
            Chart(
                "Share of CPU in that",
                [Query(f"eddy:cpu_of_epochs:ratio5m{{{JOB}}}", "{{job}}")],
                "percentunit",
                "Near 100 %: add workers. Far below, under lag: brokers or the disk are slow.",
            ),
            Chart(
                "CPU per record",
                [
                    Query(
                        f"sum(rate(eddy_fold_seconds_total{{{JOB}}}[$__rate_interval]))"
                        f" / sum(rate(eddy_decisions_total{{{JOB}}}[$__rate_interval]))",
                        "decode, judge, encode",
                    )
                ],
                "s",
            ),
            Chart(
                "Records per run",
                [Query(quantile(share, "eddy_run_records"), f"p{share * 100:g}") for share in (0.5, 0.99)],
            ),
            Chart(
                "Contributions to the views across sessions",
                [Query(per_second("eddy_contributions_total", "result"), "{{result}}")],
            ),
            Chart(
                "From the start of their run to its state being durable",
                [
                    Query(quantile(share, "eddy_aggregates_epoch_seconds"), f"p{share * 100:g}")
                    for share in (0.5, 0.99)
                ],
                "s",
            ),
        ],
        "State": [
            Chart("Entries, by table", [Query(f"eddy:state_entries:sum{{{JOB}}}", "{{table}}")]),
            Chart(
                "Entries that are not written yet",
                [Query(f"sum by (table) (eddy_unwritten_entries{{{JOB}}})", "{{table}}")],
            ),
            Chart(
                "Sessions removed per second",
                [Query(per_second("eddy_sessions_removed_total", "reason"), "{{reason}}")],
            ),
            Chart(
                "Housekeeping: CPU",
                [Query(per_second("eddy_housekeeping_seconds_total", "instance"), "{{instance}}")],
                "percentunit",
            ),
            Chart(
                "Housekeeping: entries looked at per second",
                [Query(per_second("eddy_housekeeping_entries_total", "instance"), "{{instance}}")],
            ),
            Chart(
                "Restored records per second",
                [Query(per_second("eddy_restored_records_total", "table"), "{{table}}")],
            ),
            Chart(
                "The latest restore",
                [
                    Query(
                        f"max by (instance, table) (eddy_restore_seconds{{{JOB}}})", "{{instance}} {{table}}"
                    )
                ],
                "s",
            ),
            Chart(
                "Standbys: seconds behind",
                [Query(f"max by (instance) (eddy_standby_lag_seconds{{{JOB}}})", "{{instance}}")],
                "s",
            ),
            Chart(
                "Standbys: records per second",
                [Query(per_second("eddy_standby_records_total", "table"), "{{table}}")],
            ),
            Chart(
                "What went wrong within a day",
                [
                    Query(f"sum(eddy:state_set_aside:increase1d{{{JOB}}})", "damaged databases"),
                    Query(f"sum(increase(eddy_standby_errors_total{{{JOB}}}[1d]))", "rounds of standbys"),
                    Query(f"sum(increase(eddy_late_records_total{{{JOB}}}[1d]))", "late records"),
                    Query(f"sum(eddy:redated_records:increase1h{{{JOB}}})", "redated records (1 h)"),
                    Query(
                        f"sum(increase(eddy_redaction_failures_total{{{JOB}}}[1d]))",
                        "records without texts: the redactor failed",
                    ),
                ],
            ),
        ],
        "Processes and brokers": [
            Chart(
                "Memory", [Query(f"process_resident_memory_bytes{{{JOB}}}", "{{job}} {{instance}}")], "bytes"
            ),
            Chart(
                "CPU",
                [
                    Query(
                        f"rate(process_cpu_seconds_total{{{JOB}}}[$__rate_interval])", "{{job}} {{instance}}"
                    )
                ],
                "percentunit",
            ),
            Chart("Open files", [Query(f"process_open_fds{{{JOB}}}", "{{job}} {{instance}}")]),
            Chart(
                "Age of the process",
                [Query(f"time() - process_start_time_seconds{{{JOB}}}", "{{job}} {{instance}}")],
                "s",
            ),
            Chart(
                "Brokers that answer, of those known",
                [
                    Query(f"min by (job) (eddy_brokers_answering{{{JOB}}})", "{{job}} answer"),
                    Query(f"max by (job) (eddy_brokers_known{{{JOB}}})", "{{job}} known"),
                ],
            ),
            Chart(
                "Silence of the brokers",
                [Query(f"max by (job) (eddy_broker_silence_seconds{{{JOB}}})", "{{job}}")],
                "s",
            ),
            Chart(
                "TLS files that have changed and cannot be used",
                [Query(f"sum by (job) (eddy_tls_files_outdated{{{JOB}}})", "{{job}}")],
            ),
            Chart(
                "The clock is ahead of the brokers' by",
                [Query(f"eddy_clock_ahead_seconds{{{JOB}}}", "{{instance}}")],
                "s",
            ),
            Chart(
                "Versions",
                [Query(f"count by (version) (eddy_build_info{{{JOB}}})", "{{version}}")],
                says="Two lines while an upgrade is under way.",
            ),
            Chart(
                "Native core",
                [Query(f"count by (in_use, why) (eddy_native_core_info{{{JOB}}})", "{{in_use}}: {{why}}")],
                says="Processes by whether they judge with it.",
            ),
            Chart(
                "Settings in force",
                [
                    Query(f"min(eddy_settings_version{{{JOB}}})", "oldest"),
                    Query(f"max(eddy_settings_version{{{JOB}}})", "newest"),
                    Query(f"max(eddy_shadow_settings_version{{{JOB}}})", "tried out"),
                ],
            ),
        ],
        "The bridge": [
            Chart(
                "Spans per second, by result",
                [Query(per_second("eddy_bridge_spans_total", "result"), "{{result}}")],
            ),
            Chart(
                "Records written per second",
                [Query(per_second("eddy_bridge_records_total", "job"), "{{job}}")],
            ),
            Chart("Spans that wait", [Query(f"sum by (job) (eddy_bridge_held{{{JOB}}})", "{{job}}")]),
            Chart(
                "How long spans had waited",
                [
                    Query(quantile(share, "eddy_bridge_hold_seconds"), f"p{share * 100:g}")
                    for share in (0.5, 0.99)
                ],
                "s",
            ),
            Chart(
                "What named the sessions", [Query(per_second("eddy_bridge_sessions_total", "key"), "{{key}}")]
            ),
            Chart(
                "What the bridge cannot use, per second",
                [
                    Query(f"eddy:bridge_dead_letters:rate10m{{{JOB}}}", "dead letters"),
                    Query(per_second("eddy_bridge_foreign_keys_total", "job"), "not keyed by trace"),
                    Query(
                        per_second("eddy_bridge_calls_without_content_total", "job"),
                        "calls without arguments",
                    ),
                    Query(per_second("eddy_bridge_traces_forgotten_total", "job"), "traces forgotten"),
                ],
            ),
            Chart(
                "From the start of a run of spans to its state being durable",
                [
                    Query(quantile(share, "eddy_bridge_epoch_seconds"), f"p{share * 100:g}")
                    for share in (0.5, 0.99)
                ],
                "s",
            ),
            Chart(
                "CPU of the bridge",
                [Query(per_second("eddy_bridge_fold_seconds_total", "instance"), "{{instance}}")],
                "percentunit",
            ),
        ],
        "The console": [
            Chart(
                "Records behind, by topic",
                [Query(f"sum by (topic) (eddy_console_lag{{{JOB}}})", "{{topic}}")],
            ),
            Chart(
                "Records read per second",
                [Query(per_second("eddy_console_folded_total", "topic"), "{{topic}}")],
            ),
            Chart(
                "CPU for that",
                [Query(per_second("eddy_console_fold_seconds_total", "instance"), "{{instance}}")],
                "percentunit",
            ),
            Chart(
                "Browsers that listen",
                [Query(f"sum by (instance) (eddy_console_connections{{{JOB}}})", "{{instance}}")],
            ),
            Chart(
                "The slowest update of all views",
                [Query(f"max by (instance) (eddy_console_tick_seconds{{{JOB}}})", "{{instance}}")],
                "s",
            ),
            Chart(
                "Unreadable records",
                [Query(f"sum by (topic) (eddy_console_unreadable_total{{{JOB}}})", "{{topic}}")],
            ),
            Chart(
                "Open breakers of the live policy",
                [Query(f"max(eddy_console_breakers_open{{{JOB}}})", "breakers")],
            ),
        ],
        "The notifier": [
            Chart(
                "What became of deliveries, per minute",
                [
                    Query(
                        f"60 * sum by (sink, result) (rate(eddy_notify_deliveries_total{{{JOB}}}[5m]))",
                        "{{sink}} {{result}}",
                    )
                ],
            ),
            Chart(
                "Deliveries that wait",
                [
                    Query(f"sum by (sink) (eddy_notify_waiting{{{JOB}}})", "{{sink}}"),
                    Query(f"sum by (sink) (eddy_notify_gone{{{JOB}}}) > 0", "{{sink}} is gone"),
                    Query(f"sum by (job) (eddy_notify_lag{{{JOB}}})", "not read yet"),
                ],
            ),
            Chart(
                "How long receivers take to answer",
                [
                    Query(quantile(share, "eddy_notify_request_seconds"), f"p{share * 100:g}")
                    for share in (0.5, 0.99)
                ],
                "s",
            ),
            Chart(
                "Alerts per minute, and open episodes",
                [
                    Query(f"60 * sum by (kind) (rate(eddy_notify_alerts_total{{{JOB}}}[5m]))", "{{kind}}"),
                    Query(f"60 * sum by (job) (rate(eddy_notify_duplicates_total{{{JOB}}}[5m]))", "again"),
                    Query(
                        f"60 * sum by (job) (rate(eddy_notify_unreadable_total{{{JOB}}}[5m]))", "unreadable"
                    ),
                    Query(f"sum by (job) (eddy_notify_open_episodes{{{JOB}}})", "open episodes"),
                ],
            ),
        ],
    },
    jobs="up",
)

LOOP_BOARD: Final = Board(
    "eddy-loops",
    "Eddy: agents and what loops cost",
    "For those who run agents: which of them go in circles, and what that costs.",
    {
        "In this range of time": [
            number("Loops begun", f"{grown('eddy_episodes_total', OPENED)} or vector(0)"),
            number(
                "Of those, certain (LOOP)",
                f"{grown('eddy_episodes_total', ESCALATED)} or vector(0)",
            ),
            number("Ended", f"{grown('eddy_episodes_total', RECOVERED)} or vector(0)"),
            number(
                "Tokens in loops that ended",
                f"{grown('eddy_episode_tokens_total', AGENT)} or vector(0)",
                says="From the onset of each loop to its end. Loops that are under way are not in it.",
            ),
            number(
                "Their cost",
                f"{grown('eddy_episode_cost_total', AGENT)} or vector(0)",
                says="In the unit that agents report.",
            ),
            number(
                "Tokens per loop",
                f"{grown('eddy_episode_tokens_total', AGENT)} / {grown('eddy_episodes_total', RECOVERED)}",
            ),
        ],
        "Which agents": [
            Chart(
                "Tokens in loops",
                [Query(f"topk(10, {grown('eddy_episode_tokens_total', AGENT, 'agent')})", "{{agent}}")],
                says="The ten agents that wasted most. A worker tells the first hundred agents apart.",
                kind=Kind.BARS,
            ),
            Chart(
                "Cost of loops",
                [Query(f"topk(10, {grown('eddy_episode_cost_total', AGENT, 'agent')})", "{{agent}}")],
                kind=Kind.BARS,
            ),
            Chart(
                "Loops begun",
                [
                    Query(
                        f"topk(10, {grown('eddy_episodes_total', OPENED, 'agent')})",
                        "{{agent}}",
                    )
                ],
                kind=Kind.BARS,
            ),
        ],
        "Over time": [
            Chart(
                "Loops per hour, by what became of them",
                [Query(grown("eddy_episodes_total", AGENT, "phase", "1h"), "{{phase}}")],
                width=12,
            ),
            Chart(
                "Tokens per hour in loops that ended",
                [Query(f"topk(10, {grown('eddy_episode_tokens_total', AGENT, 'agent', '1h')})", "{{agent}}")],
                width=12,
            ),
            Chart(
                "Cost per hour of loops that ended",
                [Query(f"topk(10, {grown('eddy_episode_cost_total', AGENT, 'agent', '1h')})", "{{agent}}")],
                width=12,
            ),
            Chart(
                "Steps per loop begun",
                [
                    Query(
                        f"sum(increase(eddy_decisions_total{{{SCORED}}}[1h]))"
                        f" / {grown('eddy_episodes_total', OPENED, over='1h')}",
                        "steps",
                    )
                ],
                says="How many steps of all agents there are for each loop: the higher, the better.",
                width=12,
            ),
        ],
        "What was detected": [
            Chart(
                "Events per hour, by type",
                [Query(grown("eddy_events_total", JOB, "event_type", "1h"), "{{event_type}}")],
                width=12,
            ),
            Chart(
                "Settings that are tried out: records judged otherwise, per hour",
                [
                    Query(grown("eddy_shadow_differences_total", JOB, "kind", "1h"), "{{kind}}"),
                    Query(
                        f"sum(increase(eddy_shadow_decisions_total{{{JOB}}}[1h]))",
                        "all that were judged twice",
                    ),
                ],
                width=12,
            ),
        ],
    },
    jobs="eddy_build_info",
    by_agent=True,
)

BOARDS: Final = (JOB_BOARD, LOOP_BOARD)


def _steps(chart: Chart) -> dashboard.ThresholdsConfig:
    steps = [Threshold(value=None, color="red" if chart.red_below is not None else "green")]
    if chart.red_below is not None:
        steps.append(Threshold(value=chart.red_below, color="green"))
    if chart.red_from is not None:
        steps.append(Threshold(value=chart.red_from, color="red"))
    return dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps)


def _panel(chart: Chart) -> stat.Panel | timeseries.Panel | bargauge.Panel:
    newest = common.ReduceDataOptions().calcs(["lastNotNull"])
    panel: stat.Panel | timeseries.Panel | bargauge.Panel
    match chart.kind:
        case Kind.NUMBER:
            panel = stat.Panel().graph_mode(BigValueGraphMode.NONE).color_mode(BigValueColorMode.VALUE)
            panel.thresholds(_steps(chart)).reduce_options(newest)
        case Kind.BARS:
            panel = (
                bargauge.Panel()
                .orientation(VizOrientation.HORIZONTAL)
                .display_mode(BarGaugeDisplayMode.BASIC)
            )
            panel.no_value("no loop ended").min(0).reduce_options(newest)
        case Kind.LINES:
            legend = (
                common.VizLegendOptions()
                .display_mode(LegendDisplayMode.LIST)
                .placement(LegendPlacement.BOTTOM)
            )
            tooltip = common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI)
            panel = timeseries.Panel().legend(legend.show_legend(True)).tooltip(tooltip).fill_opacity(10)
    panel.title(chart.title).description(chart.says).unit(chart.unit).datasource(SOURCE)
    for number_, query in enumerate(chart.queries):
        asked = (
            prometheus.Dataquery().expr(query.expression).ref_id(chr(ord("A") + number_)).datasource(SOURCE)
        )
        if query.legend:
            asked.legend_format(query.legend)
        panel.with_target(asked.range() if chart.kind is Kind.LINES else asked.instant())
    return panel


def built(board: Board) -> str:
    """Return a dashboard as Grafana imports it."""
    every = VariableOption(selected=True, text="All", value="$__all")
    made = (
        dashboard.Dashboard(board.title)
        .uid(board.uid)
        .description(board.says)
        .tags(["eddy"])
        .refresh("30s")
        .time("now-6h", "now")
        .timezone("browser")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .link(dashboard.DashboardLink("Eddy").tags(["eddy"]).as_dropdown(True))
        .with_variable(dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
        .with_variable(
            dashboard.QueryVariable("job")
            .label("Job")
            .query(f'label_values({board.jobs}{{job=~"eddy.*"}}, job)')
            .datasource(SOURCE)
            .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
            .multi(True)
            .include_all(True)
            .all_value("eddy.*")
            .current(every)
        )
    )
    if board.by_agent:
        made.with_variable(
            dashboard.QueryVariable("agent")
            .label("Agent")
            .query('label_values(eddy_episodes_total{job=~"$job"}, agent)')
            .datasource(SOURCE)
            .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
            .multi(True)
            .include_all(True)
            .all_value(".*")
            .current(every)
        )
    row = 0
    for heading, charts in board.sections.items():
        made.with_row(dashboard.Row(heading).grid_pos(GridPos(h=1, w=_COLUMNS, x=0, y=row)))
        row, column = row + 1, 0
        for chart in charts:
            height = 4 if chart.kind is Kind.NUMBER else 8
            if column + chart.width > _COLUMNS:
                row, column = row + height, 0
            made.with_panel(_panel(chart).grid_pos(GridPos(h=height, w=chart.width, x=column, y=row)))
            column += chart.width
        row += height
    return json.dumps(made.build(), cls=JSONEncoder, indent=2, sort_keys=True) + "\n"


def main() -> None:
    """Write every dashboard beside this file."""
    for board in BOARDS:
        path = FOLDER / f"{board.uid}.json"
        path.write_text(built(board))
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
