"""The metrics as a detector: reported with every scored record, never judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log2
from typing import Any, ClassVar, NamedTuple

from streams.core.detectors.detector import Block, Detector, Eddy, Observation
from streams.core.detectors.metrics.settings import MetricsSettings
from streams.core.domain.decision import Decision
from streams.core.domain.number import r4, shannon_bits
from streams.core.domain.shared_window import FIRST, append, letter
from streams.core.domain.text.digest import MOST_JSON_BYTES, bounded
from streams.core.domain.tool_class import ToolGroup, grouping

_LONGEST_PERIOD = 5
_LONGEST_REMEMBERED = 64


class Figures(NamedTuple):
    """The figures of one window.

    Attributes:
        shannon_bits: entropy of what stands in it, in bits.
        shannon_normalised: divided by that of a window in which all differ; 1.0 for a single place.
        period: least number of places, up to 5, that stand at the end at least twice in a row; None if none.
        period_repeats: how often they do.
        run: how many places at the end are equal.
        top_count: how often the most frequent n-gram stands in it, overlapping ones counted.
    """

    shannon_bits: float
    shannon_normalised: float
    period: int | None
    period_repeats: int | None
    run: int
    top_count: int


def figures_of(order: str, n: int) -> Figures:
    """Return the figures of a window, of which the letters are given, with n-grams of n.

    >>> figures_of("ABABAB", 3)
    Figures(shannon_bits=1.0, shannon_normalised=0.3869, period=2, period_repeats=3, run=1, top_count=2)
    """
    # Agents that repeat themselves give few different texts: what they say is remembered.
    return _figures_remembered(order, n) if len(order) <= _LONGEST_REMEMBERED else _figures(order, n)


def _figures(order: str, n: int) -> Figures:
    bits, normalised = _evenness(tuple(map(order.count, dict.fromkeys(order))))
    period, repeats = _period(order)
    run = len(order) - len(order.rstrip(order[-1]))
    return Figures(bits, normalised, period, repeats, run, _top_count(order, n))


_figures_remembered = lru_cache(maxsize=4_096)(_figures)


@lru_cache(maxsize=4_096)
def _evenness(counted: tuple[int, ...]) -> tuple[float, float]:
    bits, size = shannon_bits(counted), sum(counted)
    return r4(bits), r4(bits / log2(size)) if size > 1 else 1.0


def _period(order: str) -> tuple[int | None, int | None]:
    for period in range(1, _LONGEST_PERIOD + 1):
        block = order[-period:]
        if order.endswith(block * 2):
            repeats, start = 2, len(order) - 2 * period
            while start >= period and order.startswith(block, start - period):
                repeats, start = repeats + 1, start - period
            return period, repeats
    return None, None


def _top_count(order: str, n: int) -> int:
    if len(order) < n:
        return 0
    counted: dict[str, int] = {}
    for gram in map(order.__getitem__, _slices(len(order), n)):
        counted[gram] = counted.get(gram, 0) + 1
    return max(counted.values())


@lru_cache(maxsize=256)
def _slices(size: int, n: int) -> list[slice]:
    return [slice(start, start + n) for start in range(size - n + 1)]


_MOST_REMEMBERED = 16
_BEFORE_THE_FIRST = " " * ord(FIRST)


def grouped(names: Sequence[str | None], order: str, tool_groups: tuple[ToolGroup, ...]) -> tuple[str, str]:
    """Return the group of the newest name, and the window with one letter for each group.

    Args:
        names: the different names of the window (`streams.core.domain.shared_window`).
        order: the window as one letter for each name in turn, the newest last.
        tool_groups: setting `tool_groups`: which names are one group.

    >>> grouped(["call_v1", "read", "call_v2"], "ABC", ())
    ('call', 'ABA')
    """
    look_up = _remembered if len(names) <= _MOST_REMEMBERED else _groups
    groups, table = look_up(tuple(names), tool_groups)
    group = groups[ord(order[-1]) - ord(FIRST)] or ""
    return group, order if table is None else order.translate(table)


def _groups(
    names: tuple[str | None, ...], tool_groups: tuple[ToolGroup, ...]
) -> tuple[tuple[str | None, ...], str | None]:
    """The group of each name, and for each letter that of its group; None when no two names share one."""
    group_of = grouping(tool_groups)
    groups = tuple([None if name is None else group_of(name) for name in names])
    named = [group for group in groups if group is not None]
    if len(set(named)) == len(named):
        return groups, None
    # str.translate looks a letter up by its number, so the table is a text as well.
    return groups, _BEFORE_THE_FIRST + "".join([letter(groups.index(group)) for group in groups])


# The names of a session change seldom, and other sessions use the same tools.
_remembered = lru_cache(maxsize=1_024)(_groups)


class MetricsState(NamedTuple):
    """What the metrics keep of a session: the window (`streams.core.domain.shared_window`) of tool names."""

    names: Sequence[str | None] = ()
    order: str = ""


@dataclass(frozen=True, slots=True)
class Metrics(Detector[MetricsState, MetricsSettings]):
    """How varied the newest `metrics_window` tool names are, and what repeats in them.

    Entropy, the shortest period at the end, the most frequent n-gram of `metrics_ngram` names; the same over
    groups of tools (`tool_groups`, else names without a version). Shows the cycles that a count of equal
    decisions misses. A record without a tool counts as the name "". Names longer than 1,024 characters are
    kept, and grouped, as their beginning and their digest.

    Looks at every scored record. Tells nothing.

    Source: specification 5.7 (document 000).

    >>> DEFAULTS = MetricsSettings()
    >>> def call(tool):
    ...     known = {
    ...         "session_id": "s",
    ...         "event_id": "e",
    ...         "meta": {"trace_id": "t", "timestamp": 0},
    ...         "identity": {"agent_id": "a", "agent_type": "coder"},
    ...         "action": {"status": "success", "tool_call": tool},
    ...     }
    ...     return Decision.of(0, 0, known)
    >>> detector, state = Metrics(), Metrics().fresh()
    >>> for tool in ("call_api_v1", "call_api_v2", "Call_API_v3"):
    ...     state, block, _ = detector.observe(state, call(tool), {}, DEFAULTS)
    >>> block["period"], block["group"], block["group_period"], block["group_run"]
    (None, 'call_api', 1, 3)
    """

    name: ClassVar[str] = "metrics"

    def fresh(self) -> MetricsState:
        """Return an empty window."""
        return MetricsState()

    def restore(self, stored: Sequence[Any]) -> MetricsState:
        """Read back a state."""
        return MetricsState(*stored)

    def observe(
        self,
        state: MetricsState,
        decision: Decision,
        eddy: Eddy,
        settings: MetricsSettings,
    ) -> Observation[MetricsState]:
        """Append the name of the tool; report what the window says."""
        name = bounded(decision.tool_call or "")
        names, order = append(state.names, state.order, name, settings.metrics_window)
        group, groups = grouped(names, order, settings.tool_groups)
        figures = figures_of(order, settings.metrics_ngram)
        of_groups = figures if groups == order else figures_of(groups, settings.metrics_ngram)
        bits, normalised, period, repeats, _, top_count = figures
        block: Block = {
            "shannon_bits": bits,
            "shannon_normalised": normalised,
            "period": period,
            "period_repeats": repeats,
            "ngram_top_count": top_count,
            "group": group,
            "group_run": of_groups.run,
            "group_shannon_bits": of_groups.shannon_bits,
            "group_period": of_groups.period,
            "group_period_repeats": of_groups.period_repeats,
        }
        return MetricsState(names, order), block, ()

    def most_bytes(self, settings: MetricsSettings) -> int:
        """Return the bound of its windows."""
        return settings.metrics_window * (MOST_JSON_BYTES + 20)


DETECTOR = Metrics()
