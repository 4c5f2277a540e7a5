"""`eddy send`: decision logs by hand."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import click
import orjson

from streams.cli.text.screen import echo
from streams.cli.variables import brokers_option
from streams.core.domain.record import Outgoing, Record
from streams.core.domain.settings.general import GeneralSettings
from streams.core.domain.text.figures import count
from streams.core.domain.text.printable import printable
from streams.core.domain.topic import Topic
from streams.core.domain.validation import explained, problems
from streams.core.errors import ConfigurationError
from streams.kafka.client import connect
from streams.observe.settings import CommandSettings, load
from streams.worker.endpoints import connection

#: What a record has that leaves these out.
_FILLED: Final[Mapping[str, Mapping[str, Any]]] = {
    "identity": {"agent_id": "by-hand", "agent_type": "test"},
    "action": {"status": "success"},
}
_STEP_MS: Final = 1_000


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@click.option(
    "--times", type=click.IntRange(1, 10_000), default=1, show_default=True, help="How often each is sent."
)
@brokers_option
def send(*, file: str, times: int, bootstrap_servers: str | None) -> None:
    """Send decision logs of your own, such as a loop to try things with.

    FILE, or - for standard input, has a JSON object on each line. A record needs a session_id. An event id,
    a time, an agent and a status are filled in where they are missing, and repeats get ids of their own, a
    second apart. What Eddy will not accept is sent all the same, and said: so dead letters can be tried, too.
    `eddy ingest` reads the logs of agents.

    \b
    Exit codes: 0 they are sent, 2 a line is no record of a session, 3 the
    brokers do not answer.

    \b
    Examples:
      echo '{"session_id": "s-1", "action": {"tool_call": "search"}}' |
        eddy send - --times 6
      eddy send records.jsonl
    """  # noqa: D301
    now_ms = time.time_ns() // 1_000_000
    records = list(_records(file, times, now_ms))
    for said in _refusals(records, now_ms):
        echo(said, err=True)
    asyncio.run(_send(records, now_ms, bootstrap_servers))


def _records(file: str, times: int, now_ms: int) -> Iterator[dict[str, Any]]:
    """Yield what is sent.

    Raises:
        ConfigurationError: the file cannot be read, or a line is no record.
    """
    try:
        with click.open_file(file, "rb") as lines:
            for number, line in enumerate(lines, 1):
                yield from _repeated(number, line, times, now_ms)
    except OSError as error:
        raise ConfigurationError(f"{printable(file, 200)} cannot be read: {error.strerror}.") from error


def _repeated(number: int, line: bytes, times: int, now_ms: int) -> Iterator[dict[str, Any]]:
    """Yield what is sent of a line.

    Raises:
        ConfigurationError: it is no JSON object with a session_id.
    """
    if not line.strip():
        return
    try:
        fields = orjson.loads(line)
    except ValueError as error:
        raise ConfigurationError(f"Line {number} is no JSON: {error}.") from error
    if not isinstance(fields, dict) or not isinstance(fields.get("session_id"), str):
        raise ConfigurationError(f"Line {number} is no JSON object with a session_id.")
    for repeat in range(times):
        # The newest is of now: what is ahead of the brokers' clock is not accepted.
        yield _filled(fields, repeat, now_ms - (times - 1 - repeat) * _STEP_MS)


def _filled(fields: Mapping[str, Any], repeat: int, timestamp: int) -> dict[str, Any]:
    """Return a repeat of a record, with what it leaves out."""
    found = {"event_id": uuid.uuid4().hex, **fields}
    defaults = {"meta": {"trace_id": fields["session_id"], "timestamp": timestamp}, **_FILLED}
    for name, values in defaults.items():
        part = fields.get(name, {})
        found[name] = {**values, **part} if isinstance(part, dict) else part
    if repeat and "event_id" in fields:
        found["event_id"] = f"{fields['event_id']}-{repeat}"
    match fields.get("meta"):
        case {"timestamp": int(given)}:
            found["meta"]["timestamp"] = given + repeat * _STEP_MS
    return found


def _refusals(records: Iterable[Mapping[str, Any]], now_ms: int) -> Iterator[str]:
    """Yield a sentence for each session of which a record will be a dead letter."""
    told: set[str] = set()
    for value in records:
        session_id = value["session_id"]
        if session_id not in told and (wrong := problems(value)):
            told.add(session_id)
            why = explained(wrong, Record(0, 0, session_id, now_ms, value), GeneralSettings())
            yield f"{printable(session_id, 60) or 'A record'} will be a dead letter: {why}."


async def _send(records: Iterable[Mapping[str, Any]], now_ms: int, bootstrap_servers: str | None) -> None:
    settings = load(CommandSettings, bootstrap_servers=bootstrap_servers)
    async with connect(connection(settings)) as brokers:
        topic = brokers.topic(Topic.DECISION_LOGS)
        outgoing = [
            (None, Outgoing(each["session_id"].encode("utf-8", "replace"), orjson.dumps(each), now_ms))
            for each in records
        ]
        places = await brokers.write(topic, outgoing)
    newest: dict[int, int] = {}
    for partition, offset in places:
        newest[partition] = max(offset, newest.get(partition, 0))
    where = ", ".join(f"{topic}[{each}] up to offset {offset}" for each, offset in sorted(newest.items()))
    echo(f"{count(len(places), 'record')} sent: {where or 'there was none'}.")
