"""`eddy demo`: watch looping sessions being caught, without installing anything."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

import click

from streams.cli.input_options import formats_option
from streams.cli.text.intake_report import report_intake
from streams.cli.text.line import Line, TextSpan
from streams.cli.text.screen import echo_json, standard_error, standard_output
from streams.cli.text.timeline import mark, style
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level
from streams.core.domain.text.figures import count
from streams.core.domain.text.printable import printable
from streams.core.errors import ConfigurationError
from streams.formats.format_detection import FormatDetection
from streams.formats.intake import Intake
from streams.formats.reading import TopicMessage
from streams.formats.reading import messages as read
from streams.formats.recordings.catalogue import messages as recorded
from streams.operate.demo.cluster import cluster
from streams.operate.demo.performance import DemoAccount, PerformanceOutcome, perform
from streams.operate.explain.explanation import meaning, sentence

Write = Callable[[Line], None]

_PROGRESS_SECONDS = 1.0
_REASONS_SHOWN = 40


class DemoScreen:
    """Tells alerts as they come, and once a second how far it is."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._started = self._reported = time.monotonic()

    def say(self, text: str) -> None:
        """Write one line of what happens."""
        self._write(Line.of(TextSpan(f"{time.monotonic() - self._started:5.1f} s  ", "dim"), TextSpan(text)))

    def scored(self, account: DemoAccount) -> None:
        """Tell now and then how far it is."""
        now = time.monotonic()
        if now - self._reported >= _PROGRESS_SECONDS:
            self._reported = now
            self.say(
                f"{len(account.scored):,} of {len(account.sent):,} records scored, "
                f"{count(len(account.sessions), 'session')}, {count(len(account.alerts), 'alert')}"
            )

    def alerted(self, fields: Mapping[str, Any]) -> None:
        """Tell an alert that says something new."""
        found = meaning(fields)
        if found.news:
            shown = style(found)
            self._write(
                Line.of(
                    TextSpan(f"{time.monotonic() - self._started:5.1f} s  ", "dim"),
                    TextSpan(f"{mark(found)} ", shown),
                    TextSpan(printable(fields["session_id"], 40), shown),
                    TextSpan(f"  {found.alert}: {sentence(fields)}"),
                )
            )


def numbers(outcome: PerformanceOutcome) -> dict[str, float]:
    """Return the summary for machines."""
    account = outcome.account
    return {
        "records": len(account.sent),
        "sessions": len(account.sessions),
        "scored": len(account.scored),
        "dead_lettered": len(account.dead),
        "alerts": len(account.alerts),
        "lost": account.lost,
        "seconds": round(outcome.seconds, 3),
    }


def summary(outcome: PerformanceOutcome) -> Iterator[Line]:
    """Yield the last lines: counts, then each session with its alerts by rule and the first reason."""
    account = outcome.account
    yield Line()
    yield Line.of(
        TextSpan(f"{count(len(account.sent), 'record')}: ", "bold"),
        TextSpan(f"{len(account.scored):,} scored, {len(account.dead):,} dead-lettered"),
        TextSpan(_reasons(account)),
    )
    alerts, advised = _by_session(account.alerts), _by_session(account.advice)
    loops = {session_id for session_id, of_session in alerts.items() if any(map(_is_loop, of_session))}
    yield Line.of(
        TextSpan(f"{count(len(account.sessions), 'session')}: ", "bold"),
        TextSpan(f"{len(loops):,} in a loop, {len(alerts) - len(loops):,} suspicious; "),
        TextSpan(f"{len(account.alerts):,} alerts, {_advice_counted(account)}"),
    )
    ordered = sorted(alerts, key=lambda session_id: (session_id not in loops, session_id))
    for session_id in ordered[:_REASONS_SHOWN]:
        yield from _session(session_id, alerts[session_id], advised.get(session_id, []))
    if len(ordered) > _REASONS_SHOWN:
        yield Line.of(TextSpan(f"  … and {len(ordered) - _REASONS_SHOWN:,} more sessions"))
    rate = len(account.sent) / outcome.seconds if outcome.seconds else 0.0
    yield Line.of(
        TextSpan(f"{rate:,.0f} events/s", "bold"),
        TextSpan(f" in {outcome.seconds:.1f} s, through Kafka and back"),
    )
    yield Line.of(
        TextSpan(
            f"{count(account.lost, 'record')} unaccounted for", "bold red" if account.lost else "bold green"
        )
    )


