"""`eddy detect`: the pipeline on files, without Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from streams.cli.lazy_group import PROBLEM_FOUND
from streams.cli.settings_file import settings_in_force
from streams.cli.text.progress import watched
from streams.cli.text.record_line import record_fields
from streams.cli.text.rejections import reported
from streams.cli.text.report import Report, Tally, is_at_loop
from streams.cli.text.screen import echo_json, standard_output
from streams.errors import ConfigurationError
from streams.offline import Judgement, judge
from streams.sources.reading import InputFormat, entries


@click.command()
@click.argument(
    "files",
    metavar="FILE...|-",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, readable=True, allow_dash=True),
)
@click.option("--json", "as_json", is_flag=True, help="One JSON line per input record instead of timelines.")
@click.option(
    "--settings",
    "settings_path",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path),
    help="JSON document of settings that differ from the defaults.",
)
@click.option(
    "--format",
    "input_format",
    type=click.Choice([str(name) for name in InputFormat]),
    default=str(InputFormat.AUTO),
    show_default=True,
    help="How the records are written down; auto recognises JSON lines and Avro containers.",
)
@click.option("--all-steps", is_flag=True, help="Show the quiet steps, and all advice.")
@click.option(
    "--only-loops", is_flag=True, help="Show only sessions in a loop; with --json, records at LOOP."
)
@click.option("--fail-on-loop", is_flag=True, help="Exit with 1 when the verdict on a session was LOOP.")
def detect(
    *,
    files: tuple[str, ...],
    as_json: bool,
    settings_path: Path | None,
    input_format: str,
    all_steps: bool,
    only_loops: bool,
    fail_on_loop: bool,
) -> None:
    """Find the loops in decision-log files, without Kafka.

    FILEs are JSON lines or Avro containers of decision logs, gzipped or not; - is standard input. They are
    read one after the other as one partition: the number of a record, from 0, is its offset. Blank lines
    are not records. Lines that are not a record are reported and counted, as the worker would.

    The report shows the timelines of the sessions, each line as soon as it is known, and ends with a
    summary. Days and times are UTC. Each step has its uniqueness ratio and the level of the verdict. A
    session is in a loop when the verdict was LOOP at some step: an episode says by which rule (R1 to R6),
    since when, and what it has cost. Entropy alerts, suspected divergences and drift patterns are scores;
    they make a session suspicious. Drift and budgets are
    shown for such sessions only, unless --all-steps is given. With --json each record gives one line:

    \b
      {"status": "ok|duplicate|rejected", "session_id": ..., "event_id": ...,
       "entropy_score": ..., "node_state": ..., "problems": [...], "eddy": {...},
       "recommendation": {"steps": ..., "tokens": ..., "samples": ...} | null}

    Warnings, and the first rejected record of each kind, are named on standard error. The exit code is 0,
    with or without loops, unless --fail-on-loop is given; 2 when an input cannot be read to its end, or
    nothing in it was scored.

    \b
    Examples:
      eddy detect agent.jsonl
      eddy detect --json - < agent.jsonl | jq 'select(.eddy.verdict.level == "LOOP")'
      eddy detect --fail-on-loop --settings strict.json nightly/*.avro
    """  # noqa: D301
    settings = settings_in_force(settings_path)
    judgements = reported(judge(watched(entries(files, InputFormat(input_format)), "judging"), settings))
    if as_json:
        tally = _write_lines(judgements, only_loops=only_loops)
    else:
        tally = _write_report(judgements, every_step=all_steps, only_loops=only_loops)
    if not tally.scored:
        raise ConfigurationError(
            f"Nothing was scored: of {tally.rejected + tally.duplicates} records none is a decision log that "
            "counts. Check the files and --format."
        )
    if fail_on_loop and tally.loops:
        click.get_current_context().exit(PROBLEM_FOUND)


def _write_lines(judgements: Iterator[Judgement], *, only_loops: bool) -> Tally:
    """Write one JSON line per record, at once."""
    tally = Tally()
    for judgement in judgements:
        if not only_loops or is_at_loop(judgement.outcome):
            echo_json(record_fields(judgement))
        tally.add(judgement)
    return tally


def _write_report(judgements: Iterator[Judgement], *, every_step: bool, only_loops: bool) -> Tally:
    report = Report(standard_output(), every_step=every_step, only_loops=only_loops)
    try:
        for judgement in judgements:
            report.add(judgement)
    finally:
        tally = report.finish()
    return tally
