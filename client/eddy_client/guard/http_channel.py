"""Commands from a console and acks to it, by HTTP: server-sent events and POST, with the standard library."""

from __future__ import annotations

import json
import logging
import os
import queue
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from eddy_client.guard.channel import AlreadyApplied, Heard
from eddy_client.guard.command import Command
from eddy_client.rare_log import RareLog

log = logging.getLogger("eddy_client.guard.acks")
log.addFilter(RareLog())

_SILENT_S = 25.0
"""A console says something every ten seconds: after so long without, the connection is dead."""

_IDLE_S = 0.05
_POST_S = 10.0
_MOST_SAID = 4_000

_FOR_GOOD = (400, 403, 413, 422)
"""What a console answers to an ack that it will not take later either."""


class HttpChannel:
    """A stream of commands for the sessions of this process, and of no others.

    Args:
        url: The console.
        token: The agent's token.

    Raises:
        ValueError: the address is not one of HTTP.
    """

    def __init__(self, url: str, token: str) -> None:
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise ValueError("The address of a console begins with http:// or https://.")
        self._url, self._token = url.rstrip("/"), token
        self._sessions: tuple[tuple[str, str | None], ...] = ()
        self._stream: _Stream | None = None
        self.heard_at = 0.0
        self.is_current = False

    def knows(self, session_id: str) -> bool:
        """Whether all that was commanded before is known for a session."""
        return self.is_current and any(known == session_id for known, _ in self._sessions)

    def watch(self, sessions: Collection[tuple[str, str | None]]) -> None:
        """Listen for these sessions. Another set begins another stream."""
        wanted = tuple(sorted(set(sessions), key=str))
        if wanted != self._sessions or self._stream is None:
            self._sessions = wanted
            if self._stream is not None:
                self._stream.close()
            self._stream = None
            self.is_current = not wanted

    def step(self, within: float) -> Sequence[Heard]:
        """Wait for so many seconds at most; return what came.

        Raises:
            OSError: the console does not answer, or refuses.
        """
        if not self._sessions:
            time.sleep(min(within, _IDLE_S))
            self.heard_at = time.monotonic()
            return ()
        if self._stream is None:
            self._stream = _Stream(self._request("/api/guard/stream", self._query()))
            self.heard_at = time.monotonic()
        found: list[Heard] = []
        for event, data in self._stream.take(within):
            self.heard_at = time.monotonic()
            if event == "command":
                found.append(Command.of(data["fields"], **_place(data)))
            elif event == "given":
                found.append(AlreadyApplied(data["session_id"], data["command_id"]))
            elif event == "current":
                self.is_current = True
        return found

    def send(self, acks: Sequence[Mapping[str, Any]]) -> None:
        """Post acks. One that the console refuses for good is left out, so that it keeps no other back.

        Raises:
            OSError: the console does not take them now.
        """
        request = self._request("/api/guard/acks", [], json.dumps({"acks": list(acks)}).encode())
        try:
            with urllib.request.urlopen(request, timeout=_POST_S) as answer:  # noqa: S310 - the user's own console
                answer.read()
        except urllib.error.HTTPError as error:
            said = _said(error)
            if error.code not in _FOR_GOOD:
                raise OSError(said) from None
            if len(acks) > 1:  # one of them may be the cause
                middle = len(acks) // 2
                self.send(acks[:middle])
                self.send(acks[middle:])
                return
            for ack in acks:
                log.warning(
                    "An acknowledgement (%s, session %.200s) is left out: %s",
                    ack["status"],
                    ack["session_id"],
                    said,
                )

    def close(self, within: float) -> Sequence[Mapping[str, Any]]:
        """End the stream. No ack waits: each was taken, or `send` has failed."""
        del within
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        return ()

    def _query(self) -> list[tuple[str, str]]:
        """Name each session and its agent, in the same order."""
        sessions = [("session", session_id) for session_id, _ in self._sessions]
        return [*sessions, *(("agent", agent or "") for _, agent in self._sessions)]

    def _request(
        self, path: str, query: Sequence[tuple[str, str]], body: bytes | None = None
    ) -> urllib.request.Request:
        address = f"{self._url}{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        return urllib.request.Request(address, body, headers)  # noqa: S310 - the user's own console


class _Stream:
    """Reads a stream in a thread of its own: a read that has timed out cannot be continued."""

    def __init__(self, request: urllib.request.Request) -> None:
        try:
            self._answer = urllib.request.urlopen(request, timeout=_SILENT_S)  # noqa: S310 - as above
        except urllib.error.HTTPError as error:
            raise OSError(_said(error)) from None
        self._found: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="eddy-guard-stream", daemon=True).start()

    def take(self, within: float) -> list[tuple[str, Any]]:
        """Return events, after so many seconds at most.

        Raises:
            OSError: the stream has ended.
        """
        found = []
        try:
            event = self._found.get(timeout=within)
            while True:
                if event[0] == "end":
                    raise OSError(event[1])
                found.append(event)
                event = self._found.get_nowait()
        except queue.Empty:
            return found

    def close(self) -> None:
        """Cut the connection: to close it would wait for the thread that reads, so for the next event."""
        with suppress(OSError, ValueError), socket.socket(fileno=os.dup(self._answer.fileno())) as same:
            same.shutdown(socket.SHUT_RDWR)

    def _read(self) -> None:
        event, data = "", ""
        try:
            for raw in self._answer:
                line = raw.decode("utf-8", "replace").rstrip("\r\n")
                if not line:
                    if event:
                        self._found.put((event, json.loads(data) if data else {}))
                    event, data = "", ""
                elif line.startswith("event:"):
                    event = line[6:].strip()
                elif line.startswith("data:"):
                    data += line[5:].strip()
            self._found.put(("end", "the console has closed the stream"))
        except (OSError, ValueError, AttributeError) as error:
            self._found.put(("end", f"the stream broke: {error!r}"))
        finally:
            self._answer.close()


def _said(error: urllib.error.HTTPError) -> str:
    """Return what a console answers, which is a problem document, or a page of something in between."""
    with error:
        body = error.read(_MOST_SAID).decode("utf-8", "replace")
    try:
        problem = json.loads(body)
        body = f"{problem['title']}. {problem['detail']} {problem['do']}"
    except (ValueError, LookupError, TypeError):
        pass
    return f"the console answers {error.code}: {body[:300].strip()}"


def _place(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "partition": data["partition"],
        "offset": data["offset"],
        "written_at": data.get("written_at", 0),
        "is_live": bool(data.get("is_live")),
        "refusal": data.get("refusal"),
    }
