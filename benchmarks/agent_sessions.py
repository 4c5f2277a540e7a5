"""Agent sessions to judge: coding agents at work, whose results look like what tools print.

Paths, identifiers, numbers, times and now and then an id, in the proportions of test runs, searches,
listings, logs and sources. Everything follows from the seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

_STARTED_MS = 1_700_000_000_000
_STEP_MS = 4_000

#: One session in so many goes in circles.
LOOPING_ONE_IN = 4

_VOCABULARY = """
account action adapter agent alias archive asset audit auth backup batch binding block broker buffer
build bundle cache call campaign chain channel chart check client cluster codec column command
commit config contact content context contract counter cursor customer dashboard database dataset
date decoder default delta deploy device dialog digest document domain draft driver edge editor
element email encoder entry error event example export factory feature field file filter folder
format frame gateway graph group handler header history hook host image import index input insert
invoice item job journal kernel key label layer layout ledger legacy library limit link listener
loader local lock log lookup mailbox manifest mapping marker member memory merge message metric
middleware migration model module monitor network node notice number object offset option order
output owner package page parser partition patch path payload payment pipeline plugin policy pool
port prefix preview price profile project prompt property provider proxy query queue range reader
record region registry release report request resource response result retry role route rule runner
sample schedule schema scope script search section segment sender series server service session
setting shape shard signal snapshot source stage state storage stream string summary switch symbol
table tag target task template tenant thread ticket timer token topic trace tracker transfer tree
trigger unit update upload user value vendor version view volume warning watcher widget window
worker wrapper writer zone
"""
_STEMS = _VOCABULARY.split()
_SUFFIXES = (".py", ".py", ".py", ".ts", ".yaml", ".md", ".json")
_GOALS = (
    "Fix the failing login test and keep the session timeout of the old client",
    "Add pagination to the invoice export and document the new query parameters",
    "Find out why the nightly migration of the audit table takes three hours",
    "Replace the retry wrapper of the payment gateway with the shared policy module",
)

Value = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AgentSession:
    """The records of one session in order. ``looping`` tells whether it goes in circles."""

    looping: bool
    records: list[Value]


def sessions(count: int, length: int, result_chars: int, seed: int) -> list[AgentSession]:
    """Return ``count`` sessions of ``length`` records each, with results of about ``result_chars``."""
    chance = random.Random(seed)
    return [
        _session(f"bench-{seed}-{number}", number % LOOPING_ONE_IN == 0, length, result_chars, chance)
        for number in range(count)
    ]


def _session(
    session_id: str, looping: bool, length: int, result_chars: int, chance: random.Random
) -> AgentSession:
    files = [_path(chance) for _ in range(12)]
    goal = chance.choice(_GOALS)
    circle = [_step(files, result_chars, chance) for _ in range(chance.choice((1, 1, 2, 3)))]
    records = []
    cost = 0.0
    for number in range(length):
        # A third of work comes first, then the circle, in which every result repeats but for its times.
        if looping and number >= length // 3:
            act, write = circle[number % len(circle)]
        else:
            act, write = _step(files, result_chars, chance)
        tokens = chance.randrange(300, 4_000)
        cost += tokens * 1e-5
        records.append(
            {
                "session_id": session_id,
                "event_id": f"{session_id}-{number:05d}",
                "task_type": "coding",
                "meta": {"trace_id": session_id, "timestamp": _STARTED_MS + number * _STEP_MS},
                "identity": {"agent_id": f"agent-{len(goal)}", "agent_type": "coder"},
                "cognition": {"intent": act["intent"], "goal": goal if number == 0 else None},
                "action": {
                    "status": act["status"],
                    "tool_call": act["tool"],
                    "tool_input": act["input"],
                    "target": act["target"],
                    "content_hash": act["hash"],
                    "error" if act["status"] == "failure" else "tool_output_summary": write(),
                },
                "state_delta": {
                    "tokens_consumed": tokens,
                    "cumulative_session_cost": round(cost, 4),
                    "progress_delta": chance.choice((None, 0.0, 0.01, 0.02)),
                },
            }
        )
    return AgentSession(looping, records)


def _step(files: list[str], result_chars: int, chance: random.Random) -> tuple[Value, Callable[[], str]]:
    """Return what is done, and what writes its result each time it is done."""
    kind = chance.choice((_search, _search, _read, _read, _edit, _test, _test, _list, _fetch))
    act, lines = kind(files, chance)
    # What a tool prints differs from time to time in its times only.
    seed, size = chance.random(), int(result_chars * chance.uniform(0.7, 1.3))

    def write() -> str:
        fixed, clock = random.Random(seed), chance.randrange(1 << 30)
        text = ""
        for line in lines(fixed, clock):
            text += line
            if len(text) >= size:
                break
        return text[:size]

    return act, write


def _search(files: list[str], chance: random.Random) -> tuple[Value, Any]:
    name = _name(chance)
    act = _act(f"find where {name} is used", "grep", {"pattern": name, "path": "src", "recursive": True})

    def lines(fixed: random.Random, _clock: int) -> Iterator[str]:
        while True:
            yield f"{fixed.choice(files)}:{fixed.randrange(1, 900)}:    {_code(fixed, name)}\n"

    return act, lines


def _read(files: list[str], chance: random.Random) -> tuple[Value, Any]:
    path, first = chance.choice(files), chance.randrange(1, 400)
    act = _act(f"read {path} around line {first}", "read_file", {"path": path, "offset": first, "limit": 80})
    act |= {"target": path, "hash": f"{chance.randrange(1 << 40):010x}"}

    def lines(fixed: random.Random, _clock: int) -> Iterator[str]:
        number = first
        while True:
            number += 1
            yield f"{number:5d}  {' ' * 4 * fixed.randrange(3)}{_code(fixed, _name(fixed))}\n"

    return act, lines


def _edit(files: list[str], chance: random.Random) -> tuple[Value, Any]:
    path, old, new = chance.choice(files), _name(chance), _name(chance)
    arguments = {"path": path, "old": _code(chance, old), "new": _code(chance, new)}
    act = _act(f"rename {old} to {new} in {path}", "edit_file", arguments)
    act |= {"target": path, "hash": f"{chance.randrange(1 << 40):010x}"}

    def lines(fixed: random.Random, _clock: int) -> Iterator[str]:
        yield f"The file {path} has been edited.\n--- a/{path}\n+++ b/{path}\n"
        while True:
            mark = fixed.choice("   -+")
            yield f"{mark}    {_code(fixed, fixed.choice((old, new)))}\n"

    return act, lines


def _test(files: list[str], chance: random.Random) -> tuple[Value, Any]:
    module = f"tests/test_{_name(chance)}.py"
    act = _act(f"run {module}", "bash", {"command": f"python -m pytest {module} -x -q", "timeout": 120})
    act["status"] = chance.choice(("success", "failure"))

    def lines(fixed: random.Random, clock: int) -> Iterator[str]:
        yield f"============ test session starts ============\nplatform linux -- Python 3.11.{clock % 9}\n"
        yield f"rootdir: /tmp/run-{clock:x}/repo, 2 failed, 41 passed in {clock % 900 / 100:.2f}s\n"
        while True:
            name = _name(fixed)
            outcome = fixed.choice(("PASSED", "PASSED", "FAILED"))
            yield f"{module}::test_{name} {outcome} [{fixed.randrange(99)}%]\n"
            yield f'  File "{fixed.choice(files)}", line {fixed.randrange(900)}, in {name}\n'
            yield f"E   AssertionError: assert {fixed.randrange(1000)} == {_name(fixed)}.total\n"

    return act, lines


def _list(files: list[str], _chance: random.Random) -> tuple[Value, Any]:
    folder = files[0].rpartition("/")[0]
    act = _act("see what is there", "bash", {"command": f"ls -l {folder}"})

    def lines(fixed: random.Random, _clock: int) -> Iterator[str]:
        while True:
            size, day = fixed.randrange(200, 90_000), fixed.randrange(10, 28)
            yield f"-rw-r--r-- 1 agent agent {size:6d} 2024-05-{day} 10:{day} {_name(fixed)}.py\n"

    return act, lines


def _fetch(_files: list[str], chance: random.Random) -> tuple[Value, Any]:
    name = _name(chance)
    act = _act(f"look at the last {name}", "http_get", {"url": f"https://ci.example/{name}", "page": 1})

    def lines(fixed: random.Random, clock: int) -> Iterator[str]:
        yield f"HTTP/1.1 200 OK in {clock % 90}.{clock % 7} ms\n"
        while True:
            at, job = f"2024-05-13T10:{clock % 50 + 10}:31Z", f"{fixed.randrange(1 << 48):012x}"
            yield f'{at} INFO {_name(fixed)}[{fixed.randrange(99)}] job {job} "{_name(fixed)}" done\n'

    return act, lines


def _act(intent: str, tool: str, arguments: dict[str, Any]) -> Value:
    return {
        "intent": intent,
        "tool": tool,
        "input": orjson.dumps(arguments).decode(),
        "status": "success",
        "target": None,
        "hash": None,
    }


def _name(chance: random.Random) -> str:
    return f"{chance.choice(_STEMS)}_{chance.choice(_STEMS)}"


def _path(chance: random.Random) -> str:
    folder = chance.choice(_STEMS)
    return f"src/{folder}/{_name(chance)}{chance.choice(_SUFFIXES)}"


def _code(chance: random.Random, name: str) -> str:
    other, third = _name(chance), chance.choice(_STEMS)
    return chance.choice(
        (
            f"def {name}(self, {third}: str) -> None:",
            f"return self.{name}.get({third}, {chance.randrange(100)})",
            f"{other} = {name}({third}={chance.randrange(1000)})",
            f"if not {name} or {third} in {other}:",
            f"from .{third} import {name}, {other}",
            f"# the {third} of {other} is {name}",
        )
    )
