"""What the records of the agents have to say, for each SDK."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from tests.sources.script import ANSWER, REPEATS, SCRIPTS


class Sdk(NamedTuple):
    """What the spans of an SDK say.

    Attributes:
        name: of the case.
        program: a module of `tests/sources/agents`, without `run_`.
        agent: the name of the agent.
        error: of the call that fails.
        answers: what the agent says at the end.
        bare: whether an only argument is its bare text.
        variables: of the environment, that change what is exported.
    """

    name: str
    program: str
    agent: str
    error: str = "cannot read config/settings.toml: permission denied"
    answers: tuple[str, ...] = (ANSWER,)
    bare: bool = False
    variables: tuple[tuple[str, str], ...] = ()

    def session(self, script: str) -> str:
        """Return the session of the agent that follows a script."""
        return f"{self.name}-{script}"


_NEWEST = ("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")

SDKS = [
    Sdk("pydantic-ai", "pydantic_ai", agent="coder"),
    # Only the span that ends last names the agent. The error is hidden, and each text comes twice.
    Sdk(
        "openai-agents",
        "openai_agents",
        agent="openai-agents",
        error="An error occurred while running the tool. Please try again.",
        answers=(f"{ANSWER}\n{ANSWER}",),
    ),
    Sdk("langgraph", "langgraph", agent="coder", bare=True),
    # By its default conventions, the last words stand in an event that means something else elsewhere.
    Sdk("strands", "strands", agent="strands", answers=()),
    Sdk("strands-newest", "strands", agent="strands", variables=(_NEWEST,)),
]


def by_session(values: Iterable[Any]) -> dict[str, list[Any]]:
    """Return records, or what was said of them, by their sessions."""
    sessions = defaultdict(list)
    for value in values:
        sessions[value["session_id"]].append(value)
    return sessions


def check(sdk: Sdk, records: Iterable[Any]) -> None:
    """Fail if the records do not say what the agents did."""
    sessions = by_session(records)
    assert sessions.keys() == {sdk.session(script) for script in SCRIPTS}
    for script, calls in SCRIPTS.items():
        found = sessions[sdk.session(script)]
        steps = [each["action"] for each in found if each["action"]["kind"] == "tool"]
        assert [each["tool_call"] for each in steps] == [call.tool for call in calls]
        given = [each["tool_input"] if sdk.bare else json.loads(each["tool_input"]) for each in steps]
        arguments = [next(iter(call.arguments.values())) if sdk.bare else call.arguments for call in calls]
        assert given == arguments
        last = [each["cognition"]["intent"] for each in found if each["action"]["kind"] == "llm"]
        assert last == list(sdk.answers)
        assert {each["identity"]["agent_id"] for each in found} == {sdk.agent}
        assert {each["state_delta"]["tokens_consumed"] for each in found} == {120}
    failed = [each["action"] for each in sessions[sdk.session("loops")][:REPEATS]]
    assert {(each["status"], each["error"]) for each in failed} == {("failure", sdk.error)}
