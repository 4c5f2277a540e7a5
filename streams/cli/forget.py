"""`eddy forget`: have sessions forgotten, and say what stays of them and for how long."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import click
import orjson

from schemas.numbers import CONTROL_SUBJECTS
from streams.cli.command_group import PROBLEM_FOUND
from streams.cli.session import issuer, new_id, now_ms
from streams.cli.settings_change import AS_JSON, BOOTSTRAP
from streams.cli.text.screen import echo, echo_json, echo_lines, status
from streams.control.audit import AuditKind, AuditRecord, Result
from streams.control.publisher import CommandPublisher
from streams.core.domain.text.figures import count, rfc3339
from streams.core.domain.text.printable import printable
from streams.core.domain.topic import Topic
from streams.kafka.client import connect
from streams.observe.settings import CommandSettings, load
from streams.operate.erasure import TOGETHER, Eraser, ErasureChoice, Orders, SessionTraces
from streams.operate.retention import TopicRemainder
from streams.worker.endpoints import connection, open_codec

_SHOWN: Final = 20
_LETTERS_SHOWN: Final = 5


class ForgottenSessions(NamedTuple):
    """How it ended: the name of the order, the sessions of which workers confirmed it, and what stays."""

    order: str
    confirmed: frozenset[str]
    remains: Sequence[TopicRemainder] | None


@click.command()
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@click.option("--agent", metavar="ID", help="Every session that this agent is known to be in.")
@click.option(
    "--before", type=click.DateTime(["%Y-%m-%d"]), help="Sessions without a record since that day (UTC)."
)
@click.option("--why", default="", metavar="TEXT", help="For the audit.")
@click.option("--dry-run", is_flag=True, help="Show what would be forgotten; send nothing.")
@click.option("--yes", is_flag=True, help="Do not ask. Needed where there is no terminal.")
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(0.0, 3_600.0),
    default=60.0,
    show_default=True,
    help="Seconds to wait for the next word of a worker.",
)
@AS_JSON
@BOOTSTRAP
def forget(
    *,
    sessions: tuple[str, ...],
    agent: str | None,
    before: datetime | None,
    why: str,
    dry_run: bool,
    yes: bool,
    wait_s: float,
    as_json: bool,
    bootstrap_servers: str | None,
) -> None:
    """Forget sessions: their state, what compacted topics hold of them, their labels, their rows in consoles.

    The worker that has a session forgets it, between the records before the order and those behind it. A
    record that comes later begins a new session. What is written by time stays until its time is over: a
    report says on which topics, and until when. It needs EDDY_APPLICATION_ID as the workers have it.

    It may be repeated, and goes on where it was stopped. The audit has the digests of the sessions, not
    their names: write none into --why.

    \b
    Exit codes: 0 they are forgotten, or none is like that, 1 workers have not
    confirmed it in time, or some entries could not be read, 2 wrong usage, 3 the
    brokers do not answer.

    \b
    Examples:
      eddy forget s-17 s-18 --dry-run
      eddy forget --agent coder-7 --before 2026-01-31 --why "request 114"
    """  # noqa: D301
    if bool(sessions) == (agent is not None or before is not None):
        raise click.UsageError("Say which sessions: their names, or --agent, --before, or both of these.")
    if not dry_run and not yes and not sys.stdin.isatty():
        raise click.UsageError("There is no terminal to ask: add --yes, or --dry-run to look first.")
    before_ms = None if before is None else int(before.replace(tzinfo=UTC).timestamp() * 1000)
    choice = ErasureChoice(frozenset(sessions), agent, before_ms)
    is_done = asyncio.run(_forget(choice, _Wishes(why, dry_run, yes, wait_s, as_json), bootstrap_servers))
    if not is_done:
        raise click.exceptions.Exit(PROBLEM_FOUND)


class _Wishes(NamedTuple):
    why: str
    dry_run: bool
    yes: bool
    wait_s: float
    as_json: bool


async def _forget(choice: ErasureChoice, wishes: _Wishes, bootstrap_servers: str | None) -> bool:
    settings = load(CommandSettings, bootstrap_servers=bootstrap_servers)
    async with connect(connection(settings)) as brokers:
        codec = await open_codec(settings, CONTROL_SUBJECTS)
        try:
            eraser = Eraser(brokers, codec, settings.job)
            status("Reading what the topics hold of them ...")
            found, unreadable = await eraser.find(choice)
            status("")
            if wishes.as_json:
                for each in found:
                    echo_json(_fields(each))
            else:
                echo_lines(_found_lines(found))
            if unreadable and not choice.sessions:
                echo(
                    f"{count(unreadable, 'record')} could not be read: whether they are of such sessions is "
                    "not known. Is EDDY_SCHEMA_REGISTRY_URL set, and this command as new as the workers?",
                    err=True,
                )
            is_complete = not unreadable or bool(choice.sessions)
            if not found or wishes.dry_run:
                if found or wishes.as_json:
                    _show_remains(await eraser.remains(now_ms()), wishes)
                return is_complete
            if not wishes.yes and not click.confirm(f"Forget {count(len(found), 'session')}?", err=True):
                raise click.Abort
            publisher = CommandPublisher(brokers, codec, None)
            done = await carry_out(eraser, publisher, found, choice, wishes)
        finally:
            await codec.close()
    _show(done, len(found), wishes)
    return is_complete and len(done.confirmed) == len(found)


async def carry_out(
    eraser: Eraser,
    publisher: CommandPublisher,
    going: Sequence[SessionTraces],
    choice: ErasureChoice,
    wishes: _Wishes,
) -> ForgottenSessions:
    """Have sessions forgotten: audit, orders and labels, so many at a time; then see what the workers say.

    Raises:
        ConfigurationError: a topic is missing.
        InfrastructureError: the brokers failed. What was ordered is carried out; a repeat does the rest.
    """
    by, order, ends = issuer(), new_id(now_ms()), await eraser.watch()
    everywhere = await eraser.partitions()
    orders: Orders = {each.session_id: _partitions(each, everywhere, choice) for each in going}
    announced = list[tuple[AuditRecord, Sequence[SessionTraces]]]()
    for first in range(0, len(going), TOGETHER):
        part, at = going[first : first + TOGETHER], now_ms()
        request = {
            "order": order,
            "agent": choice.agent,
            "before": choice.before_ms,
            "sessions": [each.digest for each in part],
        }
        record = AuditRecord(
            id=new_id(at),
            at=at,
            who=by.name,
            via=by.via,
            kind=AuditKind.FORGET,
            target=count(len(part), "session"),
            why=wishes.why or None,
            request=orjson.dumps(request).decode(),
        )
        await publisher.audit(record)
        announced.append((record, part))
        await eraser.order({each.session_id: orders[each.session_id] for each in part}, order, at)
        await publisher.take_back((subject for each in part for subject in each.labels), at)

    def say(confirmed: int) -> None:
        status(f"{confirmed:,} of {len(going):,} sessions are forgotten ...")

    echo(f"Waiting for the workers, {wishes.wait_s:g} s for the next word of one.", err=True)
    say(0)
    confirmed = await eraser.confirmed(orders, order, ends, wishes.wait_s, say)
    status("")
    for record, part in announced:
        # What no worker has confirmed may be done any time: the audit has no result of it.
        if confirmed.issuperset(each.session_id for each in part):
            await publisher.audit(record.ended(Result.ACCEPTED))
    return ForgottenSessions(order, confirmed, await eraser.remains(now_ms()))


def _partitions(traces: SessionTraces, everywhere: range, choice: ErasureChoice) -> dict[int, bool]:
    """Return where the order goes, and whether something of the session was found there."""
    found = traces.partitions.intersection(everywhere)
    # More may be there than shows of a session that was named.
    asked = everywhere if choice.sessions or not found else sorted(found)
    return {partition: partition in found for partition in asked}


def _fields(traces: SessionTraces) -> dict[str, Any]:
    return {
        "session_id": traces.session_id,
        "sha256": traces.digest,
        "partitions": sorted(traces.partitions),
        "agents": sorted(traces.agents),
        "last": rfc3339(traces.last_ms) if traces.last_ms else None,
        "found_on": traces.found_on,
        "dead_letters": [f"{partition}:{offset}" for partition, offset in traces.letters],
    }


def _found_lines(found: Sequence[SessionTraces]) -> Iterator[str]:
    """Yield what was found of each session, of the first ones if there are many."""
    if not found:
        yield "No session is like that: there is nothing to forget."
    for each in found[:_SHOWN]:
        name = printable(each.session_id, 200)
        if not each.found_on:
            yield (
                f"{name}: nothing of it shows. A state may not be written yet (EDDY_CHECKPOINT_S), and "
                "consoles may have rows: the order goes to every partition."
            )
        else:
            agents = ", ".join(printable(agent, 80) for agent in sorted(each.agents)) or "no agent"
            last = f", last seen {rfc3339(each.last_ms)}" if each.last_ms else ""
            where = ", ".join(f"{topic} {number}" for topic, number in each.found_on.items())
            yield f"{name}: {agents}{last}. Found on {where}."
        if each.letters:
            places = " ".join(f"{partition}:{offset}" for partition, offset in each.letters[:_LETTERS_SHOWN])
            more = len(each.letters) - _LETTERS_SHOWN
            yield f"  Dead letters, which stay: {places}{f' and {more:,} more' if more > 0 else ''}."
    if len(found) > _SHOWN:
        yield f"And {len(found) - _SHOWN:,} more; --json lists them all."


def _show(done: ForgottenSessions, going: int, wishes: _Wishes) -> None:
    if wishes.as_json:
        echo_json(
            {
                "order": done.order,
                "sessions": going,
                "confirmed": len(done.confirmed),
                "remains": _remaining_fields(done.remains),
            }
        )
        return
    missing = going - len(done.confirmed)
    echo(f"Forgotten: {len(done.confirmed):,} of {count(going, 'session')}. The order is {done.order}.")
    if missing:
        echo(
            f"No worker has confirmed {count(missing, 'session')} within {wishes.wait_s:g} s. The orders "
            f"stand on {Topic.DECISION_LOGS}: a worker carries them out when it reads them. `eddy doctor` "
            "says whether workers run and how far behind they are. Then repeat this command. A worker before "
            "0.2 makes dead letters of the orders (null_value).",
            err=True,
        )
    _show_remains(done.remains, wishes)


def _show_remains(remains: Sequence[TopicRemainder] | None, wishes: _Wishes) -> None:
    if wishes.as_json:
        if wishes.dry_run:
            echo_json({"remains": _remaining_fields(remains)})
        return
    echo()
    echo_lines(_remaining_lines(remains))


def _remaining_lines(remains: Sequence[TopicRemainder] | None) -> Iterator[str]:
    """Yield how long topics keep what was written, those with one end on one line."""
    if remains is None:
        yield "The brokers do not show this user how long topics keep what is written: allow DescribeConfigs."
        return
    yield "What is written by now stays on these topics, by their settings until:"
    yield from _by_end(each for each in remains if not each.is_deleted)
    yield "What is deleted is gone for readers. Its bytes, and tombstones with the id, stay on these until:"
    yield from _by_end(each for each in remains if each.is_deleted)
    if any(each.is_deleted and each.is_known and each.until_ms is None for each in remains):
        yield "  (max.compaction.lag.ms on these topics sets a limit.)"
    yield (
        "Not touched: agents' own logs, files of `eddy ingest`, messages sent to chats and pagers, and ids "
        "of sessions that handed work to one another (aggregates' changelog, until others take their place)."
    )


def _by_end(remains: Iterable[TopicRemainder]) -> Iterator[str]:
    ends: dict[str, list[str]] = {}
    for each in remains:
        no_limit = "no limit is set" if each.is_known else "not known, or no such topic"
        until = no_limit if each.until_ms is None else rfc3339(each.until_ms)
        ends.setdefault(until, []).append(each.topic)
    for until, topics in ends.items():
        yield f"  {until}: {', '.join(topics)}"


def _remaining_fields(remains: Sequence[TopicRemainder] | None) -> list[dict[str, Any]] | None:
    if remains is None:
        return None
    return [
        {
            "topic": each.topic,
            "until": None if each.until_ms is None else rfc3339(each.until_ms),
            "bytes_only": each.is_deleted,
            "known": each.is_known,
        }
        for each in remains
    ]
