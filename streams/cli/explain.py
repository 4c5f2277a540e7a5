"""`eddy explain`: one session, and why it is or is not considered looping."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import click

from streams.cli.input_options import INPUT_PATH, formats_option, known_files, settings_option
from streams.cli.settings_file import settings_in_force
from streams.cli.text.explanation_text import explanation_lines
from streams.cli.text.intake_report import report_intake
from streams.cli.text.screen import echo, echo_json, standard_output
from streams.cli.text.timeline import COLUMNS, SessionTimeline
from streams.cli.variables import brokers_option
from streams.core.domain.outcome import Scored
from streams.core.offline import Judgement
from streams.core.policy.standing import standing
from streams.formats.format_detection import FormatDetection
from streams.formats.intake import Intake
from streams.formats.reading import entries
from streams.operate.explain.explanation import Explanation
from streams.operate.explain.session_records import SessionFile
from streams.operate.explain.verdict import verdict_sentence
from streams.operate.explain.worker_request import standing_at

_SHOWN = 40


@click.command()
@click.argument("session_id", metavar="SESSION")
@click.argument(
    "files",
    metavar="[FILE...|-]",
    nargs=-1,
    type=INPUT_PATH,
)
@click.option("--topic", "from_brokers", is_flag=True, help="Read the job's topic of enriched records.")
@click.option("--worker", metavar="URL", help="Ask this worker where the session stands now.")
@click.option("--token", envvar="EDDY_WEB_TOKEN", help="For the worker [EDDY_WEB_TOKEN].")
@click.option(
    "--last", type=click.IntRange(1), default=_SHOWN, show_default=True, help="Steps of the timeline."
)
@click.option("--all", "every_step", is_flag=True, help="The whole timeline, with its quiet steps.")
@click.option("--json", "as_json", is_flag=True, help="For machines.")
@settings_option("To judge files under: JSON document of settings that differ from the defaults.")
@formats_option
@brokers_option
def explain(
    *,
    session_id: str,
    files: tuple[str, ...],
    from_brokers: bool,
    worker: str | None,
    token: str | None,
    last: int,
    every_step: bool,
    as_json: bool,
    settings_path: Path | None,
    formats: FormatDetection,
    bootstrap_servers: str | None,
) -> None:
    """Show one session, and why it is or is not considered looping.

    SESSION is an id, or its beginning where no other session begins so. From FILEs, or without them from the
    logs of the agents on this machine, as `eddy detect` reads them; or, from a running job, what --topic
    still holds and what the --worker that has the session says. Shows the timeline, which rule fired at which
    record on what evidence, the course of its episodes, its scores, and which rules are near their limits.

    \b
    Examples:
      eddy explain 60a3a234
      eddy explain s-17 agent.jsonl
      eddy explain s-17 --topic --worker http://127.0.0.1:8066
      eddy explain s-17 --json agent.jsonl | jq .because
    """  # noqa: D301
    if files and from_brokers:
        raise click.UsageError("Give files or --topic, not both.")
    explanation = Explanation(session_id)
    shown: deque[Scored] = deque(maxlen=None if every_step else last)
    state: dict[str, Any] | None = None
    if from_brokers:
        asyncio.run(_from_topic(bootstrap_servers, explanation, shown))
    elif files or not worker:
        settings = settings_in_force(settings_path)
        paths = files or known_files()

        def judge() -> SessionFile:
            source, intake = SessionFile(explanation.session_id, settings), Intake()
            _take(source.judge(entries(paths, formats, intake)), explanation, shown)
            if explanation.records:
                report_intake(intake)
            return source

        source = judge()
        if not explanation.records and "-" not in files and (whole := source.completed()):
            explanation.session_id = whole
            source = judge()
        if not explanation.records:
            raise source.missing()
        state = None if source.state is None else standing(source.state, settings)
    if worker:
        state = asyncio.run(standing_at(worker, explanation.session_id, token))
    if as_json:
        echo_json(_document(explanation, shown, state))
    else:
        _write(explanation, shown, state, every_step=every_step)


def _take(judgements: Iterable[Judgement], explanation: Explanation, shown: deque[Scored]) -> None:
    for judgement in judgements:
        explanation.add(judgement)
        if isinstance(judgement.outcome, Scored):
            if len(shown) == shown.maxlen:
                explanation.before = shown[0]
            shown.append(judgement.outcome)


async def _from_topic(bootstrap_servers: str | None, explanation: Explanation, shown: deque[Scored]) -> None:
    # Imported here: the Kafka client takes half a second, and files do not need it.
    from streams.kafka.client import connect  # noqa: PLC0415
    from streams.observe.settings import RecordSettings, load  # noqa: PLC0415
    from streams.operate.explain.session_topic import from_topic  # noqa: PLC0415
    from streams.worker.endpoints import connection, open_codec  # noqa: PLC0415

    settings = load(RecordSettings, bootstrap_servers=bootstrap_servers, schema_registry_register=False)
    codec = await open_codec(settings)
    try:
        async with (
            connect(connection(settings)) as brokers,
            aclosing(from_topic(brokers, codec, explanation.session_id)) as judgements,
        ):
            async for judgement in judgements:
                explanation.session_id = judgement.session_id or explanation.session_id
                _take([judgement], explanation, shown)
    finally:
        await codec.close()


def _write(
    explanation: Explanation, shown: deque[Scored], state: dict[str, Any] | None, *, every_step: bool
) -> None:
    write = standard_output()
    if shown:
        if len(shown) < explanation.scored:
            part = f"The last {len(shown):,} of {explanation.scored:,} records; --all shows every one."
            echo(f"{part} What stands below them is about all.")
        spent = 0.0 if explanation.before is None else explanation.before.decision.cumulative_cost or 0.0
        timeline = SessionTimeline(shown[0].decision, every_step=every_step, spent=spent)
        for scored in shown:
            timeline.add(scored)
        steps = timeline.end()
        for line in (timeline.heading(timeline.totals()), COLUMNS, *steps):
            write(line)
    for line in explanation_lines(explanation, state):
        write(line)


def _document(explanation: Explanation, shown: deque[Scored], state: dict[str, Any] | None) -> dict[str, Any]:
    newest = explanation.newest
    return {
        "session_id": explanation.session_id,
        "records": explanation.records,
        "scored": explanation.scored,
        "duplicates": explanation.duplicates,
        "rejected": explanation.rejected,
        "refusals": [{"offset": offset, "problems": problems} for offset, problems in explanation.refusals],
        "timeline": [scored.enriched for scored in shown],
        "fired": [
            {
                "rule": firing.rule,
                "level": firing.level,
                "times": firing.times,
                "first_offset": firing.first,
                "last_offset": firing.last,
                "evidence": firing.evidence,
            }
            for firing in explanation.firings.values()
        ],
        "episodes": list(explanation.course),
        "eddy": None if newest is None else newest.enriched["eddy"],
        "standing": state,
        "because": verdict_sentence(explanation, state),
    }
