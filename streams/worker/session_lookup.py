"""The present state of a session, for those who ask the worker that has it."""

from __future__ import annotations

from typing import Any

from streams.core.errors import DamagedStateError
from streams.core.policy.standing import standing
from streams.worker.health.liveness import Health
from streams.worker.sessions_app import SessionsApp


class SessionLookup:
    """Reads the state of sessions. Changes nothing, and sees them as their last finished epoch left them.

    Args:
        app: The worker's.
        health: Tells whether its state is there.
    """

    def __init__(self, app: SessionsApp, health: Health) -> None:
        self._app = app
        self._health = health

    def __call__(self, session_id: str) -> tuple[int, dict[str, Any]]:
        """Return the HTTP status and body: `streams.core.policy.standing.standing` with the session's id."""
        ready = self._health.ready()
        if not ready.ok:
            return 503, {"problem": f"the worker is not ready: {ready.detail}"}
        sessions = self._app.sessions
        try:
            found = sessions.find(session_id)
        except DamagedStateError as error:
            self._app.restore_again(error)
            return 503, {"problem": f"the worker is not ready: {error}"}
        if found is None:
            partitions = ", ".join(map(str, sorted(sessions.stores.opened()))) or "none"
            problem = f"no such session in the partitions of this worker: {partitions}. Ask the other workers"
            return 404, {"problem": problem}
        partition, session = found
        settings = sessions.ledger(partition).newest.settings
        return 200, {"session_id": session_id, **standing(session, settings)}
