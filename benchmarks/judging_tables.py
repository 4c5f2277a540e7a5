"""What the pure pipeline costs, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.markdown import number, table

Results = dict[str, Any]

#: µs for everything, by case; bytes of a session.
_AIMS = {"results of 200 B": 125.0, "results of 2 kB": 215.0}
_STATE_AIM = 2_000.0

# The naive way to do a part, and what it is compared with.
_NAIVE = {
    "naive patterns": (
        "the patterns of [specification 3.2](../specification.md#32-normalised-result) one after another",
        "normalise the result",
    ),
    "naive tokens": ("the tokens of the result by a pattern", "words and marks"),
    "naive encode": ("the enriched record by fastavro", "encode the enriched record"),
}


def judging_tables(cases: Sequence[Results]) -> list[str]:
    """Return the tables: CPU by part, what the naive way costs, bytes of state."""
    names = [case["case"] for case in cases]
    parts = dict.fromkeys(part for case in cases for part in case["parts_us"])
    rows = [[part, *(number(case["parts_us"].get(part)) for case in cases)] for part in parts]
    rows.append(["everything, a run at a time", *(f"**{number(case['whole_us'])}**" for case in cases)])
    rows.append(["aim", *(_aim(case["whole_us"], _AIMS.get(case["case"])) for case in cases)])
    rows.append(["everything, record by record", *(number(case["singly_us"]) for case in cases)])
    rows.append(["snapshot of the session, once per run", *(number(case["snapshot_us"]) for case in cases)])
    return [
        "### Judging alone, CPU µs/event\n\n" + table(["part", *names], rows),
        "### The same the naive way, CPU µs/event\n\n"
        + table(["naive", *names, "Eddy's part ÷ this"], _naive_rows(cases)),
        f"### Bytes of state per session\n\n{table(_STATE_HEAD, _state_rows(cases))}",
    ]


_STATE_HEAD = ("sessions", "median", "p99", f"median aim {_STATE_AIM:,.0f}")


def _naive_rows(cases: Sequence[Results]) -> Iterator[list[str]]:
    for name, (what, part) in _NAIVE.items():
        ratios = [number(case["parts_us"][part] / case["naive_us"][name], 2) for case in cases]
        yield [what, *(number(case["naive_us"][name]) for case in cases), ", ".join(ratios)]


def _state_rows(cases: Sequence[Results]) -> Iterator[list[str]]:
    for case in cases:
        for kind, sizes in case["state_bytes"].items():
            median = sizes["median"]
            yield [
                f"{kind}, {case['case']}",
                number(median, 0),
                number(sizes["p99"], 0),
                _aim(median, _STATE_AIM),
            ]


def _aim(value: float, aim: float | None) -> str:
    if aim is None:
        return ""
    return f"≤ {aim:,.0f}: {'met' if value <= aim else 'missed'}"
