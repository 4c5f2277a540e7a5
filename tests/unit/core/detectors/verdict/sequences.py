"""Sequences of records as the tables of specification 6 write them."""

from collections.abc import Iterable, Iterator
from typing import Any

from tests.stream import Stream, block, decision_log, told

SHORT = {"NORMAL": "N", "WARNING": "W", "LOOP": "L"}
ROWS = "three rows were found in the table of customers"
WORDS = "one two three four five six seven eight nine ten"
MINUTE_MS = 60_000


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


def command(line: str, result: str | None = None, **fields: Any) -> dict[str, Any]:
    """A command of a shell."""
    return call(f'{{"command": "{line}"}}', result, **{"tool": "bash", **fields})


def text(intent: str) -> dict[str, Any]:
    """A step that calls no tool."""
    return call("", None, tool=None, intent=intent)


def other(number: int) -> dict[str, Any]:
    """A call like no other, with one new word."""
    return call(f'{{"k": {number}}}', f"r{number}", tool=f"look_at_{number}")


def new(number: int) -> dict[str, Any]:
    """A call like no other, with a result of new words alone."""
    result = " ".join(f"{word}{number}" for word in WORDS.split())
    return call(f'{{"k": {number}}}', result, tool=f"look_at_{number}")


def with_meta(value: dict[str, Any], **meta: Any) -> dict[str, Any]:
    return {**value, "meta": {**value["meta"], **meta}}


def in_rounds(values: Iterable[dict[str, Any]], calls: int) -> list[dict[str, Any]]:
    """Put so many calls in a row into one round."""
    return [with_meta(value, round_id=f"m{number // calls}") for number, value in enumerate(values)]


def by_person(value: dict[str, Any], turn: str = "task") -> dict[str, Any]:
    """A step before which a person spoke."""
    return with_meta(value, user_turn=turn)


def at(seconds: float, value: dict[str, Any]) -> dict[str, Any]:
    """A record at its own time, if it is sent without a pace of its own."""
    return with_meta(value, timestamp=value["meta"]["timestamp"] + round(seconds * 1000))


def circle(steps: int) -> Iterator[dict[str, Any]]:
    """Round and round so many steps, each with new words the first time."""
    number = 0
    while True:
        yield new(number % steps)
        number += 1


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


def kinds(values: Iterable[dict[str, Any]], every_ms: int = 1000, **settings: Any) -> list[str]:
    """The kind of each record, its reason for one that was not judged."""
    found = verdicts(values, every_ms, **settings)
    return [each["stuck"]["kind"] if each["visible"] else each["why"] for each in found]


def points(values: Iterable[dict[str, Any]], every_ms: int = 1000, **settings: Any) -> list[float]:
    """What each judged record adds to the stuck score."""
    found = verdicts(values, every_ms, **settings)
    return [each["stuck"]["points"] for each in found if each["visible"]]


def scores(values: Iterable[dict[str, Any]], every_ms: int = 1000, **settings: Any) -> list[float]:
    """The stuck score after each judged record."""
    found = verdicts(values, every_ms, **settings)
    return [each["stuck"]["score"] for each in found if each["visible"]]


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


def phases(values: Iterable[dict[str, Any]], every_ms: int = 1000, **settings: Any) -> list[tuple[int, str]]:
    """Number of the record and phase of all that is told of episodes."""
    return [(event["at"], event["phase"]) for event in episodes(values, every_ms, **settings)]
