"""What the workers said minute by minute: how much a figure grew, and how it went. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from streams.console.read_model.rows import SampleRow

MINUTE_MS: Final = 60_000


class Point(NamedTuple):
    """A figure of a worker at a minute."""

    at: int
    value: float


class HistoryStep(NamedTuple):
    """A step of time by its end: records a second, and the most that waited. None if it is not known."""

    at: int
    rate: float | None
    lag: float | None


class WorkerHistory:
    """The samples of every worker, by figure.

    Args:
        samples: Samples of the workers, in any order.
    """

    def __init__(self, samples: Iterable[SampleRow]) -> None:
        self._series: dict[str, dict[str, list[Point]]] = {}
        for each in sorted(samples, key=lambda row: row.bucket):
            workers = self._series.setdefault(each.metric, {})
            workers.setdefault(each.worker, []).append(Point(each.bucket, each.value))

    def newest(self, figure: str, since: int) -> dict[str, float]:
        """Return the newest value of a figure for each worker that gave one since then."""
        found = self._series.get(figure, {})
        return {worker: points[-1].value for worker, points in found.items() if points[-1].at >= since}

    def totals(self, figure: str) -> dict[int, float]:
        """Return a figure of all workers together, by minute."""
        found: dict[int, float] = {}
        for points in self._series.get(figure, {}).values():
            for point in points:
                found[point.at] = found.get(point.at, 0.0) + point.value
        return found

    def growth(self, figure: str, since: int, until: int) -> float | None:
        """Return by how much a figure of all workers grew; None if no worker gave it twice."""
        grown = [by for at, by in self._grown(figure) if since < at <= until]
        return sum(grown) if grown else None

    def steps(self, since: int, now: int, step_ms: int) -> list[HistoryStep]:
        """Return the records a second and the lag of each step of time, oldest first."""
        grown: dict[int, float] = {}
        for at, by in self._grown("records"):
            ends = -(-at // step_ms) * step_ms
            grown[ends] = grown.get(ends, 0.0) + by
        most: dict[int, float] = {}
        for at, lag in self.totals("lag").items():
            ends = -(-at // step_ms) * step_ms
            most[ends] = max(lag, most.get(ends, 0.0))
        first = since // step_ms * step_ms + step_ms
        return [
            HistoryStep(at, None if at not in grown else round(grown[at] * 1000 / step_ms, 3), most.get(at))
            for at in range(first, -(-now // step_ms) * step_ms + 1, step_ms)
        ]

    def _grown(self, figure: str) -> Iterator[tuple[int, float]]:
        """Yield when a figure of a worker was given, and by how much it had grown.

        A figure that is lower than before was counted from the start of its worker again.
        """
        for points in self._series.get(figure, {}).values():
            for before, after in pairwise(points):
                yield after.at, after.value - before.value if after.value >= before.value else after.value


def samples_of(worker: str, figures: Mapping[str, float], at: int) -> list[SampleRow]:
    """Return what is kept of what a worker said.

    >>> samples_of("http://w:8066", {"lag": 3.0}, 119_999)
    [SampleRow(worker='http://w:8066', metric='lag', labels='', bucket=60000, value=3.0)]
    """
    bucket = at // MINUTE_MS * MINUTE_MS
    return [SampleRow(worker, name, "", bucket, float(value)) for name, value in figures.items()]
