"""A model of LangChain that answers from a script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from tests.guard.work import CALLS, DONE


class StubChat(BaseChatModel):
    """Calls `work` until there are results enough.

    Attributes:
        prompts: the system prompt of each call of the model.
        during: what happens while the model answers, by the number of its answer.
    """

    prompts: list[str] = Field(default_factory=list)
    during: dict[int, Callable[[], object]] = Field(default_factory=dict)

    @property
    def _llm_type(self) -> str:
        return "stub"

    def bind_tools(self, *_tools: Any, **_options: Any) -> StubChat:
        return self

    def _generate(self, messages: list[BaseMessage], *_given: Any, **_options: Any) -> ChatResult:
        self.prompts.append("\n".join(each.text for each in messages if each.type == "system"))
        number = sum(isinstance(each, ToolMessage) for each in messages)
        if number in self.during:
            self.during[number]()
        calls = [{"name": "work", "args": {"number": number}, "id": f"call-{number}"}]
        answer = AIMessage("", tool_calls=calls) if number < CALLS else AIMessage(DONE)
        return ChatResult(generations=[ChatGeneration(message=answer)])
