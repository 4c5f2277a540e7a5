"""Commands as tests write them, and a channel within the process."""

import queue
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from eddy_client.guard.channel import Heard
from eddy_client.guard.command import Command

HOUR_MS = 3_600_000


def command(action: str, number: int, **fields: Any) -> Command:
    """Return a command for the session s-1, the ``number``-th of its partition."""
    plain: dict[str, Any] = {
        "command_id": f"c-{number}",
        "scope": "session",
        "target": "s-1",
        "issued_at": 0,
        "expires_at": HOUR_MS,
        "on_timeout": "resume",
        "message": "think of something else",
        "steps_budget": None,
        "tokens_budget": None,
        "reason": "it goes in circles",
        "origin": "ana",
        "offset": number,
    }
    return Command(action=action, **{**plain, **fields})


class LocalChannel:
    """A channel to a test. Set `broken` and it fails as if nobody answered; it then returns `unsent`."""

    def __init__(self) -> None:
        self.incoming: queue.SimpleQueue[Heard] = queue.SimpleQueue()
        self.acks: list[Mapping[str, Any]] = []
        self.unsent: list[Mapping[str, Any]] = []
        self.is_current = True
        self.heard_at = time.monotonic()
        self.broken = False
        self.watched: Collection[tuple[str, str | None]] = ()

    def knows(self, session_id: str) -> bool:
        del session_id
        return self.is_current

    def watch(self, sessions: Collection[tuple[str, str | None]]) -> None:
        self.watched = sessions

    def step(self, within: float) -> Sequence[Heard]:
        if self.broken:
            raise OSError("nobody answers")
        self.heard_at = time.monotonic()
        try:
            return [self.incoming.get(timeout=min(within, 0.02))]
        except queue.Empty:
            return []

    def send(self, acks: Sequence[Mapping[str, Any]]) -> None:
        if self.broken:
            raise OSError("nobody answers")
        self.acks += acks

    def close(self, within: float) -> Sequence[Mapping[str, Any]]:
        del within
        unsent, self.unsent = self.unsent, []
        return unsent

    def statuses(self, command_id: str) -> list[str]:
        return [ack["status"] for ack in self.acks if ack["command_id"] == command_id]
