"""`eddy ingest`: what agents write to files, carried on."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
from pydantic import Field

from streams.cli.command_group import PROBLEM_FOUND
from streams.cli.input_options import formats_option, settings_option
from streams.cli.settings_file import settings_in_force
from streams.cli.text.live import Desktop, LiveAlerts, summary
from streams.cli.text.screen import echo, echo_json, standard_error, standard_output, status
from streams.cli.variables import brokers_option
from streams.core.domain.text.figures import count
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError
from streams.formats.content import Content
from streams.formats.format_detection import FormatDetection
from streams.formats.ingest.ingestion import IngestAccount, Ingestion, IngestRequest, SystemClock
from streams.formats.ingest.opening import Opening
from streams.formats.ingest.sink import FileSink, LineSink, NoSink, RecordSink, Several, TopicSink
from streams.formats.ingest.store import IN_MEMORY, Store, alone
from streams.formats.input_file import STANDARD_INPUT, spooled_standard_input
from streams.formats.registry import BY_NAME
from streams.formats.sources import Source, known_patterns, sources
from streams.kafka.record_sender import RecordSender
from streams.observe.settings import ConnectionSettings, load
from streams.worker.endpoints import connection

STANDARD_OUTPUT: Final = "-"
_LARGEST_PORT: Final = 65_535
_AGO: Final = re.compile(r"(?P<number>[0-9]{1,6})(?P<unit>[smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class SinceType(click.ParamType):
    """A time on the command line: so long ago, or of ISO 8601; in ms since 1970."""

    name = "since"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read it, or say what it may be."""
        if isinstance(value, int):
            return value
        if (ago := _AGO.fullmatch(str(value))) is not None:
            return int((time.time() - int(ago["number"]) * _SECONDS[ago["unit"]]) * 1000)
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(
                f"{value!r} is neither so long ago, as 1d or 12h, nor a time as 2026-01-31T08:00Z.",
                param,
                ctx,
            )
        return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


class ListenAddress(NamedTuple):
    """Where to listen."""

    host: str
    port: int


class AddressType(click.ParamType):
    """An address on the command line."""

    name = "address"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> ListenAddress:
        """Read it, or say what it may be."""
        if isinstance(value, ListenAddress):
            return value
        host, _, port = str(value).rpartition(":")
        if not host or not port.isdecimal() or int(port) > _LARGEST_PORT:
            self.fail(f"{value!r} is no HOST:PORT such as 127.0.0.1:4318.", param, ctx)
        return ListenAddress(host.strip("[]"), int(port))


class IngestSettings(ConnectionSettings):
    """How to reach the brokers that records are sent to."""

    producer_idempotence: bool = Field(
        True, description="Off only for brokers that do not know it, such as the embedded one."
    )


class Goal(NamedTuple):
    """Where records go.

    Attributes:
        name: by which it is remembered what was sent there; None if nothing is remembered.
        sink: Where the records are written.
        is_new: whether what was sent there is there no more.
        is_remote: whether texts leave this machine.
        file: the file that is written, if it is one.
    """

    name: str | None
    sink: RecordSink
    is_new: bool = False
    is_remote: bool = False
    file: Path | None = None


