"""`eddy detect`: the pipeline on files, without Kafka."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

from schemas.reason import Reason
from streams.cli.lazy_group import PROBLEM_FOUND
from streams.cli.record_line import record_fields
from streams.cli.report import Report, Tally
from streams.cli.screen import echo, echo_json, standard_output
from streams.cli.settings_file import settings_in_force
from streams.dead_letter import reason_for
from streams.domain.outcome import Rejected, Scored
from streams.domain.printable import printable
from streams.offline import Judgement, judge
from streams.sources.reading import InputFormat, entries

_WITHOUT_AGENT = "identity.agent_id: blank; the record is scored, but raises no entropy alert"


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
    help="How the records are written down; auto tells JSON lines from Avro containers.",
)
@click.option("--all-steps", is_flag=True, help="Show the quiet steps, and all advice.")
@click.option("--fail-on-loop", is_flag=True, help="Exit with 1 when the verdict on a session was LOOP.")
def detect(
    *,
    files: tuple[str, ...],
    as_json: bool,
    settings_path: Path | None,
    input_format: str,
    all_steps: bool,
    fail_on_loop: bool,
) -> None:
    """Find the loops in decision-log files, without Kafka.

    FILEs are JSON lines or Avro containers of decision logs, gzipped or not; - is standard input. They are
    read one after the other as one partition: the number of a record, from 0, is its offset. Blank lines
    are not records. Lines that are not a record are reported and counted, as the worker would.

    The report shows a timeline per session and ends with a summary. Each step has its uniqueness ratio
    and the level of the verdict. A session is in a loop when the verdict was LOOP at some step: an
    episode says by which rule (R1 to R6), since when, and what it has cost. Entropy alerts, suspected
    divergences and drift patterns are scores; they make a session suspicious. Drift and budgets are
    told of such sessions only, unless --all-steps is given. With --json each record gives one line:

    \b
      {"status": "ok|duplicate|rejected", "session_id": ..., "event_id": ...,
       "entropy_score": ..., "node_state": ..., "problems": [...], "eddy": {...},
       "recommendation": {"steps": ..., "tokens": ..., "samples": ...} | null}

    Warnings and rejected records are named on standard error. The exit code is 0, with or without
    loops, unless --fail-on-loop is given; 2 when an input cannot be read to its end.

    \b
    Examples:
      eddy detect agent.jsonl
      eddy detect --json - < agent.jsonl | jq 'select(.eddy.verdict.level == "LOOP")'
      eddy detect --fail-on-loop --settings strict.json nightly/*.avro
    """  # noqa: D301
    settings = settings_in_force(settings_path)
    judgements = _reported(judge(entries(files, InputFormat(input_format)), settings))
    if as_json:
        loops = _write_lines(judgements, count_loops=fail_on_loop)
    else:
        loops = _write_report(judgements, every_step=all_steps)
    if fail_on_loop and loops:
        click.get_current_context().exit(PROBLEM_FOUND)


def _reported(judgements: Iterator[Judgement]) -> Iterator[Judgement]:
    """The same judgements; what breaks the contract gets its line on standard error."""
    for judgement in judgements:
        match judgement.outcome:
            case Rejected(problems=problems, detail=detail):
                _report_problem(judgement, _reason(problems), problems, detail)
            case Scored(violations=problems) if problems:
                _report_problem(judgement, Reason.SCHEMA_VIOLATION, problems, _WITHOUT_AGENT)
        yield judgement


def _reason(problems: tuple[str, ...]) -> str:
    """What a worker writes on the dead letter; the problem of a record that cannot be read is its reason."""
    [first, *others] = problems
    return reason_for(problems) if others or first not in set(Reason) else first


def _report_problem(judgement: Judgement, reason: str, problems: tuple[str, ...], detail: str) -> None:
    ids = (None if name is None else printable(name, 200) for name in judgement[1:3])
    session_id, event_id = map(json.dumps, ids)
    echo(
        f"{reason} offset={judgement.offset} session_id={session_id} event_id={event_id} "
        f"problems={','.join(problems)} detail={json.dumps(detail)}",
        err=True,
    )


def _write_lines(judgements: Iterator[Judgement], *, count_loops: bool) -> int:
    """Write one JSON line per record, at once."""
    tally = Tally()
    for judgement in judgements:
        echo_json(record_fields(judgement))
        if count_loops:
            tally.add(judgement)
    return len(tally.loops)


def _write_report(judgements: Iterator[Judgement], *, every_step: bool) -> int:
    report = Report(standard_output(), every_step=every_step)
    try:
        for judgement in judgements:
            report.add(judgement)
    finally:
        tally = report.finish()
    return len(tally.loops)
