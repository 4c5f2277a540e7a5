"""`eddy dlq`: inspect the dead letters, and send them again once their cause is gone."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click

from schemas.codec import UndecodableError
from schemas.reason import Reason
from streams.cli.command_group import PROBLEM_FOUND, CommandGroup
from streams.cli.settings_change import AS_JSON, BOOTSTRAP
from streams.cli.text.letter_text import Listing, counts, fields, line, lines, whole
from streams.cli.text.screen import echo, echo_json, echo_lines
from streams.cli.topic_range import Bound, BoundType, TopicRange, bound
from streams.core.domain.text.figures import count
from streams.core.domain.text.printable import printable
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError
from streams.kafka.client import Brokers, Stored, connect
from streams.observe.settings import RecordSettings, load
from streams.operate.explain.settings_topic import in_force, records
from streams.operate.redrive.letter import OTHER, DeadLetter, read
from streams.operate.redrive.redrive import (
    LetterOutcome,
    LetterResult,
    Redrive,
    RedriveRequest,
    Trial,
    target,
)
from streams.operate.redrive.selection import Selection, letters_at
from streams.worker.endpoints import connection, open_codec


class LetterPlace(click.ParamType):
    """A dead letter on the command line."""

    name = "place"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Read PARTITION:OFFSET."""
        try:
            found = bound(str(value))
        except ValueError:
            found = Bound(None, None, None)
        if found.partition is None or found.offset is None:
            self.fail(f"{value!r} is no PARTITION:OFFSET of {Topic.DEAD_LETTERS}, such as 3:17.", param, ctx)
        return found.partition, found.offset


class LetterSelection(NamedTuple):
    """Which letters a command is about."""

    selection: Selection
    starts: tuple[Bound, ...]
    stops: tuple[Bound, ...]

    async def letters(self, brokers: Brokers, trial: Trial) -> AsyncGenerator[DeadLetter]:
        """Yield them, partition after partition, each in the order of its offsets.

        Raises:
            InfrastructureError: there is no such topic.
        """
        by_session = self.selection.session is not None
        async with aclosing(self._stored(brokers)) as records:
            async for stored in records:
                letter = read(stored)
                if by_session:
                    await trial.prepare([letter])
                if self.selection.has(letter, trial.decode):
                    yield letter

    def _stored(self, brokers: Brokers) -> AsyncGenerator[Stored]:
        if self.selection.places:
            return letters_at(brokers, self.selection.places)
        return TopicRange(brokers.topic(Topic.DEAD_LETTERS), self.starts, self.stops).records(brokers)


class LetterPost(NamedTuple):
    """What the commands work with."""

    brokers: Brokers
    trial: Trial


@click.group(cls=CommandGroup)
def dlq() -> None:
    """Look at the dead letters, and send them again once their cause is gone.

    A dead letter is a message that could not be read or breaks the contract; it stands on decision-logs-dlq
    with its original key and bytes, and its headers say what was wrong.
    """


def _asking(command: Callable[..., None]) -> Callable[..., None]:
    for decorate in (
        click.option("--session", metavar="ID", help="Only of this session, by the key or by the value."),
        click.option(
            "--problem", "problems", metavar="PATH", multiple=True, help="Only with this field as a problem."
        ),
        click.option(
            "--reason",
            "reasons",
            metavar="REASON",
            type=click.Choice([*map(str, Reason), OTHER]),
            multiple=True,
            help=f"Only set aside for this, one of {', '.join(Reason)}, {OTHER}; the last stands for letters "
            "that Eddy did not write.",
        ),
        click.option(
            "--to",
            "stops",
            metavar="BOUND",
            type=BoundType(),
            multiple=True,
            help="Where to stop, this letter not included; the end when left out.",
        ),
        click.option(
            "--from",
            "starts",
            metavar="BOUND",
            type=BoundType(),
            multiple=True,
            help="Where to begin: OFFSET, PARTITION:OFFSET or a time such as 2026-01-31T08:00Z.",
        ),
    ):
        command = decorate(command)
    return command


