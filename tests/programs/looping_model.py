"""A model on the loopback that makes the same call again and again until it reads that it goes in circles.

It speaks the interfaces that coding agents use: Messages of Anthropic, Responses and Chat Completions of
OpenAI, and generateContent of Gemini.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

TOLD: Final = "seems to go in circles"
GIVES_UP: Final = "I go in circles, so I ask you what to do."
MOST_CALLS: Final = 60
COMMAND: Final = "cat no-such-file"

#: The tool that runs a command, by the names that programs give it, and its argument.
_TOOLS: Final[Mapping[str, Callable[[], dict[str, Any]]]] = {
    "Bash": lambda: {"command": COMMAND, "description": "Read the file"},
    "bash": lambda: {"command": COMMAND, "description": "Read the file"},
    "exec_command": lambda: {"cmd": COMMAND},
    "shell": lambda: {"command": ["sh", "-c", COMMAND]},
    "shell_command": lambda: {"command": COMMAND},
    "run_shell_command": lambda: {"command": COMMAND, "description": "Read the file"},
}

#: What the Gemini CLI asks beside its work: how hard the task is, and so which model is to do it.
_CHOICE: Final = {
    "complexity_reasoning": "short",
    "complexity_score": 1,
    "reasoning": "",
    "model_choice": "flash",
}


class LoopingModel(ThreadingHTTPServer):
    """The server.

    Attributes:
        calls: how many calls of a tool it has asked for.
        heeds: whether it stops once it is told.
        seen: the bodies of the requests, as text.
        during: what happens before an answer, by the number of calls before it.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.calls = 0
        self.heeds = True
        self.seen: list[str] = []
        self.during: dict[int, Callable[[], object]] = {}

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def was_told(self) -> bool:
        """Whether it has read that it goes in circles."""
        return any(TOLD in each for each in self.seen)

    def next_call(self, body: str, tools: list[str]) -> tuple[str, dict[str, Any]] | None:
        """Return the tool to call next and its arguments; None if the model has come to an end."""
        self.seen.append(body)
        tool = next((each for each in tools if each in _TOOLS), None)
        if tool is None or self.calls >= MOST_CALLS or (self.heeds and TOLD in body):
            return None
        if self.calls in self.during:
            self.during.pop(self.calls)()
        self.calls += 1
        return tool, _TOOLS[tool]()


