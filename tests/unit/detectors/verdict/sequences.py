"""Sequences of records as the tables of specification 6 write them."""

from collections.abc import Iterable
from typing import Any

from tests.stream import Stream, block, decision_log, told

SHORT = {"NORMAL": "N", "WARNING": "W", "LOOP": "L"}
ROWS = "three rows were found in the table of customers"
WORDS = "one two three four five six seven eight nine ten"
#: The rules that count one thing each, without the stuck score, which counts what most of them count.
SINGLE_RULES = {"verdict_rules": ["R1", "R2", "R3", "R4", "R5"]}


def call(
    arguments: str = '{"id": 7}',
    result: str | None = "name x age 9",
    *,
    tool: str | None = "get_user",
    status: str = "success",
    delta: dict[str, Any] | None = None,
    intent: str | None = "work",
    **action: str,
) -> dict[str, Any]:
    """A call and what came of it: an error when it failed."""
    outcome = {} if result is None else {"error" if status == "failure" else "tool_output_summary": result}
    value = decision_log(intent, tool, status, tool_input=arguments, **outcome, **action)
    return value if delta is None else {**value, "state_delta": delta}


def failing(
    error: str = "E boom", arguments: str = '{"command": "npm test"}', **fields: Any
) -> dict[str, Any]:
    return call(arguments, error, **{"tool": "run", "status": "failure", **fields})


def other(number: int) -> dict[str, Any]:
    """A call like no other."""
    return call(f'{{"k": {number}}}', f"r{number}", tool=f"look_at_{number}")


def spread(values: Iterable[dict[str, Any]], every_ms: int = 1000) -> list[dict[str, Any]]:
    """Give records their times and names."""
    placed = []
    for number, value in enumerate(values):
        meta = {**value["meta"], "timestamp": value["meta"]["timestamp"] + number * every_ms}
        placed.append({**value, "event_id": f"s1-e{number}", "meta": meta})
    return placed


def verdicts(values: Iterable[dict[str, Any]], every_ms: int = 1000, **settings: Any) -> list[dict[str, Any]]:
    """The blocks `eddy.verdict` of the records, sent at this pace."""
    return [block(outcome, "verdict") for outcome in Stream(**settings).run(spread(values, every_ms))]


def levels(values: Iterable[dict[str, Any]], every_ms: int = 1000, **settings: Any) -> str:
    """The levels, one letter for each record."""
    return "".join(SHORT[each["level"]] for each in verdicts(values, every_ms, **settings))


def raws(values: Iterable[dict[str, Any]], every_ms: int = 1000, **settings: Any) -> str:
    """The raw levels, one letter for each record, "-" for one that was not judged."""
    return "".join(SHORT.get(each["raw"], "-") for each in verdicts(values, every_ms, **settings))


def episodes(values: Iterable[dict[str, Any]], every_ms: int = 1000, **settings: Any) -> list[dict[str, Any]]:
    """What is told of episodes, each with `at`, the number of its record from 1."""
    outcomes = Stream(**settings).run(spread(values, every_ms))
    return [
        {**event, "at": at}
        for at, outcome in enumerate(outcomes, 1)
        for event in told(outcome, "loop_episode")
    ]


def phases(values: Iterable[dict[str, Any]], **settings: Any) -> list[tuple[int, str]]:
    """Number of the record and phase of all that is told of episodes."""
    return [(event["at"], event["phase"]) for event in episodes(values, **settings)]