@dlq.command("list")
@_asking
@AS_JSON
@BOOTSTRAP
def list_command(
    *,
    starts: tuple[Bound, ...],
    stops: tuple[Bound, ...],
    reasons: tuple[str, ...],
    problems: tuple[str, ...],
    session: str | None,
    as_json: bool,
    bootstrap_servers: str | None,
) -> None:
    """Print the dead letters, one per line, then how many there are of each reason.

    PARTITION:OFFSET at the start of a line is the letter's place on decision-logs-dlq, for show and redrive;
    the time is the Kafka timestamp that the message had. Days and times are UTC.

    \b
    Examples:
      eddy dlq list --reason unknown_schema --from 2026-01-31T08:00Z
      eddy dlq list --json |
          jq -r 'select(.problems[]? == "action.status") | .key'
    """  # noqa: D301
    asked = LetterSelection(Selection(frozenset(reasons), frozenset(problems), session), starts, stops)
    found: Counter[str] = Counter()
    listing = Listing()

    async def print_all() -> None:
        async with _post(bootstrap_servers) as post, aclosing(asked.letters(*post)) as letters:
            async for letter in letters:
                found[letter.counted_as] += 1
                if as_json:
                    echo_json(fields(letter))
                    continue
                if found.total() == 1:
                    echo(listing.heading)
                echo_lines(listing.lines(letter))

    asyncio.run(print_all())
    if as_json:
        echo_json({"letters": found.total(), "reasons": found})
    else:
        echo(counts(found))


@dlq.command("show")
@click.argument("place", type=LetterPlace(), metavar="PARTITION:OFFSET")
@click.option(
    "--save",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write the bytes of the value to this file, as they came.",
)
@AS_JSON
@BOOTSTRAP
def show_command(
    *, place: tuple[int, int], save: Path | None, as_json: bool, bootstrap_servers: str | None
) -> None:
    """Print one dead letter: what was wrong, its headers, its value, and whether it would be accepted now.

    The value is decoded where it can be, else text with escapes, else hex. With --json it is in hex too.
    """
    asked = LetterSelection(Selection(places=frozenset({place})), (), ())

    async def find() -> tuple[DeadLetter, Any, str | None] | None:
        async with _post(bootstrap_servers) as post, aclosing(asked.letters(*post)) as letters:
            async for letter in letters:
                await post.trial.prepare([letter])
                return letter, _decoded(post.trial, letter), post.trial.refusal(letter, _now())
        return None

    found = asyncio.run(find())
    if found is None:
        raise ConfigurationError(
            f"There is no dead letter at {place[0]}:{place[1]}: it was never there, or the topic does not "
            "keep it any longer. `eddy dlq list` shows those there are."
        )
    if save is not None:
        save.write_bytes(found[0].value or b"")
    if as_json:
        echo_json(whole(*found))
        return
    echo_lines(lines(*found))


