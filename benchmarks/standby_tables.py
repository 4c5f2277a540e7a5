"""What was measured of standbys, and how it is told."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.drain import Drained
from benchmarks.markdown import number, table
from benchmarks.recovery import STATE_BYTES
from benchmarks.report import circumstances


class Steady(NamedTuple):
    """Two workers under a stream; ``worker_us`` is CPU per event of its own partitions, of each worker."""

    events_s: float
    worker_us: tuple[float, float]
    p50_ms: float
    p99_ms: float
    rss_mb: tuple[float, float]


class Takeover(NamedTuple):
    """What came of killing the first worker, in seconds after that."""

    first_s: float
    """Until one of its partitions had outputs again."""
    last_s: float
    """Until all of them had."""
    still_s: float
    """That the successor's own partitions had none meanwhile."""
    records: int
    """Restored."""
    restore_s: float


class Turn(NamedTuple):
    """All that was measured with so many standbys."""

    standbys: int
    load: float
    steady: Steady
    drained: Drained
    behind_s: tuple[float, float]
    """The standbys, in the middle and at most; not a number where there are none."""
    takeover: Takeover


def as_markdown(results: dict[str, Any]) -> str:
    """Return the tables, and what they were measured on."""
    turns: list[Turn] = results["turns"]
    what = (
        f"Two workers, {results['rate']:,} events/s, then a backlog; {results['sessions']:,} sessions of at "
        f"most {STATE_BYTES} B in the changelog. The last line is with standbys ÷ without, in the middle of "
        f"the rounds."
    )
    killed = (
        f"kill -9 of one of the two under that stream, with a session timeout of "
        f"{results['session_timeout_s']:g} s:"
    )
    costs = table(_COST_HEAD, [*(cost_row(turn) for turn in turns), _ratios(turns)])
    takeovers = table(_TAKEOVER_HEAD, [takeover_row(turn) for turn in turns])
    return "\n\n".join([circumstances(results, on_broker=True), what, costs, killed, takeovers]) + "\n"


_COST_HEAD = (
    "standbys",
    "load",
    "CPU µs/event of each worker",
    "p50 ms",
    "p99 ms",
    "backlog: CPU µs/event",
    "events/s",
    "MB of each worker",
    "standbys behind, s (middle, most)",
)
_TAKEOVER_HEAD = (
    "standbys",
    "load",
    "s until one partition goes on",
    "until all do",
    "own partitions stood still, s",
    "records restored",
    "s of restoring",
)


def cost_row(turn: Turn) -> tuple[str, ...]:
    """Return what a turn cost."""
    steady, drained = turn.steady, turn.drained
    return (
        str(turn.standbys),
        number(turn.load),
        ", ".join(number(value, 0) for value in steady.worker_us),
        number(steady.p50_ms),
        number(steady.p99_ms),
        number(drained.cpu_us, 0),
        number(drained.events_s, 0),
        ", ".join(number(value, 0) for value in steady.rss_mb),
        ", ".join(number(value) for value in turn.behind_s if not math.isnan(value)),
    )


def _ratios(turns: Sequence[Turn]) -> tuple[str, ...]:
    rounds = zip(turns[::2], turns[1::2], strict=True)
    pairs = [sorted(pair, key=lambda turn: turn.standbys) for pair in rounds]

    def middle(figure: Callable[[Turn], float]) -> str:
        return number(statistics.median(figure(with_) / figure(without) for without, with_ in pairs), 2)

    return (
        "1 ÷ 0",
        "",
        middle(lambda turn: sum(turn.steady.worker_us)),
        middle(lambda turn: turn.steady.p50_ms),
        middle(lambda turn: turn.steady.p99_ms),
        middle(lambda turn: turn.drained.cpu_us),
        middle(lambda turn: turn.drained.events_s),
        middle(lambda turn: sum(turn.steady.rss_mb)),
        "",
    )


def takeover_row(turn: Turn) -> tuple[str, ...]:
    """Return what the takeover of a turn took."""
    found = turn.takeover
    return (
        str(turn.standbys),
        number(turn.load),
        number(found.first_s),
        number(found.last_s),
        number(found.still_s),
        number(found.records, 0),
        number(found.restore_s, 2),
    )
