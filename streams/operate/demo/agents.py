"""Agents of the demo: each plays recorded steps under a real guard; some go in circles until stopped.

Run as a program of its own: `python -m streams.operate.demo.agents BOOTSTRAP SECONDS_A_STEP`. It needs
    `eddy_client`.
"""

from __future__ import annotations

import itertools
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from eddy_client import Eddy, Guard, SessionAborted

from streams.formats.reading import entries
from streams.formats.recordings.catalogue import RECORDINGS

_REST: Final = 4
"""Pauses of a step between two sessions of an agent."""

_LONGEST: Final = 60
"""Steps after which an agent that goes in circles gives up by itself."""

_QUICK_STEPS: Final = 8
_QUICK: Final = 0.1
"""The first steps of the first agent, and their share of the pace: who opens the console soon sees a loop."""


@dataclass(frozen=True, slots=True)
class AgentRole:
    """What an agent plays.

    Attributes:
        agent: id under which the agent acts.
        recording: whose steps it takes.
        rounds: from which of them on it repeats the last ones for ever, and how many; None if it does not.
    """

    agent: str
    recording: str
    rounds: tuple[int, int] | None = None


CAST: Final = (
    AgentRole("coder-7", "read_loop", (8, 1)),
    AgentRole("coder-11", "healthy_feature"),
    AgentRole("support-2", "same_call", (9, 1)),
    AgentRole("analyst-4", "healthy_analysis"),
    AgentRole("maintainer-5", "flip_flop", (14, 4)),
    AgentRole("coder-3", "healthy_bugfix"),
    AgentRole("researcher-3", "paraphrased_loop"),
    AgentRole("coder-9", "healthy_refactor"),
    AgentRole("coder-12", "healthy_upgrade"),
    AgentRole("researcher-1", "healthy_research"),
    AgentRole("coder-4", "edit_test_loop"),
    AgentRole("maintainer-2", "healthy_upgrade"),
)
"""Twelve agents: three go in circles until somebody stops them."""


def steps_of(part: AgentRole) -> Iterator[Mapping[str, Any]]:
    """Yield the recorded decision logs that an agent plays."""
    [recording] = [each for each in RECORDINGS if each.name == part.recording]
    found = [
        each.value
        for each in entries([str(recording.path)], recording.input_format)
        if each.value is not None
    ]
    if part.rounds is None:
        yield from found
        return
    end, count = part.rounds
    yield from found[:end]
    yield from itertools.islice(itertools.cycle(found[end - count : end]), _LONGEST - end)


class DemoAgent(threading.Thread):
    """One agent: session after session.

    Args:
        part: Role that the agent plays.
        number: Its place among the agents: they begin one after another.
        eddy: Sends what it does.
        guard: Stops the agent when a command says so.
        seconds: Pause between two steps, in seconds.
    """

    def __init__(self, part: AgentRole, number: int, eddy: Eddy, guard: Guard, seconds: float) -> None:
        super().__init__(name=part.agent, daemon=True)
        self._part, self._number, self._eddy, self._guard, self._seconds = part, number, eddy, guard, seconds
        self._ended = threading.Event()

    def run(self) -> None:
        """Work until the process ends."""
        self._ended.wait(0.2 * self._number * self._seconds)
        quick = 0 if self._number else _QUICK_STEPS
        while not self._ended.is_set():
            self._work(f"{self._part.recording.replace('_', '-')}-{uuid.uuid4().hex[:6]}", quick)
            quick = 0
            self._ended.wait(_REST * self._seconds)

    def _work(self, session_id: str, quick: int) -> None:
        cost = 0.0
        with self._guard.session(session_id, agent_id=self._part.agent) as guarded:
            session = None
            for number, record in enumerate(steps_of(self._part)):
                try:
                    guarded.check(tool=record["action"].get("tool_call"))
                except SessionAborted:
                    if session is not None:
                        session.end(failed=True)
                    return
                cognition, action = record.get("cognition") or {}, record["action"]
                if session is None:
                    goal, task = cognition.get("goal"), record.get("task_type")
                    session = self._eddy.session(session_id, goal=goal, task_type=task)
                tokens = (record.get("state_delta") or {}).get("tokens_consumed") or 0
                cost += tokens * 3e-6
                session.tokens(tokens)
                session.cost(round(cost, 4))
                _step(session, cognition, action)
                self._ended.wait(self._seconds * (_QUICK if number < quick else 1))
            if session is not None:
                session.end()


def _step(session: Any, cognition: Mapping[str, Any], action: Mapping[str, Any]) -> None:
    tool, intent = action.get("tool_call"), cognition.get("intent")
    if tool is None:
        session.answer(intent or "")
        return
    with session.tool(tool, action.get("tool_input"), intent=intent, target=action.get("target")) as step:
        step.result = action.get("error") or action.get("tool_output_summary")
        if action["status"] == "failure":
            step.failed()


def main() -> None:
    """Play until the process is told to end."""
    bootstrap, seconds = sys.argv[1], float(sys.argv[2])
    # The embedded broker knows no idempotence.
    options = {"enable.idempotence": "false"}
    guard = Guard.kafka(bootstrap, kafka=options)
    agents = [
        DemoAgent(part, number, Eddy(bootstrap, agent=part.agent, kafka=options), guard, seconds)
        for number, part in enumerate(CAST)
    ]
    for agent in agents:
        agent.start()
    threading.Event().wait()


if __name__ == "__main__":
    main()