def _by_session(events: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """The events of each session, in the order of their records."""
    found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for fields in sorted(events.values(), key=lambda fields: (fields["partition"], fields["offset"])):
        found[fields["session_id"]].append(fields)
    return found


def _advice_counted(account: DemoAccount) -> str:
    kinds = Counter(fields["event_type"] for fields in account.advice.values())
    return f"{kinds[EventKind.RESPONSE]:,} responses, {kinds[EventKind.BUDGET]:,} budget changes"


def _session(
    session_id: str, alerts: list[Mapping[str, Any]], advised: list[Mapping[str, Any]]
) -> Iterator[Line]:
    """Name a session with its alerts by rule, and the newest response and budget that are serious."""
    shown = "bold red" if any(map(_is_loop, alerts)) else "yellow"
    yield Line.of(TextSpan("  ▲ ", shown), TextSpan(printable(session_id, 60), shown))
    by_rule: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for fields in sorted(alerts, key=lambda fields: meaning(fields).level is None):
        by_rule[str(meaning(fields).alert)].append(fields)
    for name, found in by_rule.items():
        times = "" if len(found) == 1 else f" ({len(found)} times)"
        # The newest event of an episode says how it ended and what it has cost.
        which = found[0 if meaning(found[0]).level is None else -1]
        yield Line.of(TextSpan(f"      {name}{times}: {sentence(which)}"))
    newest = {fields["event_type"]: fields for fields in advised if meaning(fields).serious}
    for fields in newest.values():
        yield Line.of(TextSpan(f"      ▷ {sentence(fields)}", "cyan"))


def _is_loop(fields: Mapping[str, Any]) -> bool:
    return meaning(fields).level is Level.LOOP


def _reasons(account: DemoAccount) -> str:
    if not account.dead:
        return ""
    counted = sorted(Counter(account.dead.values()).items())
    return " (" + ", ".join(f"{reason} {count:,}" for reason, count in counted) + ")"


def _messages(files: tuple[str, ...], formats: FormatDetection, intake: Intake) -> Iterable[TopicMessage]:
    if files:
        messages = read(files, formats, intake)
        # A file that cannot be read is reported before anything starts.
        return chain(list(islice(messages, 1)), messages)
    return recorded(first_timestamp=int(time.time() * 1000) - 3_600_000)


async def _run(messages: Iterable[TopicMessage], screen: DemoScreen) -> PerformanceOutcome:
    async with cluster(screen.say) as stage:
        await stage.ready(screen.say)
        outcome = await perform(stage, messages, screen)
        screen.say("done; stopping workers and broker")
        return outcome


@contextmanager
def _lines(*, quiet: bool) -> Iterator[Write]:
    yield standard_error() if quiet else standard_output()


async def _interruptible(running: Coroutine[Any, Any, PerformanceOutcome]) -> PerformanceOutcome:
    """Run the demo until it ends, or Ctrl-C ends it between two steps of the loop.

    asyncio's own handler cancels within a step: a client that has just seen that a future is not done then
    fails to answer it, and its traceback is the last that a person sees.

    Raises:
        KeyboardInterrupt: somebody has interrupted it, and it is cleaned up.
    """
    task, interrupted = asyncio.current_task(), False

    def interrupt() -> None:
        nonlocal interrupted
        interrupted = True
        if task is not None:
            task.cancel()

    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupt)
    try:
        return await running
    except asyncio.CancelledError:
        if interrupted:
            raise KeyboardInterrupt from None
        raise


@click.command()
@click.option(
    "--input",
    "files",
    multiple=True,
    type=click.Path(exists=True),
    metavar="FILE",
    help="Replay this file instead of the recordings; may be given several times, and more files may follow.",
)
@click.argument("more", nargs=-1, type=click.Path(exists=True), metavar="[FILE]...")
@formats_option
@click.option("--json", "as_json", is_flag=True, help="End with one line of numbers for machines.")
def demo(
    files: tuple[str, ...],
    more: tuple[str, ...],
    formats: FormatDetection,
    *,
    as_json: bool,
) -> None:
    """Start a broker and two workers here, replay recorded agent sessions, and show which go in circles.

    Nothing is left behind: no process, no file. Exit status 0 when every record is accounted for.
    """
    with _lines(quiet=as_json) as write:
        screen = DemoScreen(write)
        intake = Intake()
        running = _run(_messages((*files, *more), formats, intake), screen)
        outcome = asyncio.run(_interruptible(running))
        for line in summary(outcome):
            write(line)
    report_intake(intake)
    if as_json:
        echo_json(numbers(outcome))
    if not outcome.account.scored:
        raise ConfigurationError(
            "Nothing was scored: every record went to the dead letters or was a duplicate. Check the files "
            "and --format."
        )
    if outcome.account.lost:
        raise click.exceptions.Exit(1)
