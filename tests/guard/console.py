"""A console for guards that use HTTP, as far as a hook needs it: commands as events, acks by POST."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

TOKEN: Final = "the-token-of-an-agent"

_PATIENCE_S: Final = 60
_BEAT_S: Final = 5
_TTL_MS: Final = 3_600_000


class Console(ThreadingHTTPServer):
    """Keeps commands and acks of any session.

    Attributes:
        acks: what guards have acknowledged.
        reason: why the operator does what it does.
        refused: why calls of a session are refused.
        judged: how often each address of a verdict was asked.
    """

    daemon_threads = True
    reason = "It repeats itself"

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.acks: list[Mapping[str, Any]] = []
        self.commands: list[dict[str, Any]] = []
        self.refused: dict[str, str] = {}
        self.judged: Counter[str] = Counter()
        self.changed = threading.Condition()
        self.ends = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def command(self, session_id: str, action: str, message: str | None = None) -> str:
        """Command a session."""
        now = time.time_ns() // 1_000_000
        fields = {
            "command_id": uuid.uuid4().hex,
            "scope": "session",
            "session_id": session_id,
            "agent_id": None,
            "action": action,
            "issued_at": now,
            "expires_at": now + _TTL_MS,
            "on_timeout": "resume",
            "message": message,
            "steps_budget": None,
            "tokens_budget": None,
            "reason": self.reason,
            "issuer": {"name": "ana"},
        }
        with self.changed:
            self.commands.append({"fields": fields, "partition": 0, "offset": len(self.commands)})
            self.changed.notify_all()
        return str(fields["command_id"])

    def release(self) -> None:
        """Let no agent wait after its test."""
        for session_id in {command["fields"]["session_id"] for command in self.commands}:
            self.command(session_id, "abort")

    def until_acknowledged(self, command_id: str, status: str) -> None:
        """Wait for an ack."""
        wanted = (command_id, status)
        self.until(lambda: wanted in [(ack["command_id"], ack["status"]) for ack in self.acks])

    def until(self, there: Callable[[], bool]) -> None:
        """Wait for what a command or an ack changes."""
        with self.changed:
            assert self.changed.wait_for(there, _PATIENCE_S), self.acks

    def until_more(self, sent: int) -> None:
        """Wait for a command, or for the time of the next event."""
        with self.changed:
            self.changed.wait_for(lambda: self.ends or len(self.commands) > sent, _BEAT_S)

    def was_handed_over(self, command_id: str) -> bool:
        return (command_id, "applied") in [(ack["command_id"], ack["status"]) for ack in self.acks]


@contextmanager
def console() -> Iterator[Console]:
    """Serve for as long as the block lasts."""
    with Console() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            with server.changed:
                server.ends = True
                server.changed.notify_all()
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Console

    def do_GET(self) -> None:
        assert self.headers["Authorization"] == f"Bearer {TOKEN}"
        if self.path.startswith("/sessions/"):
            self._verdict()
            return
        (session_id,) = parse_qs(urlsplit(self.path).query)["session"]
        with suppress(OSError):  # the hook has ended
            self._stream(session_id)

    def _verdict(self) -> None:
        self.server.judged[self.path] += 1
        why = self.server.refused.get(urlsplit(self.path).path.split("/")[2])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"allow": why is None, "why": why}).encode())

    def _stream(self, session_id: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for command in self.server.commands:
            if command["fields"]["action"] == "inject_message":
                command_id = command["fields"]["command_id"]
                if self.server.was_handed_over(command_id):
                    self._event("given", {"session_id": session_id, "command_id": command_id})
        sent = 0
        while not self.server.ends:
            for command in self.server.commands[sent:]:
                sent += 1
                if command["fields"]["session_id"] == session_id:
                    self._event("command", command)
            self._event("current", {})
            self.server.until_more(sent)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.changed:
            self.server.acks += asked["acks"]
            self.server.changed.notify_all()
        self.send_response(204)
        self.end_headers()

    def _event(self, event: str, data: Mapping[str, Any]) -> None:
        self.wfile.write(f"event: {event}\ndata: {json.dumps(data)}\n\n".encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Say nothing of each request."""