@click.command()
@click.argument("paths", metavar="[PATH...|-]", nargs=-1)
@click.option("--follow", is_flag=True, help="Read on as files grow and come, until it is stopped.")
@click.option("--to", "topic", metavar="TOPIC", help="Send to this topic [decision-logs].")
@click.option(
    "--out", metavar="FILE|-", help="Append JSON lines to a file, or write them to standard output."
)
@click.option("--dry-run", is_flag=True, help="Only count: nothing is sent, nothing is remembered.")
@click.option(
    "--judge", is_flag=True, help="Show sessions that go in circles as soon as they do, without Kafka."
)
@click.option("--notify", is_flag=True, help="With --judge: show each loop as a notice of the desktop, too.")
@formats_option
@click.option(
    "--content",
    type=click.Choice([str(each) for each in Content]),
    help="Texts in full, as hashes that still compare, or none. Kafka gets full texts if that was said once.",
)
@click.option(
    "--since", type=SinceType(), metavar="AGO|TIME", help="Leave out what is older: 1d, 12h, a time."
)
@click.option(
    "--otlp",
    type=AddressType(),
    metavar="HOST:PORT",
    help="Take spans over OTLP/HTTP at this address, until it is stopped. Files are read if PATHs are given.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if something could not be used.")
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Remembers how far files were read [~/.local/state/eddy/ingest.sqlite].",
)
@settings_option("With --judge: JSON document of settings that differ from the defaults.")
@brokers_option
def ingest(
    *,
    paths: tuple[str, ...],
    follow: bool,
    topic: str | None,
    out: str | None,
    dry_run: bool,
    judge: bool,
    notify: bool,
    formats: FormatDetection,
    content: str | None,
    since: int | None,
    otlp: ListenAddress | None,
    strict: bool,
    state: Path | None,
    settings_path: Path | None,
    bootstrap_servers: str | None,
) -> None:
    """Carry what agents write to files on to Kafka, to a file, or to the screen.

    PATHs are logs, exports, folders of them, patterns, or - for standard input; without one, the folders in
    which known agents keep their logs. Each file is read in its own format, as far as its last whole line,
    and each finished tool call becomes one decision log.

    What was sent is remembered for each destination, after it was sent: a second run continues where the
    first one ended, also if that was killed. A record may come twice then, under the same event id; none is
    lost, and those of a session stay in order. Files may be rotated, cut or replaced. While brokers are away,
    reading stops. Standard output, --dry-run and --judge alone remember nothing, unless --state is given.

    --content hash puts 16 digits for each text, which are equal if the texts are; none leaves texts out.

    At the end, standard error says for each source how many files, records, ignored lines and problems there
    were. The exit code is 1 if there were problems and --strict is given; 2 if nothing could be read.

    \b
    Examples:
      eddy ingest --follow --judge               watch the agents on this machine
      eddy ingest --follow --judge --notify      and be told on the desktop
      eddy ingest session.jsonl --out -          see what becomes of a file
      ssh host cat session.jsonl | eddy ingest - --out -
      eddy ingest ~/.claude/projects --follow --to decision-logs --content hash
      eddy ingest --otlp 127.0.0.1:4318 --judge  watch agents that export spans
    """  # noqa: D301
    if sum((topic is not None, out is not None, dry_run)) > 1:
        raise click.UsageError("--to, --out and --dry-run exclude one another.")
    if STANDARD_INPUT in paths and (follow or otlp is not None):
        raise click.UsageError("Standard input is read to its end: it excludes --follow and --otlp.")
    if notify and not (judge and (follow or otlp is not None)):
        raise click.UsageError(
            "--notify is about loops that happen: it needs --judge, and --follow or --otlp."
        )
    tell = Desktop().tell if notify else None
    live = LiveAlerts(standard_output(), settings_in_force(settings_path), tell) if judge else None
    if judge and out == STANDARD_OUTPUT:
        raise click.UsageError("--judge and --out - both write to standard output.")
    with ExitStack() as stack:
        goal = _goal(
            topic, out, bootstrap_servers, nowhere=dry_run or (judge and topic is None and out is None)
        )
        path = state if state is not None or goal.name is None else state_file()
        if path is not None:
            stack.enter_context(alone(path, goal.name or "nowhere"))
        store = Store(path or IN_MEMORY, goal.name or "nowhere", time.time())
        stack.callback(store.close)
        if goal.is_new:
            store.forget()
        store.forget_the_old()
        if goal.file is not None and any(Path(each).expanduser().resolve() == goal.file for each in paths):
            raise ConfigurationError(f"{out} would be read and written at once. Name another file with --out")
        if STANDARD_INPUT in paths:
            copied = stack.enter_context(spooled_standard_input())
            paths = tuple(copied if each == STANDARD_INPUT else each for each in paths)
        places = paths if paths or otlp else tuple(known_patterns(Path.home()))
        follow = follow or otlp is not None
        account = asyncio.run(
            _run(
                [str(Path(each).expanduser().absolute()) for each in places],
                Opening(store, formats, since=since or 0, follow=follow),
                store,
                goal.sink if live is None else Several(goal.sink, live),
                IngestRequest(_content(content, goal, store), follow),
                live,
                otlp,
                goal.file,
            )
        )
    write = standard_error()
    for line in summary(account):
        write(line)
    _check(account, places, follow=follow, strict=strict)


def state_file() -> Path:
    """Return where it is remembered how far files were read, if nothing else is said."""
    given = os.environ.get("XDG_STATE_HOME")
    folder = Path(given) if given and Path(given).is_absolute() else Path.home() / ".local" / "state"
    return folder / "eddy" / "ingest.sqlite"


