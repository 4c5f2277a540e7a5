"""A server that answers as the Messages API of Anthropic does, on the loopback, for the real CLI."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.guard.work import CALLS, DONE


class StubMessages(ThreadingHTTPServer):
    """Calls the only tool that is named like `work`, or else `Bash`, until there are results enough.

    Attributes:
        asked: the body of each request for an answer.
        at_once: how many calls each answer makes.
        during: what happens while the model answers, by the number of its answer.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[dict[str, Any]] = []
        self.at_once = 1
        self.during: dict[int, Callable[[], object]] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def said(self) -> str:
        """Return all that the model has read last, as JSON."""
        return json.dumps(self.asked[-1])


@contextmanager
def stub_messages() -> Iterator[StubMessages]:
    """Answer for as long as the block lasts."""
    with StubMessages() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StubMessages

    def do_HEAD(self) -> None:
        self._answer(404, "text/plain", b"")

    def do_GET(self) -> None:
        self._answer(404, "text/plain", b"")

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        if "count_tokens" in self.path:
            self._answer(200, "application/json", b'{"input_tokens": 1}')
            return
        if (number := len(self.server.asked)) in self.server.during:
            self.server.during[number]()
        self.server.asked.append(asked)
        blocks, stop = _next(asked, self.server.at_once)
        message = {
            "id": f"msg_{len(self.server.asked)}",
            "type": "message",
            "role": "assistant",
            "model": asked["model"],
            "content": blocks,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        if asked.get("stream"):
            self._answer(200, "text/event-stream", "".join(_events(message)).encode())
        else:
            self._answer(200, "application/json", json.dumps(message).encode())

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Say nothing of each request."""


def _next(asked: dict[str, Any], at_once: int) -> tuple[list[dict[str, Any]], str]:
    names = [tool.get("name", "") for tool in asked.get("tools", ())]
    done = sum(
        part["type"] == "tool_result"
        for message in asked["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
    )
    if not names or done >= CALLS:
        return [{"type": "text", "text": DONE}], "end_turn"
    name = next((name for name in names if name.endswith("work")), "Bash")
    return [
        {"type": "tool_use", "id": f"toolu_{number:04}", "name": name, "input": _input(name, number)}
        for number in range(done, done + at_once)
    ], "tool_use"


def _input(name: str, number: int) -> dict[str, Any]:
    if name == "Bash":
        return {"command": f"echo {number}", "description": "Say a number"}
    return {"number": number}


def _events(message: dict[str, Any]) -> Iterator[str]:
    def event(kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"

    yield event("message_start", message={**message, "content": [], "stop_reason": None})
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield event("content_block_start", index=index, content_block=empty)
        yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=stop, usage={"output_tokens": 1})
    yield event("message_stop")