@dlq.command("redrive")
@click.argument("places", type=LetterPlace(), metavar="[PARTITION:OFFSET]...", nargs=-1)
@_asking
@click.option("--all", "everything", is_flag=True, help="Every dead letter there is.")
@click.option("--dry-run", is_flag=True, help="Print what would become of each letter; send nothing.")
@click.option("--yes", is_flag=True, help="Do not ask. Needed where there is no terminal.")
@click.option("--force", is_flag=True, help="Send also what would come back.")
@click.option("--again", is_flag=True, help="Send also what was sent before, or perhaps was.")
@AS_JSON
@BOOTSTRAP
def redrive_command(
    *,
    places: tuple[tuple[int, int], ...],
    starts: tuple[Bound, ...],
    stops: tuple[Bound, ...],
    reasons: tuple[str, ...],
    problems: tuple[str, ...],
    session: str | None,
    everything: bool,
    dry_run: bool,
    yes: bool,
    force: bool,
    again: bool,
    as_json: bool,
    bootstrap_servers: str | None,
) -> None:
    """Send dead letters to decision-logs again: the message as it came, to the partition it came from.

    What would come back is left alone: each message is read and checked as a worker would that has the
    settings in force and this environment (schema registry, EDDY_MAX_VALUE_BYTES). What was sent again
    already is left alone too: decision-logs-redriven keeps it in mind. A message is judged at its new place,
    behind what its session has done since.

    Exit codes: 0 when everything asked for is sent, now or before; 1 when something was left.

    \b
    Examples:
      eddy dlq redrive --reason unknown_schema --dry-run
      eddy dlq redrive --reason future --from 2026-01-31T08:00Z --yes
      eddy dlq redrive 3:17 3:18
    """  # noqa: D301
    selection = Selection(frozenset(reasons), frozenset(problems), session, frozenset(places))
    asked = LetterSelection(selection, starts, stops)
    if everything == (asked != LetterSelection(Selection(), (), ())):
        raise click.UsageError("Say which letters: places, a filter, or --all for every one.")
    if places and (starts or stops):
        raise click.UsageError("Places and --from or --to exclude each other.")
    if not dry_run and not yes and not sys.stdin.isatty():
        raise click.UsageError("There is no terminal to ask: add --yes, or --dry-run to look first.")
    request = RedriveRequest(now=_now(), dry_run=dry_run, force=force, again=again)

    async def send() -> Counter[LetterOutcome]:
        async with _post(bootstrap_servers) as post:
            if dry_run or yes:
                return await _redriven(post, asked, request, _reporter(as_json))
            seen: dict[int, int] = {}

            def note(result: LetterResult) -> None:
                letter = result.letter
                seen[letter.partition] = max(seen.get(letter.partition, 0), letter.offset + 1)

            would = await _redriven(post, asked, replace(request, dry_run=True), note)
            sending = would[LetterOutcome.SENT]
            if not sending:
                return await _redriven(post, asked, replace(request, dry_run=True), _reporter(as_json))
            if not click.confirm(
                f"Send {count(sending, 'message')} to {Topic.DECISION_LOGS} again?", err=True
            ):
                raise click.Abort
            # What has been set aside meanwhile was not in the question.
            until = tuple(Bound(partition, offset, None) for partition, offset in sorted(seen.items()))
            counted = asked if places else asked._replace(stops=(*asked.stops, *until))
            return await _redriven(post, counted, request, _reporter(as_json))

    outcomes = asyncio.run(send())
    _summarise(outcomes, dry_run=dry_run, as_json=as_json)
    if outcomes.total() > outcomes[LetterOutcome.SENT] + outcomes[LetterOutcome.SENT_BEFORE]:
        raise click.exceptions.Exit(PROBLEM_FOUND)


async def _redriven(
    post: LetterPost, asked: LetterSelection, request: RedriveRequest, report: Callable[[LetterResult], None]
) -> Counter[LetterOutcome]:
    redrive = Redrive(post.brokers, post.trial, await target(post.brokers), request, report)
    await redrive.send(asked.letters(*post))
    return redrive.outcomes


def _reporter(as_json: bool) -> Callable[[LetterResult], None]:
    def report(result: LetterResult) -> None:
        if as_json:
            echo_json({**fields(result.letter), "fate": result.outcome, "why": result.why})
        elif result.outcome is LetterOutcome.SENT:
            echo(line(result.letter))
        else:
            echo(line(result.letter, f"LEFT: {printable(result.why, 300)}"))

    return report


_WORDS = {
    LetterOutcome.SENT: "sent again",
    LetterOutcome.SENT_BEFORE: "sent before",
    LetterOutcome.UNCERTAIN: "perhaps sent before (--again sends them)",
    LetterOutcome.USELESS: "would come back (--force sends them)",
    LetterOutcome.FOREIGN: "without a place to go to",
}


def _summarise(outcomes: Counter[LetterOutcome], *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        echo_json({"dry_run": dry_run, **{outcome: outcomes[outcome] for outcome in LetterOutcome}})
        return
    words = {**_WORDS, LetterOutcome.SENT: "would be sent again"} if dry_run else _WORDS
    counted = [
        f"{outcomes[outcome]:,} {words[outcome]}"
        for outcome in LetterOutcome
        if outcomes[outcome] or outcome is LetterOutcome.SENT
    ]
    echo(", ".join(counted))


@asynccontextmanager
async def _post(bootstrap_servers: str | None) -> AsyncIterator[LetterPost]:
    settings = load(RecordSettings, bootstrap_servers=bootstrap_servers)
    # Only reading is asked of the codec: nothing is registered, and the schemas of outputs need not be there.
    reading = settings.model_copy(update={"output_format": "json", "schema_registry_register": False})
    async with connect(connection(settings)) as brokers:
        codec = await open_codec(reading)
        try:
            yield LetterPost(brokers, Trial(codec, in_force(await records(brokers))))
        finally:
            await codec.close()


def _decoded(trial: Trial, letter: DeadLetter) -> Any:
    try:
        return trial.decode(letter)
    except UndecodableError:
        return None


def _now() -> int:
    return int(time.time() * 1000)
