"""What the records of the agents have to say, for each SDK."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from tests.sources.script import ANSWER, SCRIPTS, TOKENS


class Sdk(NamedTuple):
    """An SDK with its instrumentation, and what its spans say.

    Attributes:
        name: of the case, and of the service.
        program: a module of `tests/sources/agents`, without `run_`.
        agent: the name of the agent; that of the service if it is None.
        error: of the call that fails.
        answers: what the agent says at the end.
        bare: whether an only argument is its bare text.
        named: whether the session has a name; otherwise the trace is the session, and ends.
        variables: of the environment, that change what is exported.
    """

    name: str
    program: str
    agent: str | None = "coder"
    error: str = "cannot read config/settings.toml: permission denied"
    answers: tuple[str, ...] = (ANSWER,)
    bare: bool = False
    named: bool = True
    variables: tuple[tuple[str, str], ...] = ()

    def session(self, script: str) -> str:
        """Return the session of the agent that follows a script, if it is named."""
        return f"{self.name}-{script}"


_HIDDEN = "An error occurred while running the tool. Please try again."
_TRACELOOP = (("INSTRUMENTATION", "traceloop"),)
_NEWEST = (("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental"),)

SDKS = [
    Sdk("pydantic-ai", "pydantic_ai"),
    # OpenInference says each text twice.
    Sdk("openai-agents", "openai_agents", agent=None, error=_HIDDEN, answers=(f"{ANSWER}\n{ANSWER}",)),
    Sdk(
        "openai-agents-traceloop",
        "openai_agents",
        agent=None,
        error=_HIDDEN,
        named=False,
        variables=_TRACELOOP,
    ),
    Sdk("langgraph", "langgraph", bare=True),
    Sdk("langgraph-traceloop", "langgraph", variables=_TRACELOOP),
    # By its default conventions, the last words stand in an event that means something else elsewhere.
    Sdk("strands", "strands", agent=None, answers=()),
    Sdk("strands-newest", "strands", agent=None, variables=_NEWEST),
]


def by_session(values: Iterable[Any]) -> dict[str, list[Any]]:
    """Return records, or what was said of them, by their sessions."""
    sessions = defaultdict(list)
    for value in values:
        sessions[value["session_id"]].append(value)
    return dict(sessions)


def check(sdk: Sdk, records: Iterable[Any]) -> dict[str, str]:
    """Fail if the records do not say what the agents of an SDK did; return the script of each session."""
    scripts = {}
    for session, found in by_session(records).items():
        calls = [each["action"] for each in found if each["action"]["kind"] == "tool"]
        script = _script_of(sdk, calls)
        scripts[session] = script
        _check_session(sdk, script, found)
        assert session == (sdk.session(script) if sdk.named else found[0]["meta"]["trace_id"])
    assert sorted(scripts.values()) == sorted(SCRIPTS)
    return scripts


def records_of(sdk: Sdk) -> int:
    """Return how many records come of all scripts."""
    of_each = len(sdk.answers) + (not sdk.named)
    return sum(sum(map(len, turns)) + of_each for turns in SCRIPTS.values())


def _script_of(sdk: Sdk, calls: list[Any]) -> str:
    """Return which script was followed. Calls of one turn may end in any order."""
    done = sorted((call["tool_call"], _text(sdk, call["tool_input"])) for call in calls)
    for script, turns in SCRIPTS.items():
        asked = [(call.tool, next(iter(call.arguments.values()))) for turn in turns for call in turn]
        if sorted(asked) == done:
            return script
    raise AssertionError(f"{sdk.name}: no script has the calls {done}")


def _text(sdk: Sdk, arguments: str) -> str:
    return arguments if sdk.bare else next(iter(json.loads(arguments).values()))


def _check_session(sdk: Sdk, script: str, found: list[Any]) -> None:
    kinds = [each["action"]["kind"] for each in found]
    calls = sum(map(len, SCRIPTS[script]))
    assert kinds == ["tool"] * calls + ["llm"] * len(sdk.answers) + ["system"] * (not sdk.named)
    said = [each["cognition"]["intent"] for each in found if each["action"]["kind"] == "llm"]
    assert said == list(sdk.answers)
    assert {each["identity"]["agent_id"] for each in found} == {sdk.agent or sdk.name}
    ends = [bool((each.get("control") or {}).get("is_terminal")) for each in found]
    assert ends == [kind == "system" for kind in kinds]
    spent = [(each.get("state_delta") or {}).get("tokens_consumed") for each in found]
    assert sum(filter(None, spent)) == TOKENS * (len(SCRIPTS[script]) + len(sdk.answers))
    failed = [each["action"] for each in found if each["action"].get("tool_call") == "read_config"]
    assert {each["status"] for each in failed} <= {"failure"}
    assert script != "loops" or {each["error"] for each in failed} == {sdk.error}
