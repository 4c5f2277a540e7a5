"""`eddy backtest`: what other settings would have changed, on files or on a part of the topic."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import click

from schemas.codec import UndecodableError
from streams.cli.command_group import PROBLEM_FOUND
from streams.cli.input_options import INPUT_PATH, formats_option
from streams.cli.settings_choice import CHOICE, DEFAULT, LIVE, Chosen, choose
from streams.cli.text.backtest_report import (
    heading_lines,
    session_fields,
    session_lines,
    summary_fields,
    summary_lines,
)
from streams.cli.text.intake_report import report_intake
from streams.cli.text.progress import watched
from streams.cli.text.screen import echo_json, standard_output
from streams.cli.topic_range import Bound, BoundType, TopicRange
from streams.cli.variables import brokers_option
from streams.core.backtest import Backtest
from streams.core.domain.erasure import is_order
from streams.core.domain.record import Record
from streams.core.domain.topic import Topic
from streams.core.entry import Entry
from streams.core.offline import PARTITION
from streams.core.policy.session_comparison import SessionComparison
from streams.formats.format_detection import FormatDetection
from streams.formats.intake import Intake
from streams.formats.reading import entries
from streams.kafka.client import connect
from streams.observe.settings import RecordSettings, load
from streams.worker.batch import key_text
from streams.worker.endpoints import connection, open_codec


@click.command()
@click.argument(
    "files",
    metavar="[FILE...|-]",
    nargs=-1,
    type=INPUT_PATH,
)
@click.option("--a", "word_a", metavar="SETTINGS", required=True, help=f"The one document: {CHOICE}")
@click.option(
    "--b",
    "word_b",
    metavar="SETTINGS",
    help="The other document, named likewise; when left out, live with --topic, and default for files.",
)
@formats_option
@click.option("--topic", metavar="TOPIC", help="Read a topic instead of files, outside any consumer group.")
@click.option(
    "--from",
    "starts",
    metavar="BOUND",
    type=BoundType(),
    multiple=True,
    help="Where to begin in the topic; its beginning when left out.",
)
@click.option(
    "--to",
    "stops",
    metavar="BOUND",
    type=BoundType(),
    multiple=True,
    help="Where to stop, this record not included; its end when left out.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON line per session, then one with the summary.")
@click.option("--fail-on-difference", is_flag=True, help="Exit with 1 when a session would differ.")
@brokers_option
def backtest(
    *,
    files: tuple[str, ...],
    word_a: str,
    word_b: str | None,
    formats: FormatDetection,
    topic: str | None,
    starts: tuple[Bound, ...],
    stops: tuple[Bound, ...],
    as_json: bool,
    fail_on_difference: bool,
    bootstrap_servers: str | None,
) -> None:
    """Judge the same records under two settings documents and show what would have changed.

    For each record this compares what people act on: levels, the node, the budget, what is published. For
    each session it shows who found a loop, by which rule at which record, and how many alerts there were. A
    loop is an episode at LOOP. Both documents judge from the first record given on: a session that began
    before it is judged as if it began there.

    BOUND is OFFSET, PARTITION:OFFSET or a time such as 2026-01-31T08:00Z (UTC unless it says otherwise), and
    can be given several times. A session ends with its terminal record; in a topic, also when it has been
    quiet for as long as both documents let it live. What comes later is another session of that name.

    The report shows the sessions that would differ, --json all of them. They come as they end, those
    under way at the end of the input or of a partition in the order in which they began; the same input
    gives the same output. Exit codes: 0 whether or not anything differs, unless --fail-on-difference is
    given, then 1 when something does; 2 when an input or a document cannot be read, 3 when no broker answers.

    \b
    Examples:
      eddy backtest --a default --b strict.json nightly/*.jsonl
      eddy backtest --a live --b strict.json --topic decision-logs \\
          --from 2026-01-31T08:00Z
      eddy backtest --a 7 --b 8 --topic decision-logs --json \\
          --from 3:120000 --to 3:140000
    """  # noqa: D301
    if (topic is None) == (not files):
        raise click.UsageError("Give FILEs or --topic, one of them.")
    if topic is None and (starts or stops):
        raise click.UsageError("--from and --to are for --topic.")
    other = word_b or (DEFAULT if topic is None else LIVE)
    a, b = choose([("--a", word_a), ("--b", other)], bootstrap_servers)
    test = Backtest(a.settings, b.settings)
    write, finish = _json_lines(a, b, test) if as_json else _report(a, b, test)
    intake = Intake()
    if topic is None:
        _write_all(_of_files(test, entries(files, formats, intake)), write)
    else:
        asyncio.run(_of_topic(test, TopicRange(topic, starts, stops), bootstrap_servers, write))
    finish()
    report_intake(intake)
    if fail_on_difference and test.totals.differing_sessions:
        click.get_current_context().exit(PROBLEM_FOUND)


def _of_files(test: Backtest, found: Iterator[Entry]) -> Iterator[SessionComparison]:
    for offset, entry in enumerate(watched(found, "judging")):
        if entry.value is None:
            test.unreadable()
        else:
            yield from test.add(Record(PARTITION, offset, entry.key, entry.timestamp, entry.value))
    yield from test.finish()


async def _of_topic(
    test: Backtest,
    wanted: TopicRange,
    bootstrap_servers: str | None,
    write: Callable[[SessionComparison], None],
) -> None:
    settings = load(RecordSettings, bootstrap_servers=bootstrap_servers)
    async with connect(connection(settings)) as brokers:
        codec = await open_codec(settings)
        decoder = codec.decoder(f"{Topic.DECISION_LOGS}-value")
        partition = None
        try:
            async for stored in wanted.records(brokers):
                if stored.partition != partition:
                    _write_all(test.finish(), write)
                    partition = stored.partition
                if is_order(stored):
                    continue
                await decoder.prepare([(stored.value, stored.headers)])
                try:
                    value = decoder.decode(stored.value, stored.headers)
                except UndecodableError:
                    test.unreadable()
                    continue
                timestamp = stored.timestamp if stored.timestamp >= 0 else None
                record = Record(partition, stored.offset, key_text(stored.key), timestamp, value)
                _write_all(test.add(record), write)
        finally:
            await codec.close()
    _write_all(test.finish(), write)


def _write_all(sessions: Iterator[SessionComparison], write: Callable[[SessionComparison], None]) -> None:
    for session in sessions:
        write(session)


def _json_lines(
    a: Chosen, b: Chosen, test: Backtest
) -> tuple[Callable[[SessionComparison], None], Callable[[], None]]:
    def write(session: SessionComparison) -> None:
        echo_json(session_fields(session))

    def finish() -> None:
        echo_json(summary_fields(a, b, test.totals))

    return write, finish


def _report(
    a: Chosen, b: Chosen, test: Backtest
) -> tuple[Callable[[SessionComparison], None], Callable[[], None]]:
    show = standard_output()
    for line in heading_lines(a, b):
        show(line)

    def write(session: SessionComparison) -> None:
        if session.differing:
            for line in session_lines(session):
                show(line)

    def finish() -> None:
        for line in summary_lines(test.totals):
            show(line)

    return write, finish
