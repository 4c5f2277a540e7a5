"""Holds: a pause of all sessions of an agent, or of everything, that reaches those that begin later too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from streams.console.read_model.control import PRESENT_MS, newest_level
from streams.console.read_model.rows import AckRow, CommandRow, GuardRow


class Hold(NamedTuple):
    """A hold in force: the red bar of each page."""

    scope: str
    agent_id: str | None
    command_id: str
    by: str
    why: str
    since: int
    until: int
    holding: int
    guards: int


def hold_of(
    commands: Iterable[CommandRow], acks: Sequence[AckRow], present: Iterable[GuardRow], now: int
) -> Hold | None:
    """Return the hold that the commands of one agent, or of everything, add up to; None if it is over.

    Args:
        commands: those of this scope.
        acks: of the newest of them, of all sessions.
        present: guards of the sessions that it reaches.
        now: the moment, in ms.
    """
    level = newest_level(commands)
    if level is None or level.action != "pause" or now >= level.expires_at:
        return None
    holding = {(ack.session_id, ack.guard_id) for ack in acks if ack.status == "applied"}
    holding -= {(ack.session_id, ack.guard_id) for ack in acks if ack.status == "released"}
    there = {
        (each.session_id, each.guard_id)
        for each in present
        if not each.detached and each.seen > now - PRESENT_MS
    }
    return Hold(
        scope=level.scope,
        agent_id=level.agent_id,
        command_id=level.command_id,
        by=level.issuer,
        why=level.reason,
        since=level.ts,
        until=level.expires_at,
        holding=len(holding),
        guards=len(there | holding),
    )
