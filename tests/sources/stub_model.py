"""A server that answers like a model, on the loopback: chat completions, streamed or not, and responses."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from tests.sources.script import ANSWER, SCRIPTS, TOKENS, Call

_OUTPUT_TOKENS: Final = 20
_INPUT_TOKENS: Final = TOKENS - _OUTPUT_TOKENS


@contextmanager
def stub_model() -> Iterator[str]:
    """Answer for as long as the block lasts; yield the base URL of the API."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/responses":
            self._answer("application/json", json.dumps(_response(asked)))
        elif asked.get("stream"):
            chunks = [*(f"data: {json.dumps(chunk)}\n\n" for chunk in _chunks(asked)), "data: [DONE]\n\n"]
            self._answer("text/event-stream", "".join(chunks))
        else:
            self._answer("application/json", json.dumps(_completion(asked)))

    def _answer(self, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Say nothing of each request."""


def _next(model: str, results: int) -> list[tuple[Call, str]]:
    """Return the calls that follow so many results, each with its id; none at the end of the script."""
    before = 0
    for turn in SCRIPTS[model]:
        if before == results:
            return [(call, f"call_{before + number}") for number, call in enumerate(turn)]
        before += len(turn)
    return []


def _completion(asked: dict[str, Any]) -> dict[str, Any]:
    calls = _next(asked["model"], sum(each["role"] == "tool" for each in asked["messages"]))
    message: dict[str, Any] = {"role": "assistant", "content": None if calls else ANSWER}
    if calls:
        message["tool_calls"] = [_tool_call(call, call_id) for call, call_id in calls]
    finish = "tool_calls" if calls else "stop"
    return {
        **_head(asked, "chat.completion"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": _INPUT_TOKENS,
            "completion_tokens": _OUTPUT_TOKENS,
            "total_tokens": TOKENS,
        },
    }


def _chunks(asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    whole = _completion(asked)
    (choice,) = whole["choices"]
    delta = choice["message"]
    for index, call in enumerate(delta.get("tool_calls", ())):
        call["index"] = index
    head = _head(asked, "chat.completion.chunk")
    yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield {**head, "choices": [], "usage": whole["usage"]}


def _head(asked: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1_700_000_000, "model": asked["model"]}


def _tool_call(call: Call, call_id: str) -> dict[str, Any]:
    function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
    return {"id": call_id, "type": "function", "function": function}


def _response(asked: dict[str, Any]) -> dict[str, Any]:
    given = asked["input"] if isinstance(asked["input"], list) else []
    calls = _next(asked["model"], sum(each.get("type") == "function_call_output" for each in given))
    content = [{"type": "output_text", "text": ANSWER, "annotations": []}]
    items: list[dict[str, Any]] = [
        {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": call.tool}
        | {"arguments": json.dumps(call.arguments)}
        for call, call_id in calls
    ] or [{"type": "message", "id": "msg_1", "role": "assistant", "content": content}]
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_700_000_000,
        "model": asked["model"],
        "status": "completed",
        "output": [{**item, "status": "completed"} for item in items],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": _INPUT_TOKENS,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": _OUTPUT_TOKENS,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": TOKENS,
        },
    }
