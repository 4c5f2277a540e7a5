"""An operator in the process of the agent. Commands go through a guard as they do from Kafka."""

from __future__ import annotations

import queue
import threading
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from eddy_client.guard import Guard, GuardedSession, Note
from eddy_client.guard.command import Command

SESSION: Final = "s-1"

_PATIENCE_S: Final = 60
_TTL_MS: Final = 3_600_000


class Wire:
    """A channel of a guard that an operator holds the other end of.

    Attributes:
        acks: what the guard has acknowledged.
        is_up: whether the guard can use it.
        taken: how many commands the guard has taken.
    """

    is_current = True

    def __init__(self) -> None:
        self.commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self.taken = 0
        self._given = 0
        self.acks: list[Mapping[str, Any]] = []
        self.is_up = True
        self.changed = threading.Condition()

    @property
    def heard_at(self) -> float:
        return time.monotonic()

    def knows(self, session_id: str) -> bool:
        return self.is_current

    def watch(self, sessions: Collection[tuple[str, str | None]]) -> None:
        if not self.is_up:
            raise ConnectionError("The wire is cut.")

    def step(self, within: float) -> Sequence[Command]:
        with self.changed:
            self.taken = self._given
            self.changed.notify_all()
        try:
            command = self.commands.get(timeout=min(within, 0.02))
        except queue.Empty:
            return []
        self._given += 1
        return [command]

    def send(self, acks: Sequence[Mapping[str, Any]]) -> None:
        with self.changed:
            self.acks.extend(acks)
            self.changed.notify_all()

    def close(self, within: float) -> Sequence[Mapping[str, Any]]:
        """End: nothing is held open."""
        return ()


class Watched:
    """A guarded session that counts the checks which found it paused.

    Attributes:
        waits: how many there were.
    """

    def __init__(self, session: GuardedSession, changed: threading.Condition) -> None:
        self._session, self._changed = session, changed
        self.waits = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def __setattr__(self, name: str, value: Any) -> None:
        target = self._session if name in {"checkpoint", "integration"} else super()
        target.__setattr__(name, value)

    def check(self, tool: str | None = None, *, notes: bool = True) -> Sequence[Note]:
        self._count()
        return self._session.check(tool, notes=notes)

    async def acheck(self, tool: str | None = None, *, notes: bool = True) -> Sequence[Note]:
        self._count()
        return await self._session.acheck(tool, notes=notes)

    def _count(self) -> None:
        if self._session.peek().level == "paused":
            with self._changed:
                self.waits += 1
                self._changed.notify_all()


class Operator:
    """Commands a session, and waits until the guard has the command.

    Args:
        session_id: the session.
        options: of the guard.

    Attributes:
        guard: the guard of the agent's process.
        session: the guarded session.
        reason: why the operator does what it does.
    """

    reason = "It repeats itself"

    def __init__(self, session_id: str = SESSION, **options: Any) -> None:
        self.session_id = session_id
        self.wire = Wire()
        self.guard = Guard(lambda: self.wire, **options)
        self.session = Watched(self.guard.session(session_id, agent_id="worker"), self.wire.changed)
        self._place = 0
        self._helper: threading.Thread | None = None

    def close(self) -> None:
        if self._helper is not None:
            self._helper.join()
        self.session.close()
        self.guard.close()

    def release(self) -> None:
        """Let no agent wait after its test."""
        self.abort()

    def pause(self) -> str:
        return self._command("pause")

    def resume(self) -> str:
        return self._command("resume")

    def abort(self) -> str:
        return self._command("abort")

    def note(self, text: str) -> str:
        return self._command("inject_message", message=text)

    def pause_for_a_note(self, text: str) -> None:
        """Pause the session. As soon as the agent waits, a thread writes a note and resumes it."""
        paused = self.pause()

        def then() -> None:
            self.until_acknowledged(paused, "applied")
            self.note(text)
            self.resume()

        self._helper = threading.Thread(target=then)
        self._helper.start()

    def until_held(self, times: int = 1) -> None:
        """Wait until the agent waits at a check, for so many different checks."""
        self._until(lambda: self.session.waits >= times)

    def until_acknowledged(self, command_id: str, status: str) -> Mapping[str, Any]:
        """Wait for an ack, and return it."""
        found: list[Mapping[str, Any]] = []

        def there() -> bool:
            wanted = (command_id, status)
            found[:] = [ack for ack in self.wire.acks if (ack["command_id"], ack["status"]) == wanted]
            return bool(found)

        self._until(there)
        return found[0]

    def _until(self, there: Callable[[], bool]) -> None:
        with self.wire.changed:
            assert self.wire.changed.wait_for(there, _PATIENCE_S), self.wire.acks

    def _command(self, action: str, message: str = "") -> str:
        self._place += 1
        now = self.guard.now()
        command = Command(
            command_id=uuid.uuid4().hex,
            scope="session",
            target=self.session_id,
            action=action,
            issued_at=now,
            expires_at=now + _TTL_MS,
            on_timeout="resume",
            message=message,
            steps_budget=None,
            tokens_budget=None,
            reason=self.reason,
            origin="ana",
            offset=self._place,
        )
        self.wire.commands.put(command)
        self._until(lambda: self.wire.taken >= self._place)
        return command.command_id
