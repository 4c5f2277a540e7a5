"""A model of the OpenAI Agents SDK that answers from a script."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from tests.guard.work import CALLS, DONE


class StubResponses(Model):
    """Calls `work` until there are results enough.

    Attributes:
        prompts: the instructions of each call of the model.
        results: what the model has read as results of its calls.
        during: what happens while the model answers, by the number of its answer.
    """

    def __init__(self, tool: str = "work") -> None:
        self._tool = tool
        self.prompts: list[str] = []
        self.results: list[str] = []
        self.during: dict[int, Callable[[], object]] = {}

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],  # noqa: A002 - the name is the library's
        **_options: Any,
    ) -> ModelResponse:
        self.prompts.append(system_instructions or "")
        items = input if isinstance(input, list) else []
        self.results = [each["output"] for each in items if each.get("type") == "function_call_output"]
        number = len(self.results)
        if number in self.during:
            self.during[number]()
        answer: ResponseFunctionToolCall | ResponseOutputMessage
        if number < CALLS:
            answer = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"call-{number}",
                name=self._tool,
                arguments=json.dumps({"number": number}),
            )
        else:
            text = ResponseOutputText(type="output_text", text=DONE, annotations=[])
            answer = ResponseOutputMessage(
                id="last", type="message", role="assistant", status="completed", content=[text]
            )
        return ModelResponse(output=[answer], usage=Usage(), response_id=None)

    def stream_response(self, *_given: Any, **_options: Any) -> AsyncIterator[Any]:
        raise NotImplementedError
