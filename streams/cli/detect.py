"""`eddy detect`: the pipeline on files, without Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from streams.cli.command_group import PROBLEM_FOUND
from streams.cli.input_options import (
    INPUT_PATH,
    formats_option,
    given_options,
    known_files,
    settings_option,
)
from streams.cli.settings_file import settings_in_force
from streams.cli.text.intake_report import report_intake, reported
from streams.cli.text.overview import Overview
from streams.cli.text.progress import watched
from streams.cli.text.report import ReportTally, SessionReport, is_at_loop, record_fields
from streams.cli.text.screen import echo_json, standard_output
from streams.core.domain.text.figures import count
from streams.core.errors import ConfigurationError
from streams.core.offline import Judgement, judge
from streams.formats.format_detection import FormatDetection
from streams.formats.input_file import STANDARD_INPUT
from streams.formats.intake import Intake
from streams.formats.reading import entries
from streams.formats.sources import known_places


@click.command()
@click.argument("paths", metavar="[PATH...|-]", nargs=-1, type=INPUT_PATH)
@click.option("--json", "as_json", is_flag=True, help="One JSON line per input record instead of timelines.")
@settings_option()
@formats_option
@click.option("--all-steps", is_flag=True, help="Show the quiet steps, and all advice.")
@click.option(
    "--only-loops", is_flag=True, help="Show only sessions in a loop; with --json, records at LOOP."
)
@click.option("--fail-on-loop", is_flag=True, help="Exit with 1 when the verdict on a session was LOOP.")
def detect(
    *,
    paths: tuple[str, ...],
    as_json: bool,
    settings_path: Path | None,
    formats: FormatDetection,
    all_steps: bool,
    only_loops: bool,
    fail_on_loop: bool,
) -> None:
    """Find the loops in the logs of your agents, without Kafka.

    A PATH is a file, gzipped or not, a folder, or - for standard input: the log of a coding agent, an
    export, a message list, decision logs. Each file's format is recognised by its first bytes. Without a
    PATH, Eddy reads the logs it finds in the folders where coding agents keep them.

    Folders give an overview: the sessions that went in circles, when, by what, and what they spent there.
    Files give timelines, as folders do with --all-steps.

    The inputs are read one after the other as one partition: the number of a record, from 0, is its offset.
    Blank lines are not records. Lines that are not a record are reported and counted, as the worker would.

    Timelines show the steps of the sessions, each line as soon as it is known, and end with a
    summary. Days and times are UTC. Each step has its uniqueness ratio and the level of the verdict. A
    session is in a loop when the verdict was LOOP at some step: an episode says by which rule,
    since when, and what it has cost. Entropy alerts, suspected divergences and drift patterns are scores;
    they make a session suspicious. Drift and budgets are
    shown for such sessions only, unless --all-steps is given. With --json each record gives one line:

    \b
      {"status": "ok|duplicate|rejected", "session_id": ..., "event_id": ...,
       "entropy_score": ..., "node_state": ..., "problems": [...], "eddy": {...},
       "recommendation": {"steps": ..., "tokens": ..., "samples": ...} | null}

    Standard error has the warnings, the first rejected record of each kind, and what was left out. The exit
    code is 0, with or without loops, unless --fail-on-loop is given; 2 when an input cannot be read, or
    nothing in it was scored.

    \b
    Examples:
      eddy detect
      eddy detect ~/.claude/projects
      eddy detect agent.jsonl
      eddy detect --json - < agent.jsonl |
          jq 'select(.eddy.verdict.level == "LOOP")'
      eddy detect --fail-on-loop --settings strict.json nightly/*.avro
    """  # noqa: D301
    settings = settings_in_force(settings_path)
    overview = not paths or any(path != STANDARD_INPUT and Path(path).is_dir() for path in paths)
    intake = Intake()
    found = entries(paths or known_files(), formats, intake)
    judgements = reported(judge(watched(found, "judging"), settings))
    if as_json:
        tally = _write_lines(judgements, only_loops=only_loops)
    elif overview and not all_steps:
        named = paths or tuple(
            sorted({str(Path(each.folder).expanduser()) for each in known_places(Path.home()) if each.files})
        )
        view = Overview(standard_output(), intake, named, given_options(), only_loops=only_loops)
        tally = _write_all(judgements, view)
    else:
        tally = _write_all(
            judgements, SessionReport(standard_output(), every_step=all_steps, only_loops=only_loops)
        )
    report_intake(intake)
    if not tally.scored:
        raise ConfigurationError(
            f"Nothing was scored: {count(tally.rejected + tally.duplicates, 'record')} found, and no "
            "decision log that counts. Check the files and --format."
        )
    if fail_on_loop and tally.loops:
        click.get_current_context().exit(PROBLEM_FOUND)


def _write_lines(judgements: Iterator[Judgement], *, only_loops: bool) -> ReportTally:
    """Write one JSON line per record, at once."""
    tally = ReportTally()
    for judgement in judgements:
        if not only_loops or is_at_loop(judgement.outcome):
            echo_json(record_fields(judgement))
        tally.add(judgement)
    return tally


def _write_all(judgements: Iterator[Judgement], view: SessionReport | Overview) -> ReportTally:
    try:
        for judgement in judgements:
            view.add(judgement)
    finally:
        tally = view.finish()
    return tally