def _goal(topic: str | None, out: str | None, servers: str | None, *, nowhere: bool) -> Goal:
    if nowhere:
        return Goal(None, NoSink())
    if out == STANDARD_OUTPUT:
        return Goal(None, LineSink(echo_json))
    if out is not None:
        file = Path(out).expanduser().absolute()
        is_new = not file.exists()
        return Goal(f"file:{file}", FileSink(file), is_new=is_new, file=file.resolve())
    settings = load(IngestSettings, bootstrap_servers=servers)
    reach = connection(settings)
    name = reach.topic(Topic.DECISION_LOGS) if topic in (None, Topic.DECISION_LOGS) else str(topic)
    sender = RecordSender(reach, name, idempotent=settings.producer_idempotence)
    sink = TopicSink(sender, lambda: int(time.time() * 1000))
    return Goal(f"topic:{reach.bootstrap_servers}/{name}", sink, is_remote=True)


def _content(content: str | None, goal: Goal, store: Store) -> Content:
    """Return which texts are sent; full texts leave the machine only if that was said once."""
    if content is None and goal.is_remote:
        content = store.content
        if content is None:
            question = f"Send the full texts of agents, with whatever secrets they hold, to {goal.name}?"
            if not os.isatty(0):
                raise ConfigurationError(f"{question} Say so once with --content full, or give hash or none")
            content = Content.FULL if click.confirm(question, err=True) else Content.HASH
    if content is not None and goal.is_remote:
        store.allow(content)
    return Content(content or Content.FULL)


async def _run(
    paths: list[str],
    opening: Opening,
    store: Store,
    sink: RecordSink,
    request: IngestRequest,
    live: LiveAlerts | None,
    otlp: ListenAddress | None,
    written: Path | None,
) -> IngestAccount:
    ingestion: Ingestion

    def find() -> Iterator[Source]:
        """Find inputs. The file that is written would grow by what is read from it, without end."""
        return (each for each in sources(paths) if written is None or Path(each.path).resolve() != written)

    def caught_up() -> None:
        if live is not None:
            live.catch_up()
        if request.follow:
            status(_watching(ingestion.account, live))

    ingestion = Ingestion(
        find,
        opening,
        store,
        sink,
        SystemClock(),
        request,
        notice=lambda text: echo(f"eddy: {text}", err=True),
        caught_up=caught_up,
    )
    running = ingestion.run() if otlp is None else _run_with_spans(ingestion, store, otlp)
    task = asyncio.ensure_future(running)
    with _stopping(task, follow=request.follow):
        try:
            await task
        except asyncio.CancelledError:
            pass  # stopped: what was sent is remembered
        finally:
            status("")
            await sink.close()
    return ingestion.account


async def _run_with_spans(ingestion: Ingestion, store: Store, address: ListenAddress) -> None:
    """Read files, and take spans meanwhile."""
    from streams.formats.ingest.otlp_receiver import HOLD_SECONDS, OtlpReceiver  # noqa: PLC0415 - needs aiohttp, which is slow

    receiver = OtlpReceiver(store, ingestion.send)

    async def release() -> None:
        while True:
            await asyncio.sleep(HOLD_SECONDS)
            await receiver.release()

    async with receiver.open(*address) as port:
        echo(f"eddy: taking spans at http://{address.host}:{port}/v1/traces", err=True)
        releasing = asyncio.ensure_future(release())
        try:
            await asyncio.gather(ingestion.run(), releasing)
        finally:
            releasing.cancel()
            with suppress(TimeoutError):  # brokers are away: what waits is remembered
                await asyncio.wait_for(receiver.release(), HOLD_SECONDS)


@contextmanager
def _stopping(task: asyncio.Future[Any], *, follow: bool) -> Iterator[None]:
    """Let a signal end what is followed."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM) if follow else ()
    for each in signals:
        loop.add_signal_handler(each, task.cancel)
    try:
        yield
    finally:
        for each in signals:
            loop.remove_signal_handler(each)


def _watching(account: IngestAccount, live: LiveAlerts | None) -> str:
    files = sum(len(each.paths) for each in account.sources.values())
    records = sum(each.records for each in account.sources.values())
    judged = ""
    if live is not None:
        judged = f", {count(len(live.sessions), 'session')}, {len(live.loops):,} in a loop so far"
    return f"following {count(files, 'file')}: {count(records, 'record')}{judged}"


def _check(account: IngestAccount, places: tuple[str, ...], *, follow: bool, strict: bool) -> None:
    """Say how it ended.

    Raises:
        ConfigurationError: nothing could be read.
    """
    problems = account.has_problems
    if not follow and not any(each.is_used for each in account.sources.values()):
        if account.sources or account.unknown or problems:
            tried = ", ".join(BY_NAME)
            raise ConfigurationError(f"Nothing could be read. Tried: {tried}. Name the format with --format")
        raise ConfigurationError(f"There is nothing to read at {', '.join(places)}. Give the path of a log")
    if strict and problems:
        click.get_current_context().exit(PROBLEM_FOUND)