@contextmanager
def looping_model() -> Iterator[LoopingModel]:
    """Answer for as long as the block lasts."""
    with LoopingModel() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LoopingModel

    def do_HEAD(self) -> None:
        self._answer(404, "text/plain", b"")

    def do_GET(self) -> None:
        models = {"object": "list", "data": [{"id": "stub", "object": "model"}]}
        is_models = self.path.split("?")[0].endswith("/models")
        self._answer(200 if is_models else 404, "application/json", json.dumps(models).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode("utf-8", "replace")
        path = self.path.split("?")[0]
        asked = json.loads(body or "{}")
        if path.endswith("count_tokens"):
            self._answer(200, "application/json", b'{"input_tokens": 1}')
        elif path.endswith(":countTokens"):
            self._answer(200, "application/json", b'{"totalTokens": 1}')
        elif path.endswith("/messages"):
            self._messages(asked, body)
        elif path.endswith("/responses"):
            self._responses(asked, body)
        elif path.endswith("/chat/completions"):
            self._chat(asked, body)
        elif "enerateContent" in path:
            self._gemini(asked, body, streams="stream" in path)
        else:
            self._answer(404, "application/json", b"{}")

    def _messages(self, asked: dict[str, Any], body: str) -> None:
        found = self.server.next_call(body, [tool.get("name", "") for tool in asked.get("tools", ())])
        number = self.server.calls
        if found is None:
            block: dict[str, Any] = {"type": "text", "text": GIVES_UP}
        else:
            block = {"type": "tool_use", "id": f"toolu_{number:04}", "name": found[0], "input": found[1]}
        stop = "end_turn" if found is None else "tool_use"
        message = {
            "id": f"msg_{len(self.server.seen)}",
            "type": "message",
            "role": "assistant",
            "model": asked.get("model"),
            "content": [block],
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 10},
        }
        if not asked.get("stream"):
            self._answer(200, "application/json", json.dumps(message).encode())
            return
        if found is None:
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": GIVES_UP}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(found[1])}
        self._events(
            [
                {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
                {"type": "content_block_start", "index": 0, "content_block": empty},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {
                    "type": "message_delta",
                    "delta": {"stop_reason": stop, "stop_sequence": None},
                    "usage": {"output_tokens": 10},
                },
                {"type": "message_stop"},
            ]
        )

    def _responses(self, asked: dict[str, Any], body: str) -> None:
        found = self.server.next_call(body, [tool.get("name", "") for tool in asked.get("tools", ())])
        number = len(self.server.seen)
        if found is None:
            text = {"type": "output_text", "text": GIVES_UP, "annotations": []}
            item: dict[str, Any] = {
                "id": f"msg_{number}",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [text],
            }
        else:
            item = {
                "id": f"fc_{number}",
                "type": "function_call",
                "call_id": f"call_{number}",
                "name": found[0],
                "arguments": json.dumps(found[1]),
                "status": "completed",
            }
        usage = {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 110,
        }
        response = {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 1,
            "model": asked.get("model"),
            "status": "completed",
            "output": [item],
            "usage": usage,
        }
        if not asked.get("stream"):
            self._answer(200, "application/json", json.dumps(response).encode())
            return
        begun = {**response, "status": "in_progress", "output": [], "usage": None}
        self._events(
            [
                {"type": "response.created", "sequence_number": 0, "response": begun},
                {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": item},
                {"type": "response.output_item.done", "sequence_number": 2, "output_index": 0, "item": item},
                {"type": "response.completed", "sequence_number": 3, "response": response},
            ]
        )

    def _chat(self, asked: dict[str, Any], body: str) -> None:
        names = [(tool.get("function") or {}).get("name", "") for tool in asked.get("tools") or ()]
        found = self.server.next_call(body, names)
        number = len(self.server.seen)
        message: dict[str, Any] = {"role": "assistant", "content": GIVES_UP}
        if found is not None:
            function = {"name": found[0], "arguments": json.dumps(found[1])}
            call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        reason = "stop" if found is None else "tool_calls"
        about = {"id": f"chat_{number}", "created": 1, "model": asked.get("model") or "stub"}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        if not asked.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            whole = {**about, "object": "chat.completion", "choices": [choice], "usage": usage}
            self._answer(200, "application/json", json.dumps(whole).encode())
            return
        kind = {"object": "chat.completion.chunk"}
        said = {**about, **kind, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}
        ended = {
            **about,
            **kind,
            "choices": [{"index": 0, "delta": {}, "finish_reason": reason}],
            "usage": usage,
        }
        text = "".join(f"data: {json.dumps(each)}\n\n" for each in (said, ended)) + "data: [DONE]\n\n"
        self._answer(200, "text/event-stream", text.encode())

    def _gemini(self, asked: dict[str, Any], body: str, *, streams: bool) -> None:
        names = [
            function.get("name", "")
            for tool in asked.get("tools") or ()
            for function in tool.get("functionDeclarations") or ()
        ]
        is_chosen = "responseJsonSchema" in (asked.get("generationConfig") or {})
        found = None if is_chosen else self.server.next_call(body, names)
        part: dict[str, Any] = {"text": json.dumps(_CHOICE) if is_chosen else GIVES_UP}
        if found is not None:
            part = {"functionCall": {"name": found[0], "args": found[1]}}
        answer = {
            "candidates": [
                {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
            ],
            "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110},
            "modelVersion": "stub",
        }
        if streams:
            self._answer(200, "text/event-stream", f"data: {json.dumps(answer)}\n\n".encode())
        else:
            self._answer(200, "application/json", json.dumps(answer).encode())

    def _events(self, events: list[dict[str, Any]]) -> None:
        text = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
        self._answer(200, "text/event-stream", text.encode())

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Say nothing of each request."""
