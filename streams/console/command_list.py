"""Every command that the console holds, with how far each has come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from streams.console.read_model.control import ANSWER_MS
from streams.console.read_model.model import ReadModel
from streams.console.read_model.rows import AckRow, CommandRow
from streams.console.view import newest_first
from streams.core.domain.topic import Topic

#: After these a command has no more effect.
_OVER: Final = ("released", "rejected", "unsupported", "failed", "superseded", "expired")


def command_list(model: ReadModel, query: Mapping[str, str], now: int) -> dict[str, Any]:
    """Return the commands that a query asks for, newest first, and the holds in force.

    Args:
        model: Read model of the console.
        query: ``session`` or ``agent``, both whole ids; ``cursor``.
        now: Time of the call, in milliseconds since 1970.

    Raises:
        ConfigurationError: the cursor is none.
    """
    session_id, agent_id = query.get("session", "").strip(), query.get("agent", "").strip()
    found = [
        (row, agent)
        for row, agent in _commands(model)
        if (not session_id or row.session_id == session_id) and (not agent_id or agent == agent_id)
    ]
    shown, paged = newest_first(
        found, lambda each: each[0].issued_at, lambda each: each[0].command_id, query.get("cursor", "")
    )
    answers = _answers(model, {row.command_id for row, _ in shown})
    return {
        "rows": [_row(row, agent, answers.get(row.command_id, ()), now) for row, agent in shown],
        **paged._asdict(),
        "holds": [hold._asdict() for hold in model.holds_in_force(now)],
    }


def _commands(model: ReadModel) -> Iterator[tuple[CommandRow, str | None]]:
    """Yield each command with the agent that it is about."""
    for case in model.cases.values():
        for row in case.commands.values():
            yield row, row.agent_id or case.session.agent_id
    for held in model.holds.values():
        for row in held.values():
            yield row, row.agent_id


def _answers(model: ReadModel, wanted: set[str]) -> dict[str, list[AckRow]]:
    found: dict[str, list[AckRow]] = {}
    for case in model.cases.values():
        for ack in case.acks.values():
            if ack.command_id in wanted:
                found.setdefault(ack.command_id, []).append(ack)
    return found


def _row(row: CommandRow, agent_id: str | None, acks: Sequence[AckRow], now: int) -> dict[str, Any]:
    said = orjson.loads(row.body)
    return {
        "command_id": row.command_id,
        "action": row.action,
        "scope": row.scope,
        "session_id": row.session_id,
        "agent_id": agent_id,
        "by": row.issuer,
        "why": row.reason,
        "message": said.get("message"),
        "issued_at": row.issued_at,
        "expires_at": row.expires_at,
        "place": {"topic": str(Topic.SESSION_COMMANDS), "partition": row.partition, "offset": row.offset},
        "stages": stages(row, acks, now),
    }


def stages(row: CommandRow, acks: Sequence[AckRow], now: int) -> list[dict[str, Any]]:
    """Return how far a command has come: asked, received, in effect, over; each with its time and guards."""
    found = [{"stage": "asked", "at": row.issued_at, "guards": 0}]
    if acks:
        found.append(_stage("received", acks))
    if applied := [ack for ack in acks if ack.status == "applied"]:
        found.append(_stage("in effect", applied))
    over = [ack for ack in acks if ack.status in _OVER]
    ends = dict.fromkeys(ack.status for ack in sorted(over, key=lambda ack: ack.at))
    found += [_stage(status, [ack for ack in over if ack.status == status]) for status in ends]
    if not acks and now >= row.issued_at + ANSWER_MS:
        found.append({"stage": "no guard answered", "at": row.issued_at + ANSWER_MS, "guards": 0})
    if not over and now >= row.expires_at and (row.action == "pause" or not applied):
        found.append({"stage": "expired", "at": row.expires_at, "guards": 0})
    return found


def _stage(name: str, acks: Iterable[AckRow]) -> dict[str, Any]:
    acks = list(acks)
    first = min(
        ack.at if ack.effective_at is None or name == "received" else ack.effective_at for ack in acks
    )
    return {"stage": name, "at": first, "guards": len({(ack.session_id, ack.guard_id) for ack in acks})}
